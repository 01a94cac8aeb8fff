/**
 * Every route × every role × every tenant, with real API keys: who may, who may not, and what they are told (I9; R1, R2, R4). The routes
 * come from the API's own table: one that isn't described here fails.
 */

import { ActiveTenants, auditPage, KeyAuthenticator } from '@tidemark/access';
import { allRoutes, allStreams } from '@tidemark/api';
import type { TenantId } from '@tidemark/core';
import { accessRecords, auditTrail } from '@tidemark/host';
import { type Authenticator, mayDo, RIGHTS, type Right, ROLES, type Role } from '@tidemark/ports';
import { systemClock } from '@tidemark/runtime';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { patient, type Served, serveApi } from './served.ts';

vi.setConfig({ maxConcurrency: 16 });

const ACME = 'acme' as TenantId;
const GLOBEX = 'globex' as TenantId;
/** Stands in the content of acme's workflow, and nowhere else. */
const CONTENT = 'pearl-of-acme';

interface Sample {
  /** Who needs what: said here again, so that nobody changes it by mistake. */
  readonly right: Right;
  readonly query?: string;
  readonly body?: object;
  /** Codes that say that the caller was let in and what is asked can't be done any more. */
  readonly letIn?: readonly string[];
  /** It shows content to those who may see it. */
  readonly showsContent?: boolean;
  /** Where the path names a thing of acme's: what others are told, in the same words as of what nobody has. Null: they have one of their own by that name. */
  readonly theirs?: readonly [status: number, code: string] | null;
  /** Whoever is of no tenant says whose it is. */
  readonly saysWhose?: 'query' | 'body';
}

/** What there is of acme's, by the names of paths, and what nobody has. The key is made, and has an id of its own. */
const ACMES: Record<string, string> = {
  ...{
    workflow: 'acmes',
    other: 'acmes',
    session: 'acmes-talk',
    user: 'acmes-ana',
    about: 'user:acmes-ana',
    job: 'acmes-job',
  },
  ...{ schedule: 'acmes-plan', queue: 'acmes-own', tenant: 'initech', key: '', pool: 'default', hold: 'acmes-hold' },
  ...{ definition: 'acmes-agent', subject: 'pipeline:acmes' },
  ...{ sequence: '1', call: '1', task: '9.9', event: 'signal:none' },
};
const NOBODYS: Readonly<Record<string, string>> = {
  ...{
    workflow: 'no-such',
    other: 'no-such',
    session: 'no-such',
    user: 'no-such',
    about: 'user:no-such',
    job: 'no-such',
  },
  ...{
    schedule: 'no-such',
    queue: 'no-such',
    tenant: 'no-such',
    key: 'no-such',
    pool: 'no-such',
    hold: 'no-such',
    definition: 'no-such',
  },
  ...{ subject: 'pipeline:no-such', sequence: '1', call: '1', task: '9.9', event: 'signal:none' },
};
const filled = (path: string, names: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name]!);

const WHY = { why: 'a test' } as const;

