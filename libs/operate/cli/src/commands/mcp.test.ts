/** `tidemark mcp` on folders, in this process: the tools that need Tidemark's own state, with the protocol's own client. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { listenApi } from '@tidemark/api';
import { AccessError, tenantId } from '@tidemark/core';
import { openEmbedded } from '@tidemark/host';
import type { Role } from '@tidemark/ports';
import { type McpTestClient, mcpPipes } from '@tidemark/testkit/mcp-client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { callCli, hold } from '../called-cli-fixture.ts';
import type { McpCommandOptions } from '../program/mcp-options.ts';
import { Terminal } from '../terminal.ts';
import { serveMcp } from './mcp.ts';

const MODULES = ['complaints', 'advisor'].map((name) => path.resolve(import.meta.dirname, `../../fixtures/${name}.ts`));
/** Made up, and of the form that services give out. */
const SECRET = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;

let cwd: string;
/** Another process would: all in this file goes through it, until the last test, which lets the folder go. */
let release: () => Promise<void>;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(os.tmpdir(), 'tidemark-cli-mcp-'));
  release = await hold({ cwd, modules: MODULES });
});
afterAll(async () => {
  await release();
  await rm(cwd, { recursive: true, force: true });
});

/** A client with a server of its own, which ends with the test. */
async function client(
  name: string,
  options: McpCommandOptions = {},
  folder = cwd,
  server: Readonly<Record<string, string>> = {},
): Promise<McpTestClient> {
  const silent = { write: () => true } as never;
  const env = { XDG_CONFIG_HOME: path.join(folder, '.config'), ...server };
  const terminal = new Terminal({ stdout: silent, stderr: silent, env, json: false });
  const session = { terminal, env, cwd: folder, stdin: (async function* () {})() };
  const pipes = mcpPipes();
  const served = serveMcp(session, { dir: '.', ...options }, pipes);
  onTestFinished(async () => {
    pipes.close();
    expect(await served).toBe(0);
  });
  return pipes.connect(name);
}

const call = (...args: string[]) => callCli(args, { cwd });

it('tells bad input by code, field and remedy, and no secret', async () => {
  const empty = await mkdtemp(path.join(os.tmpdir(), 'tidemark-cli-mcp-'));
  onTestFinished(() => rm(empty, { recursive: true }));
  const ann = await client('ann', {}, empty);
  const ask = ann.call.bind(ann);
  const wrong = await ask('state_init', { name: 'x', stages: [], surprise: SECRET });
  expect(wrong).toMatchObject({ isError: true, error: { code: 'input-invalid', field: 'stages' } });
  expect(wrong.text).toMatch(/^input-invalid: state_init: stages: .*\nfield: stages\nremedy: Correct/s);
  expect((await ask('state_init', { name: '../up', stages: ['a'] })).error).toMatchObject({
    code: 'state-name-invalid',
  });
  const secret = await ask('state_init', { name: 'x', stages: ['a'], note: `use ${SECRET}` });
  expect(secret.error).toMatchObject({ code: 'state-secret', field: '/notes/0/text' });
  const checked = await ask('state_init', { name: 'x', stages: [{ id: 'a', check: 'touch ran' }] });
  expect(checked.error).toMatchObject({ code: 'check-not-approved', field: 'check' });
  expect((await ask('user_state_get', { key: 'tone' })).error).toMatchObject({ code: 'user-missing', field: 'user' });
  const twice = await ask('facts', { about: 'tenant', user: 'ana' });
  expect(twice.error).toMatchObject({ code: 'about-twice', field: 'about' });
  expect((await ask('recall', { query: 'x', user: 'ana' })).error).toMatchObject({ code: 'state-missing' });
  for (const reported of [wrong, secret, checked]) {
    expect(JSON.stringify(reported)).not.toContain(SECRET);
    expect(JSON.stringify(reported)).not.toMatch(/\bat .*\.(ts|js):\d+/);
  }
  await expect(ann.client.callTool({ name: 'no_such_tool' })).rejects.toThrow(/no such tool/);
});

