/**
 * Owns the test that what callers send passes the policy on secrets, whichever operation takes it: contents are masked or refused, names and
 * keys refused. `report` is the control of the other two: under it the log has every one of them.
 */

import { type Partition, tenantId } from '@tidemark/core';
import { accessRecords, type Host } from '@tidemark/host';
import { noTelemetry } from '@tidemark/ports';
import type { OnSecret } from '@tidemark/runtime';
import { approval, defineWorkflow, signal, task } from '@tidemark/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestWorld, testWorld } from './test-world.ts';

const TENANT = tenantId('default');
const LOG_MAX_BYTES = 8_000_000;

const waits = defineWorkflow({
  ...{ name: 'waits', version: 1, input: z.json(), belief: z.null(), output: z.null() },
  ...{ tasks: { wait: z.null(), ask: z.null() }, flow: { wait: [], ask: [] } },
  signals: { go: z.json() },
  starts: ['wait', 'ask'],
  approvals: { pay: z.null() },
  begin: () => ({
    belief: null,
    next: [
      task('wait', null, { when: signal('go') }),
      task('ask', null, { when: approval('pay', { title: 'Pay?', detail: '' }) }),
    ],
  }),
  steps: { wait: () => ({}), ask: () => ({ done: null }) },
});

const strict = { ...waits, name: 'strict', onSecret: 'refuse' } as const;

/** The token that one operation is given, in a text, and the world that takes it. */
interface Given {
  readonly world: TestWorld;
  readonly token: string;
  readonly text: string;
  /** A workflow of its own, which waits. */
  readonly id: string;
}
type Take = (given: Given) => Promise<unknown>;

const asked = { by: 'ana', why: 'it is late' };
const filter = { tenant: TENANT, definition: 'waits', text: 'nobody' };
const job = { ...asked, act: 'signal', filter, signal: { name: 'go', value: null } } as const;
const access = ({ client, ports }: TestWorld) => accessRecords({ client, ports } as unknown as Host);
const key = { ...asked, tenant: TENANT, name: 'of CI', roles: ['viewer'], expiresMs: null } as const;
const schedule = { cron: '0 0 1 1 *', tenant: TENANT };

/** Every operation of a client by which content of a caller comes to be stored. */
const CONTENTS: Readonly<Record<string, Take>> = {
  'an input': ({ world, id, text }) => world.start(waits, { text }, { id: `${id}-new` }),
  'the value of a signal': ({ world, id, text }) => world.client.signal(id, 'go', { text }),
  'the value of a job': ({ world, id, text }) =>
    world.client.bulk.start({ ...job, id, signal: { name: 'go', value: { text } } }),
  'why of a job': ({ world, id, text }) => world.client.bulk.start({ ...job, id, why: text }),
  'why of a pause': ({ world, id, text }) => world.client.pause(id, { ...asked, why: text }),
  'why of a resumption': async ({ world, id, text }) => {
    await world.client.pause(id, asked);
    return world.client.resume(id, { ...asked, why: text });
  },
  'why of a cancellation': ({ world, id, text }) => world.client.cancel(id, { ...asked, why: text }),
  'why of a termination': ({ world, id, text }) => world.client.terminate(id, { ...asked, why: text }),
  'why of a pin': ({ world, id, text }) => world.client.pin(id, { ...asked, pinned: true, why: text }),
  'why of a budget': ({ world, id, text }) =>
    world.client.memory.raiseBudget(id as never, { ...asked, tokens: 1, why: text }),
  'the note of an answer': ({ world, id, text }) =>
    world.client.approve(id, '0.1', { approved: true, by: 'ana', value: null, why: text }),
  'why of a paused queue': ({ world, text }) =>
    world.client.queues.pause({ definition: 'waits', tenant: tenantId('other') }, { ...asked, why: text }),
  'the input of a schedule': ({ world, id, text }) =>
    world.client.schedules.set(waits, { text }, { ...schedule, id: `${id}-slots` }),
  'a change of a schedule': async ({ world, id, text }) => {
    await world.client.schedules.set(waits, { text: '' }, { ...schedule, id: `${id}-slots` });
    return world.client.schedules.set(waits, { text }, { ...schedule, id: `${id}-slots` });
  },
  'the reason of a hold': ({ world, id, text }) =>
    world.client.memory.hold(TENANT, { id, workflow: null, by: 'ana', why: text }),
  'why of a suspension': ({ world, id, text }) => access(world).suspendTenant(id, true, { ...asked, why: text }),
  'why of a revoked key': async ({ world, text }) => {
    const made = await access(world).createKey(key);
    return access(world).revokeKey(made.key.id, { ...asked, why: text });
  },
};