/** By the route's name. A path is asked of what is acme's. */
const SAMPLES: Readonly<Record<string, Sample>> = {
  startWorkflow: { right: 'operate', body: { definition: 'patient', input: {} } },
  listWorkflows: { right: 'read' },
  getWorkflow: { right: 'read', showsContent: true },
  getResult: { right: 'read' },
  listChildren: { right: 'read' },
  listDefinitions: { right: 'read' },
  listCheckpoints: { right: 'read', showsContent: true },
  listEffects: { right: 'read' },
  listTasks: { right: 'read' },
  listUnreadSignals: { right: 'read' },
  amendSignal: { right: 'operate', body: { value: 1, ...WHY }, letIn: ['signal-read', 'workflow-closed'] },
  discardSignal: { right: 'operate', body: WHY, letIn: ['signal-read', 'workflow-closed'] },
  listNotes: { right: 'read', showsContent: true },
  listPhaseHandovers: { right: 'read' },
  getTimeline: { right: 'read' },
  signalWorkflow: { right: 'operate', body: { name: 'unheard', value: 1, key: 'once' }, letIn: ['signal-unknown'] },
  decide: { right: 'decide', body: { resolution: 'retry', why: 'a test' }, letIn: ['not-asked'] },
  listApprovals: { right: 'read' },
  answerApproval: { right: 'decide', body: { approved: false }, letIn: ['not-asked', 'workflow-closed'] },
  confirm: { right: 'report', body: { token: 'none', response: {} }, letIn: ['token-unknown'] },
  pinWorkflow: { right: 'operate', body: { pinned: false, why: 'a test' } },
  judgeRecord: { right: 'administer', body: { judgement: 'skip', why: 'a test' }, letIn: ['record-readable'] },
  revokeLease: { right: 'operate' },
  pauseWorkflow: { right: 'operate', body: WHY },
  resumeWorkflow: { right: 'operate', body: WHY },
  cancelWorkflow: { right: 'operate', body: WHY },
  // It has ended by now.
  terminateWorkflow: { right: 'operate', body: WHY, letIn: ['workflow-closed'] },
  retryWorkflow: { right: 'decide', body: WHY, letIn: ['not-asked', 'workflow-closed'] },
  getWorkflowAt: { right: 'read', showsContent: true },
  listCallPlaces: { right: 'read' },
  listModelCalls: { right: 'content', letIn: ['no-model-call'] },
  compareCalls: { right: 'content', query: '?to=1', letIn: ['no-model-call'] },
  compareWorkflows: { right: 'content' },
  forkWorkflow: { right: 'operate', body: { at: 1, effects: 'live' } },
  resetWorkflow: { right: 'operate', body: { at: 0, effects: 'keep', dry_run: true, ...WHY } },
  getTrace: { right: 'read' },
  getRecovery: { right: 'content' },
  getWorkflowSpend: { right: 'read' },
  raiseBudget: { right: 'administer', body: { tokens: 1, ...WHY }, letIn: ['workflow-closed'] },
  listBudgets: { right: 'read' },
  setBudget: { right: 'administer', body: { tokens: 1_000_000, period: 'day' } },
  getSession: { right: 'content', theirs: [404, 'session-unknown'], saysWhose: 'query' },
  resumeSession: { right: 'operate', body: {}, theirs: [404, 'session-unknown'], saysWhose: 'query' },
  handOver: {
    right: 'operate',
    body: { from: 'one', to: 'another', message: 'a test' },
    theirs: null,
    saysWhose: 'query',
  },
  recall: {
    right: 'content',
    body: { query: 'pearl', kinds: ['fact'] },
    showsContent: true,
    theirs: null,
    saysWhose: 'query',
  },
  listFacts: { right: 'content', showsContent: true, theirs: null, saysWhose: 'query' },
  rememberFact: { right: 'operate', body: { text: 'a test' }, theirs: null, saysWhose: 'query' },
  forgetFact: { right: 'operate', theirs: [404, 'fact-unknown'], letIn: ['fact-unknown'], saysWhose: 'query' },
  listPreferences: { right: 'content', theirs: null, saysWhose: 'query' },
  // Others set and forget it at the same time.
  getPreference: { right: 'content', theirs: null, letIn: ['state-key-unknown'], saysWhose: 'query' },
  setPreference: { right: 'operate', body: { value: 'a test' }, theirs: null, saysWhose: 'query' },
  forgetPreference: { right: 'operate', theirs: null, letIn: ['state-key-unknown'], saysWhose: 'query' },
  listRecords: { right: 'content', showsContent: true, theirs: null, saysWhose: 'query' },
  writeRecords: {
    right: 'operate',
    body: { records: [{ key: 'done/matrix', value: 1 }] },
    theirs: null,
    saysWhose: 'query',
  },
  countJob: { right: 'read', body: { filter: {} } },
  startJob: {
    right: 'operate',
    body: { id: 'matrix', act: 'pause', filter: { text: 'nothing-fits' }, ...WHY },
    letIn: ['workflow-differs'],
  },
  getJob: { right: 'read', theirs: [404, 'job-unknown'] },
  cancelJob: { right: 'operate', body: WHY, theirs: [404, 'job-unknown'], letIn: ['workflow-closed'] },
  listJobs: { right: 'read' },
  listQueues: { right: 'read' },
  // Of a definition that nobody runs here: the others' samples go on.
  pauseQueue: { right: 'operate', body: WHY, theirs: [404, 'definition-unknown'], saysWhose: 'body' },
  resumeQueue: { right: 'operate', body: WHY, theirs: [404, 'definition-unknown'], saysWhose: 'body' },
  // Callers of one tenant are told no counts of the fleet.
  listPools: { right: 'scale', letIn: ['right-missing'] },
  getPool: { right: 'scale', letIn: ['right-missing'], theirs: null },
  setSchedule: {
    right: 'operate',
    body: { definition: 'patient', input: {}, cron: '0 0 1 1 *' },
    // Ids are one name space.
    theirs: [409, 'workflow-differs'],
    saysWhose: 'body',
  },
  listSchedules: { right: 'read' },
  fireSchedule: { right: 'operate', body: {}, theirs: [404, 'schedule-unknown'] },
  // Callers of one tenant are told nothing of the runs of all.
  getShadow: { right: 'read', letIn: ['right-missing'], theirs: null },
  routeShadow: { right: 'operate', letIn: ['right-missing'], theirs: null },
  promoteShadow: { right: 'operate', body: { to: 1 }, letIn: ['right-missing', 'rollout-changed'], theirs: null },
  getFleet: { right: 'read' },
  listLeases: { right: 'read' },
  whoAmI: { right: 'read' },
  listErrors: { right: 'read' },
  listQuestions: { right: 'read' },
  listRejected: { right: 'read' },
  listSegments: { right: 'read' },
  getStorage: { right: 'administer' },
  getRetention: { right: 'administer', saysWhose: 'query' },
  setRetention: { right: 'administer', body: { policy: null }, saysWhose: 'query' },
  // Two set it at the same time.
  holdHistory: { right: 'administer', body: { hold: 'matrix', ...WHY }, letIn: ['hold-taken'], saysWhose: 'query' },
  releaseHold: { right: 'administer', theirs: [404, 'hold-unknown'], letIn: ['hold-unknown'], saysWhose: 'query' },
  createKey: { right: 'administer', body: { name: 'of the matrix', roles: ['viewer'] } },
  listKeys: { right: 'administer' },
  getKey: { right: 'administer', theirs: [404, 'key-unknown'] },
  revokeKey: { right: 'administer', body: WHY, theirs: [404, 'key-unknown'] },
  listTenants: { right: 'administer' },
  createTenant: { right: 'administer', theirs: [404, 'tenant-unknown'] },
  suspendTenant: { right: 'administer', body: WHY, theirs: [404, 'tenant-unknown'] },
  resumeTenant: { right: 'administer', body: WHY, theirs: [404, 'tenant-unknown'] },
  listAudit: { right: 'administer' },
  getSecrets: { right: 'secrets', showsContent: true },
};