it('shares memory with other servers and the commands', async () => {
  const [ann, bob] = await Promise.all([client('ann'), client('bob', { user: 'ana' })]);
  const facts = ['Ana works from Lisbon', 'Ana reads before noon', 'Ana never takes calls', 'Ana pays by invoice'];
  const said = await Promise.all(
    facts.map((text, at) =>
      at % 2 === 0 ? ann.call('remember', { text, user: 'ana' }) : bob.call('remember', { text }),
    ),
  );
  expect(said.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
  await bob.call('user_state_set', { key: 'tone', value: { style: 'brief' } });

  const cal = await client('cal', { user: 'ana' });
  const listed = await cal.call('facts');
  const texts = (listed.data.facts as readonly { text: string; source: string }[]).map(({ text }) => text);
  expect(texts.toSorted()).toEqual(facts.toSorted());
  expect(listed.text).toMatch(/Ana reads before noon \(bob, /);
  const recalled = await cal.call('recall', { query: 'where does Ana work from?' });
  expect(recalled.data).toMatchObject({
    by: 'words',
    entries: [{ value: { text: 'Ana works from Lisbon' } }, {}, {}],
  });
  // Of a long question the beginning decides, however it stands in an address.
  const long = await cal.call('recall', { query: `Lisbon ${'é😀'.repeat(6_000)}`, kinds: ['fact'] });
  expect(long.text).toContain('- Ana works from Lisbon (');
  expect((await cal.call('user_state_get', { key: 'tone' })).data.entry).toMatchObject({ value: { style: 'brief' } });
  expect((await cal.call('user_state_list')).text).toBe('tone: {"style":"brief"}');
  await cal.call('user_state_forget', { key: 'tone' });
  expect((await cal.call('user_state_get', { key: 'tone' })).data.entry).toBeNull();
  // Nobody else's.
  expect((await cal.call('facts', { user: 'eve' })).error).toMatchObject({ code: 'user-fixed', field: 'user' });
  // What everybody is told is read, and not changed, by who serves one user.
  const everybody = { about: 'tenant', text: 'We close at noon' };
  expect((await cal.call('remember', everybody)).error).toMatchObject({ code: 'user-fixed', field: 'about' });
  expect((await cal.call('facts', { about: 'tenant' })).data).toEqual({ facts: [] });
  expect((await cal.call('remember', { text: `the key is ${SECRET}` })).error).toMatchObject({
    code: 'memory-secret',
    field: '/text',
  });
  const { key } = (await cal.call('remember', { text: 'Ana moved to Porto' })).data;
  expect((await cal.call('facts')).text).toMatch(/^- Ana moved to Porto \(cal, /m);
  await cal.call('forget_fact', { key });
  expect((await cal.call('forget_fact', { key })).error).toMatchObject({ code: 'fact-unknown' });
  const command = await call('memory', 'list', '--user', 'ana', '--json');
  expect(JSON.parse(command.out).facts).toHaveLength(4);
  const any = await client('dee');
  expect((await any.call('list_leases')).text).toBe('Nothing is held.');
  expect((await cal.call('list_leases')).error).toMatchObject({ code: 'user-fixed', field: 'user' });
  await any.call('remember', { about: 'domain:kitchen', text: 'The oven burns bread' });
  const found = await any.call('recall', { about: 'domain:kitchen', query: 'bread' });
  expect(found.text).toContain('- The oven burns bread (dee, ');
});

it('asks a server with the rights of its credential, within its tenant', async () => {
  const state = await mkdtemp(path.join(os.tmpdir(), 'tidemark-cli-mcp-'));
  onTestFinished(() => rm(state, { recursive: true }));
  const host = await openEmbedded({ folder: state });
  onTestFinished(() => host.close(0));
  const api = await listenApi({
    ...{ place: host, definitions: [], host: '127.0.0.1', port: 0 },
    authenticator: {
      async authenticate({ authorization }) {
        const [, role, tenant] = /^Bearer (\w+)@(\w+)$/.exec(authorization ?? '') ?? [];
        if (tenant === undefined) throw new AccessError('credentials-invalid', 'The caller is not known.');
        return { subject: `key:${role}`, tenant: tenantId(tenant), roles: [role as Role], kind: 'key' };
      },
    },
  });
  onTestFinished(() => api.close());
  const as = (token: string, options: McpCommandOptions = {}) =>
    client('ann', { user: 'ana', ...options }, state, { TIDEMARK_URL: api.url, TIDEMARK_TOKEN: token });
  const [acme, viewer, globex] = [await as('operator@acme'), await as('viewer@acme'), await as('operator@globex')];
  expect((await acme.call('remember', { text: 'Ana works from Lisbon' })).error).toBeUndefined();
  expect((await acme.call('facts')).data).toMatchObject({ facts: [{ text: 'Ana works from Lisbon', source: 'ann' }] });
  expect((await globex.call('facts')).data).toEqual({ facts: [] });
  expect((await viewer.call('facts')).error).toMatchObject({ code: 'right-missing' });
  const continued = await viewer.call('session_continue', { session: 's1' });
  expect(continued.error).toMatchObject({ code: 'right-missing' });
  const elsewhere = await as('operator@globex', { tenant: 'acme' });
  expect((await elsewhere.call('facts')).error).toMatchObject({ code: 'tenant-unknown' });
  expect((await (await as('nobody')).call('facts')).error).toMatchObject({ code: 'credentials-invalid' });
});

describe('a session', () => {
  it('that waits for a person tells the question; one that ended tells its summary', async () => {
    const asked = ['--input', '{"order":"7","refunds":true}'];
    const parked = await call('run', 'support', '--id', 'w7', '--session', 's7', ...asked);
    expect(parked.code).toBe(1);
    const ann = await client('ann');
    const resumed = await ann.call('session_resume', { session: 's7' });
    expect(resumed.data).toMatchObject({
      is_live: true,
      workflow: {
        status: 'parked',
        question: { code: expect.any(String), resolutions: expect.arrayContaining(['done', 'not-done', 'fail']) },
      },
    });
    expect(resumed.text).toMatch(/It waits for a person \([a-z_-]+\): .* They may decide: /);
    const why = ['--by', 'ann', '--why', 'the bank says so'];
    await call('approve', 'w7', '--as', 'done', '--response', '{"receipt":"r-1"}', ...why);
    expect((await call('run', 'support', '--id', 'w7')).code).toBe(0);
    const ended = await ann.call('session_resume', { session: 's7' });
    expect(ended.data).toMatchObject({
      is_live: false,
      workflow: { status: 'completed', output: { parcel: 'r-1' }, frontier: [] },
      summaries: [{ task_description: 'Settle the complaint about order 7.' }],
    });
  });

  it('is continued: the live workflow, or the next one, by whom may start it', async () => {
    const asked = ['--input', '{"question":"How do I get to Bruges?"}'];
    await call('run', 'advise', '--id', 'c1', '--session', 'sc', '--user', 'ana', ...asked);
    const ann = await client('ann');
    const next = await ann.call('session_continue', { session: 'sc' });
    expect(next.data).toMatchObject({
      created: true,
      session: { user: 'ana', workflow: { definition: 'advise', input: { question: 'How do I get to Bruges?' } } },
    });
    expect(next.text).toMatch(/^Started: resumed:[0-9a-f]{32}\nSession sc of ana /);
    const eve = await client('eve', { user: 'eve' });
    const unknown = { code: 'session-unknown', field: 'session' };
    expect((await eve.call('session_continue', { session: 'sc' })).error).toMatchObject(unknown);
    expect((await ann.call('session_continue', { session: 'no-such' })).error).toMatchObject(unknown);
  });

  it('tells what a model call saw, rebuilt from the log', async () => {
    const asked = ['--input', '{"question":"How do I get to Ghent?"}'];
    const ran = await call('run', 'advise', '--id', 'a1', '--session', 'sa', '--user', 'ana', ...asked);
    expect(ran.err).toContain('completed');
    const ann = await client('ann');
    const seen = await ann.call('bundle', { workflow: 'a1' });
    expect(seen.data).toMatchObject({
      workflow: 'a1',
      at: 1,
      calls: [{ is_same: true, model: 'test-model', status: 'done', answer: { text: 'By train.' } }],
    });
    expect(JSON.stringify(seen.data)).toContain('How do I get to Ghent?');
    expect(seen.text).toMatch(/^a1:0\.0:\S+ \(test-model, done\): rebuilt, the same bytes as were sent/);
    expect((await ann.call('bundle', { workflow: 'a1', at: 9 })).error).toMatchObject({ code: 'checkpoint-unknown' });
    expect((await ann.call('bundle', { workflow: 'a1', call: 2 })).error).toMatchObject({ field: 'call' });
    const eve = await client('eve', { user: 'eve' });
    const unknown = { code: 'workflow-unknown', field: 'workflow' };
    expect((await eve.call('bundle', { workflow: 'a1' })).error).toMatchObject(unknown);
    const other = await client('other', { tenant: 'other' });
    expect((await other.call('bundle', { workflow: 'a1' })).error).toMatchObject(unknown);
  });

  it('is gone on with through the process that runs it: what is blocked and why, belief, notes, hand-overs', async () => {
    const input = ['--input', '{"order":"4411"}'];
    await call('run', 'support', '--id', 'w1', '--session', 's1', '--user', 'ana', ...input, '--detach');
    const ann = await client('ann');
    await expect
      .poll(async () => (await ann.call('session_resume', { session: 's1' })).text)
      .toContain('waits for the confirmation');
    const handed = await ann.call('session_handover', {
      session: 's1',
      to: 'bob',
      message: 'Call the depot first.',
      artifacts: ['complaint.pdf'],
    });
    expect(handed.data).toEqual({ session: 's1', from: 'ann', to: 'bob', is_known: true });
    const resumed = await ann.call('session_resume', { session: 's1' });
    expect(resumed.data).toMatchObject({
      session: 's1',
      user: 'ana',
      is_live: true,
      workflow: {
        workflow: 'w1',
        definition: 'support',
        status: 'open',
        goal: ['Settle the complaint about order 4411.'],
        constraints: ['Never promise a date.'],
        checkpoint_note: 'The customer is angry: be brief.',
        last_action: 'read the complaint',
        belief: { findings: ['two items are missing'] },
        pending_task_count: 1,
        next_task: null,
        frontier: [
          { step: 'replace', state: 'blocked', why: expect.stringContaining('waits for the confirmation of') },
        ],
        question: null,
      },
      handovers: [{ from: 'ann', to: 'bob', message: 'Call the depot first.', artifacts: ['complaint.pdf'] }],
    });
    expect(resumed.text).toMatch(
      /^Session s1 of ana continues in workflow w1 \(support v2, open\)\.\nHanded over from ann/,
    );
    // Somebody else's is as if it weren't there.
    const eve = await client('eve', { user: 'eve' });
    expect((await eve.call('session_resume', { session: 's1' })).error).toMatchObject({ code: 'session-unknown' });
    const other = await client('other', { tenant: 'other' });
    expect((await other.call('session_resume', { session: 's1' })).error).toMatchObject({ code: 'session-unknown' });
    // The process that runs it goes: the next one holds the folder itself.
    await release();
    const alone = await ann.call('session_resume', { session: 's1' });
    expect(alone.data).toMatchObject({ is_live: true, workflow: { belief: { findings: ['two items are missing'] } } });
    expect((await ann.call('session_resume', { session: 's2' })).error).toMatchObject({
      code: 'session-unknown',
      field: 'session',
    });
  });
});