/** The same for names and keys. */
const NAMES: Readonly<Record<string, Take>> = {
  'an id': ({ world, token }) => world.start(waits, null, { id: `run-${token}` }),
  'a tag': ({ world, id, token }) => world.start(waits, null, { id: `${id}-new`, tags: [token] }),
  'a session': ({ world, id, token }) => world.start(waits, null, { id: `${id}-new`, session: token }),
  'a user': ({ world, id, token }) => world.start(waits, null, { id: `${id}-new`, user: token }),
  'the key of a signal': ({ world, id, token }) => world.client.signal(id, 'go', null, { key: token }),
  'the name of a signal': ({ world, id, token }) => world.client.signal(id, token, null),
  'who pauses': ({ world, id, token }) => world.client.pause(id, { ...asked, by: token }),
  'who answers': ({ world, id, token }) => world.client.approve(id, '0.1', { approved: true, by: token, value: null }),
  'the id of a job': ({ world, token }) => world.client.bulk.start({ ...job, id: token }),
  'whom a job finds': ({ world, id, token }) =>
    world.client.bulk.start({ ...job, id, filter: { ...filter, text: token } }),
  'the signal of a job': ({ world, id, token }) =>
    world.client.bulk.start({ ...job, id, signal: { name: token, value: null } }),
  'the user of a schedule': ({ world, id, token }) =>
    world.client.schedules.set(waits, null, { ...schedule, id: `${id}-slots`, user: token }),
  'a subject of memory': ({ world, token }) =>
    world.client.memory.remember([{ subject: `user:${token}`, kind: 'fact', key: 'k', value: 'v' }], {
      tenant: TENANT,
    }),
  'the key of a memory': ({ world, id, token }) =>
    world.client.memory.remember([{ subject: `user:${id}`, kind: 'fact', key: token, value: 'v' }], { tenant: TENANT }),
  'the name of an API key': ({ world, token }) => access(world).createKey({ ...key, name: token }),
  'a tenant': ({ world, token }) => access(world).createTenant(token, 'ana'),
  'the id of a hold': ({ world, token }) =>
    world.client.memory.hold(TENANT, { id: token, workflow: null, by: 'ana', why: 'a lawsuit' }),
  'the id of a fork': async ({ world, id, token }) => {
    await world.client.pin(id, { ...asked, pinned: true });
    return world.client.fork(id, { at: 0, effects: 'replay', by: 'ana', id: `fork-${token}`, definitions: [waits] });
  },
};

async function logOf({ ports: { log } }: TestWorld): Promise<string> {
  const texts: string[] = [];
  for (let partition = 0; partition < (await log.partitionCount()); partition += 1) {
    const from = 0 as never;
    const [read] = await log.read([{ partition: partition as Partition, from }], { maxBytes: LOG_MAX_BYTES });
    texts.push(...(read?.records ?? []).map(({ value }) => Buffer.from(value).toString('utf8')));
  }
  return texts.join('\n');
}

describe.each(['report', 'mask', 'refuse'] as const)('by the policy %s', (onSecret: OnSecret) => {
  let world: TestWorld;
  let count = 0;
  beforeAll(async () => {
    world = await testWorld({ workflows: [waits], telemetry: noTelemetry, secretPolicy: { onSecret } });
  });
  afterAll(() => world.close());

  async function outcomeOf(take: Take, id: string, token: string): Promise<string> {
    const run = await world.start(waits, null, { id });
    // The client waits only so long for rows to have a workflow, and those of many may come later on a slow machine.
    await eventually(async () => (await run.summary()) !== undefined);
    try {
      await take({ world, id, token, text: `push with ${token}, then wait` });
      return 'taken';
    } catch (error) {
      const { code, message } = error as { readonly code?: string; readonly message: string };
      expect(message).not.toContain(token);
      return code ?? message;
    }
  }

  /** What became of each operation, and whether the log has its token. */
  async function taken(all: Readonly<Record<string, Take>>): Promise<Readonly<Record<string, string>>> {
    const given = Object.entries(all).map(([what, take]) => {
      const number = String(++count).padStart(4, '0');
      return { what, take, id: `w${number}`, token: `gh${'p_'}${'q7Zr2mX9wK4v'.repeat(3).slice(4)}${number}` };
    });
    const outcomes = await Promise.all(given.map(({ take, id, token }) => outcomeOf(take, id, token)));
    const log = await logOf(world);
    return Object.fromEntries(
      given.map(({ what, token }, at) => [what, `${outcomes[at]}${log.includes(token) ? ', stored' : ''}`]),
    );
  }
  const each = (all: Readonly<Record<string, Take>>, outcome: string) =>
    Object.fromEntries(Object.keys(all).map((what) => [what, outcome]));

  it('each content of a caller', async () => {
    const outcome = { report: 'taken, stored', mask: 'taken', refuse: 'secret-found' }[onSecret];
    expect(await taken(CONTENTS)).toEqual(each(CONTENTS, outcome));
  });

  it('the signal of a job, as the strictest definition that it may find says', async () => {
    const given = { ...job, definitions: [waits, strict] };
    const text = { ...filter, definition: undefined };
    const [named, any, other]: readonly Take[] = [
      { ...given, filter: { ...filter, definition: 'strict' } },
      { ...given, filter: text },
      given,
    ].map(
      (request): Take =>
        ({ world, id, text }) =>
          world.client.bulk.start({ ...request, id, signal: { name: 'go', value: { text } } } as never),
    );
    const usual = { report: 'taken, stored', mask: 'taken', refuse: 'secret-found' }[onSecret];
    const all = { named: named!, any: any!, other: other! };
    expect(await taken(all)).toEqual({ named: 'secret-found', any: 'secret-found', other: usual });
  });

  it('each name that a caller chooses', async () => {
    expect(await taken(NAMES)).toEqual(each(NAMES, onSecret === 'report' ? 'taken, stored' : 'secret-found'));
  });
});