/** Streams of events, by name: what one has to have told to have told all that matters here. */
const STREAMS: Readonly<Record<string, { right: Right; until: RegExp; showsContent?: true }>> = {
  followWorkflow: { right: 'read', until: /SignalReceived.*\n\n/s, showsContent: true },
  followFleet: { right: 'read', until: /retry/ },
  followAnswers: { right: 'content', until: /retry/ },
};

const WHO = [...ROLES, null] as const;
const OF = [ACME, GLOBEX, null] as const;
const nameOf = (role: Role | null, tenant: TenantId | null): string => `${role ?? 'nobody'}@${tenant ?? '*'}`;

let served: Served;
const keys = new Map<string, string>();
const subjects = new Map<string, string>();
let trail: ReturnType<typeof auditTrail>;
let acmes: string;
beforeAll(async () => {
  let authenticator: Authenticator | undefined;
  served = await serveApi({
    authenticator: { authenticate: (credentials) => authenticator!.authenticate(credentials) },
    audit: {
      admit: (tenant) => trail.admit(tenant),
      record: (entry) => trail.record(entry),
      write: (entry) => trail.write(entry),
    },
    rateMaxCount: 100_000,
    checksAnswers: true,
  });
  const { host } = served;
  trail = auditTrail(host);
  const records = accessRecords(host);
  const tenants = new ActiveTenants({ records, clock: systemClock });
  authenticator = new KeyAuthenticator({ records, tenants, clock: systemClock });
  for (const role of ROLES) {
    for (const tenant of OF) {
      const asked = { tenant, roles: [role], name: nameOf(role, tenant), expiresMs: null, by: 'test' };
      const { text, key } = await records.createKey(asked);
      keys.set(nameOf(role, tenant), text);
      subjects.set(nameOf(role, tenant), `key:${key.id}`);
    }
  }
  const asked = { tenant: ACME, roles: ['viewer'], name: 'of acme', expiresMs: null, by: 'test' } as const;
  ACMES.key = (await records.createKey(asked)).key.id;
  await seedAcmes();
  acmes = await started('operator', ACME, 'acmes');
  await started('operator', GLOBEX, 'globexes');
  for (const path of ['/v1/jobs/{job}', '/v1/workflows/{schedule}', '/v1/sessions/{session}', '/v1/keys/{key}']) {
    const found = () => ask('GET', filled(path, ACMES), 'admin', ACME);
    await vi.waitFor(async () => expect((await found()).status, path).toBe(200), { timeout: 60_000, interval: 50 });
  }
  const recall = { query: 'pearl', kinds: ['fact'] };
  const recalled = () => ask('POST', filled('/v1/memory/{about}/recall', ACMES), 'admin', ACME, recall);
  await vi.waitFor(async () => expect((await recalled()).text).toContain(CONTENT), { timeout: 60_000, interval: 50 });
});

/** One thing of each kind that a path can name. */
async function seedAcmes(): Promise<void> {
  const { client } = served.host;
  const { session, user } = ACMES;
  await client.start(patient, { times: 1 }, { tenant: ACME, session, user });
  await client.start({ ...patient, name: ACMES.queue! }, { times: 1 }, { tenant: ACME });
  await client.schedules.set(patient, { times: 1 }, { id: ACMES.schedule!, cron: '0 0 1 1 *', tenant: ACME });
  const job = {
    act: 'pause',
    by: 'test',
    ...WHY,
    signal: null,
    filter: { tenant: ACME, text: 'nothing-fits' },
  } as const;
  await client.bulk.start({ ...job, id: ACMES.job! });
  await client.memory.facts(ACME, `user:${user}`).remember(`likes a ${CONTENT}`, { source: 'test' });
  const hold = { id: ACMES.hold!, workflow: null, by: 'test', ...WHY };
  await client.memory.hold(ACME, hold);
  const done = { subject: ACMES.subject!, kind: 'record', key: 'done/one', value: CONTENT } as const;
  await client.memory.remember([done], { tenant: ACME });
  await ask('PUT', `/v1/tenants/${ACMES.tenant}`, 'admin', null);
}
afterAll(async () => {
  await trail?.close();
  await served?.close();
});

/** With a signal in its history, whose value is content. */
async function started(role: Role, tenant: TenantId, id: string): Promise<string> {
  const value = tenant === ACME ? CONTENT : 'theirs';
  await ask('POST', '/v1/workflows', role, tenant, { definition: 'patient', input: { times: 9 }, id });
  await vi.waitFor(
    async () => {
      // Rows may not know it yet; with its key it counts once.
      await ask('POST', `/v1/workflows/${id}/signals`, role, tenant, { name: 'go', value, key: 'first' });
      const { text } = await ask('GET', `/v1/workflows/${id}`, role, tenant);
      if (!text.includes(value)) throw new Error(text);
    },
    { timeout: 60_000, interval: 50 },
  );
  return id;
}

async function ask(method: string, path: string, role: Role | null, tenant: TenantId | null, body?: unknown) {
  const token = keys.get(nameOf(role, tenant));
  const answer = await fetch(`${served.url}${path}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const json = JSON.parse(text) as { readonly code?: string; readonly detail?: string };
  return { status: answer.status, text, code: json.code, detail: json.detail };
}

it('every route is described here, with the right that it needs', () => {
  const named = (all: readonly { readonly name: string; readonly right: Right }[]) =>
    Object.fromEntries(all.map(({ name, right }) => [name, right]));
  const described = (all: Readonly<Record<string, { readonly right: Right }>>) =>
    Object.fromEntries(Object.entries(all).map(([name, { right }]) => [name, right]));
  expect(named(allRoutes)).toEqual(described(SAMPLES));
  expect(named(allStreams)).toEqual(described(STREAMS));
});

it('what each role may do is what is documented', () => {
  const table = Object.fromEntries(
    ROLES.map((role) => [role, RIGHTS.filter((right) => mayDo({ roles: [role] }, right))]),
  );
  expect(table).toEqual({
    viewer: ['read', 'scale'],
    operator: ['read', 'content', 'operate', 'scale'],
    approver: ['read', 'content', 'decide', 'scale'],
    worker: ['read', 'content', 'secrets', 'operate', 'report', 'scale'],
    admin: ['read', 'content', 'secrets', 'operate', 'decide', 'report', 'administer', 'scale'],
    scaler: ['scale'],
  });
});

describe.each(Object.keys(SAMPLES))('%s', (name) => {
  const { method, path, right } = allRoutes.find((route) => route.name === name)!;
  const sample = SAMPLES[name] ?? { right };
  const { theirs = [404, 'workflow-unknown'] } = sample;
  const isNamed = path.includes('{');
  const isOfAll = path.includes('{tenant}');
  const asking = (names: Readonly<Record<string, string>>, role: Role | null, tenant: TenantId | null) => {
    const whose = tenant === null ? sample.saysWhose : undefined;
    const query = [sample.query?.slice(1), whose === 'query' && 'tenant=acme'].filter((part) => part).join('&');
    const body = whose === 'body' ? { ...sample.body, tenant: 'acme' } : sample.body;
    return ask(method, `${filled(path, names)}${query === '' ? '' : `?${query}`}`, role, tenant, body);
  };

  for (const role of WHO) {
    for (const tenant of role === null ? [null] : OF) {
      it.concurrent(`asked by ${nameOf(role, tenant)}`, async () => {
        const answer = await asking(ACMES, role, tenant);
        if (role === null) {
          expect(answer).toMatchObject({ status: 401, code: 'credentials-missing' });
          return;
        }
        if (!mayDo({ roles: [role] }, right)) {
          expect(answer).toMatchObject({ status: 403, code: 'right-missing' });
          expect(answer.text).not.toContain(acmes);
          return;
        }
        const isTheirs = tenant === GLOBEX || (isOfAll && tenant !== null);
        if (isTheirs && isNamed && theirs !== null) {
          expect(answer).toMatchObject({ status: theirs[0], code: theirs[1] });
          if (theirs[0] !== 404) return;
          const unknown = await asking(NOBODYS, role, tenant);
          const inOneWord = (text = ''): string =>
            [...Object.values(ACMES), NOBODYS.about!, 'no-such'].reduce(
              (left, name) => left.replaceAll(`'${name}'`, '…'),
              text,
            );
          expect(inOneWord(answer.detail)).toBe(inOneWord(unknown.detail));
          return;
        }
        const isLetIn =
          answer.status < 300 || (answer.code !== undefined && sample.letIn?.includes(answer.code) === true);
        expect(isLetIn, answer.text).toBe(true);
        const named = Object.values(ACMES).reduce((left, one) => left.replaceAll(one, ''), answer.text);
        if (isTheirs) expect(named).not.toMatch(/acme/);
        const seesContent = !isTheirs && mayDo({ roles: [role] }, 'content');
        expect(answer.text.includes(CONTENT)).toBe(seesContent && sample.showsContent === true);
      });
    }
  }
});

/** What is asked that needs more than the route's right, for each of its needs in order: said here again, as rights are. */
const NEEDS: Readonly<Record<string, readonly (Pick<Sample, 'query' | 'body'> & { readonly of: string })[]>> = {
  countJob: [{ of: 'operate', body: { filter: { tags: ['none'] }, reset: { at: 0, effects: 'keep' } } }],
  resetWorkflow: [{ of: 'decide', body: { at: 0, effects: 'keep', discard: ['none'], dry_run: true, ...WHY } }],
  startJob: [{ of: 'decide', body: { act: 'retry', filter: { tags: ['none'] }, ...WHY } }],
  getRecovery: [{ of: 'operate', query: '?probe=true' }],
  getShadow: [{ of: 'all-tenants' }, { of: 'content', query: '?differences=true' }],
  promoteShadow: [{ of: 'all-tenants', body: { to: 1 } }],
  routeShadow: [{ of: 'all-tenants' }],
  listPools: [{ of: 'all-tenants' }],
  getPool: [{ of: 'all-tenants' }],
  createKey: [{ of: 'all-tenants', body: { name: 'all', roles: ['viewer'], all_tenants: true } }],
};

it('every route that needs more than its right is described here', () => {
  const declared = allRoutes.flatMap(({ name, needs = [] }) =>
    needs.length === 0 ? [] : [[name, needs.map(({ of }) => of)] as const],
  );
  const here = Object.entries(NEEDS).map(([name, needs]) => [name, needs.map(({ of }) => of)] as const);
  expect(Object.fromEntries(declared)).toEqual(Object.fromEntries(here));
});

describe.each(Object.entries(NEEDS).flatMap(([name, needs]) => needs.map((need) => ({ name, ...need }))))(
  '$name, which needs $of besides',
  ({ name, of, query = '', body }) => {
    const { method, path, right } = allRoutes.find((route) => route.name === name)!;
    const may = ROLES.filter((role) => mayDo({ roles: [role] }, right));
    for (const role of may) {
      for (const tenant of [ACME, null]) {
        const has = of === 'all-tenants' ? tenant === null : mayDo({ roles: [role] }, of as Right);
        // What else the route needs is no matter here.
        const lacksOthers =
          NEEDS[name]!.some((other) => other.of === 'all-tenants' && of !== 'all-tenants') && tenant !== null;
        it.concurrent(`is ${has && !lacksOthers ? 'not ' : ''}refused to ${nameOf(role, tenant)}`, async () => {
          const answer = await ask(method, `${filled(path, ACMES)}${query}`, role, tenant, body);
          expect(answer.code).not.toBe('request-invalid');
          expect(answer.code === 'right-missing', answer.text).toBe(!has || lacksOthers);
        });
      }
    }
  },
);

describe.each(allStreams.map(({ name }) => name))('the stream %s', (name) => {
  const { path, right } = allStreams.find((stream) => stream.name === name)!;
  const ofWorkflow = path.includes('{workflow}');
  for (const role of WHO) {
    for (const tenant of role === null ? [null] : OF) {
      it(`asked by ${nameOf(role, tenant)}`, async () => {
        const received = await listen(path.replace('{workflow}', acmes), nameOf(role, tenant), STREAMS[name]!.until);
        const mayAsk = role !== null && mayDo({ roles: [role] }, right);
        if (!mayAsk) expect(received.status).toBe(role === null ? 401 : 403);
        else expect(received.status).toBe(tenant === GLOBEX && ofWorkflow ? 404 : 200);
        const seesContent =
          STREAMS[name]!.showsContent === true &&
          received.status === 200 &&
          mayDo({ roles: role === null ? [] : [role] }, 'content');
        expect(received.text.includes(CONTENT)).toBe(seesContent);
      });
    }
  }
});

/** What a stream tells until it has told that. */
async function listen(
  path: string,
  who: string,
  until: RegExp,
): Promise<{ readonly status: number; readonly text: string }> {
  const left = new AbortController();
  const token = keys.get(who);
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const answer = await fetch(`${served.url}${path}`, { headers, signal: left.signal });
  if (answer.status !== 200) return { status: answer.status, text: await answer.text() };
  let text = '';
  for await (const part of answer.body!) {
    text += Buffer.from(part).toString();
    if (until.test(text)) break;
  }
  left.abort();
  return { status: 200, text };
}

it('words of steps and keys of limits are for those who may see content, wherever they are told', async () => {
  await ask('POST', '/v1/workflows', 'operator', ACME, { definition: 'greet', input: { name: 'Ana' }, id: 'greeted' });
  await ask('GET', '/v1/workflows/greeted/result?wait_ms=20000', 'operator', ACME);
  const paths = ['', '/at/1', '/checkpoints', '/timeline', '/notes'].map((rest) => `/v1/workflows/greeted${rest}`);
  const received = async (role: Role) => {
    const answers = await Promise.all(
      [...paths, '/v1/workflows?definition=greet', '/v1/fleet'].map((path) => ask('GET', path, role, ACME)),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const followed = await listen('/v1/workflows/greeted/events', nameOf(role, ACME), /event: end/);
    return [followed.text, ...answers.map(({ text }) => text)].join('\n');
  };
  const seen = await received('operator');
  expect(seen).toContain('"composed"');
  expect(seen).toContain('guest:Ana');
  const left = await received('viewer');
  expect(left).not.toContain('"composed"');
  expect(left).not.toContain('guest:Ana');
  expect(left).toContain('"lastAction":""');
  expect(left).toContain('"last_action":""');
});

it('nobody of one tenant chooses to be served before the others', async () => {
  const start = (tenant: TenantId | null, priority: number) =>
    ask('POST', '/v1/workflows', 'operator', tenant, { definition: 'patient', input: { times: 1 }, priority });
  const refused = await start(ACME, 2);
  expect(refused).toMatchObject({ status: 403, code: 'right-missing' });
  expect(refused.detail).toMatch(/^priority: patient says 3/);
  expect([(await start(ACME, 3)).status, (await start(ACME, 5)).status, (await start(null, 1)).status]).toEqual([
    201, 201, 201,
  ]);
});

it('what names another tenant, or the system itself, shows nothing of either', async () => {
  const named = await ask('GET', '/v1/workflows?tenant=acme', 'admin', GLOBEX);
  expect(named).toMatchObject({ status: 404, code: 'tenant-unknown' });
  const begun = await ask('POST', '/v1/workflows', 'admin', GLOBEX, {
    definition: 'patient',
    input: {},
    tenant: 'acme',
  });
  expect(begun).toMatchObject({ status: 404, code: 'tenant-unknown' });
  for (const definition of ['tidemark.memory', 'tidemark.audit', 'tidemark.shadow']) {
    for (const tenant of OF) {
      const listed = await ask('GET', `/v1/workflows?definition=${definition}`, 'admin', tenant);
      expect(listed.text).not.toContain('~');
    }
  }
});

it('what was read, done and refused is in the audit of the tenant, and no content with it (R4)', async () => {
  await trail.flushed();
  const { store } = served.host.ports;
  const find = async (query: object) => (await auditPage(store, { tenant: ACME, limit: 10_000, ...query })).entries;
  const subject = subjects.get(nameOf('operator', ACME))!;
  await expect.poll(() => find({ subject, action: 'getWorkflow', target: acmes })).not.toEqual([]);
  expect(await find({ subject, action: 'signalWorkflow', outcome: 'done' })).not.toEqual([]);
  const refused = await find({ subject: subjects.get(nameOf('viewer', ACME))!, outcome: 'refused' });
  expect(refused.map(({ action, code }) => [action, code])).toContainEqual(['signalWorkflow', 'right-missing']);
  // Of no tenant, about acme's.
  expect(await find({ subject: subjects.get(nameOf('admin', null))!, target: acmes })).not.toEqual([]);
  // A viewer saw no content: nothing to be written down. The control is the operator's above.
  const seen = await find({ subject: subjects.get(nameOf('viewer', ACME))!, outcome: 'done' });
  expect(seen).toEqual([]);
  const all = JSON.stringify([...(await find({})), ...(await find({ tenant: GLOBEX }))]);
  expect(all).not.toContain(CONTENT);
  for (const text of keys.values()) expect(all).not.toContain(text.slice(-52));
});
