/**
 * Forgetting on the embedded default: what goes with a user and with a workflow (F1), what keeps it from beginning (F2), and that one who
 * dies in between can be followed by another (F3). What was said is looked for above the keys: in the log, in rows and in memory, also
 * once rows were rebuilt; the control is that it is found before.
 */

import { rm } from 'node:fs/promises';
import path from 'node:path';
import { DEFAULT_TENANT, type Offset, partition, type Sequence, UnavailableError, workflowId } from '@tidemark/core';
import type { KeyFilter, StoredKey } from '@tidemark/ports';
import { type ForgetRequest, forget } from '@tidemark/runtime';
import { defineEffect, defineWorkflow, FatalError, task } from '@tidemark/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
vi.setConfig({ testTimeout: 240_000 });

type ForgettingOptions = Parameters<typeof forget>[0];

const PATIENCE = { timeout: 60_000 };
const TENANT = DEFAULT_TENANT;
/** Everything that is ana's says it. */
const HERS = 'pearl-diver';
const HIS = 'stevedore';

const book = defineEffect({
  operation: 'book',
  kind: 'idempotent',
  request: z.object({ about: z.string() }),
  response: z.object({ receipt: z.string() }),
  call: ({ about }) => ({ receipt: `receipt of ${about}` }),
  compensate: () => {},
});

const telling = defineWorkflow({
  name: 'telling',
  version: 1,
  onFailure: 'compensate',
  input: z.object({ about: z.string(), falls: z.boolean().default(false), of: z.string().optional() }),
  belief: z.object({ reported: z.string() }),
  output: z.object({ said: z.string() }),
  tasks: { say: z.object({}), end: z.object({}) },
  flow: { say: ['end'], end: [] },
  effects: [book],
  begin: ({ about }) => ({ belief: { reported: about }, next: [task('say', {})] }),
  steps: {
    async say(ctx) {
      await ctx.effect(book, { about: ctx.input.about });
      return { next: [task('end', {})] };
    },
    end({ belief, input, workflow }) {
      if (input.falls) throw new FatalError(`no ${belief.reported}`);
      const { of } = input;
      return {
        done: { said: belief.reported },
        ...(of !== undefined && {
          memories: [
            { subject: `user:${of}`, kind: 'fact', key: 'told', value: { text: 'by another' }, source: workflow },
          ],
        }),
      };
    },
  },
});

let at: FolderFixture;
beforeEach(async () => {
  at = await FolderFixture.make();
});
afterEach(() => at.end());

async function open(): Promise<Host> {
  const host = await at.open({ keysUrl: at.keysUrl() });
  await expect.poll(() => host.ports.store.ready(), PATIENCE).toBe(true);
  return host;
}

const work = (host: Host) => host.startWorker({ definitions: [telling], concurrency: 4 });

const compact = (host: Host) =>
  host.compactor({ policy: { hotMs: 1, segmentMinBytes: 1 }, paceBytesPerSecond: Number.POSITIVE_INFINITY }).pass();

async function keysIn(host: Host, filter: KeyFilter = {}): Promise<StoredKey[]> {
  const found: StoredKey[] = [];
  for await (const key of host.keys!.store.list(filter)) found.push(key);
  return found;
}
const idsOf = (keys: readonly StoredKey[]): string[] => keys.map(({ id }) => id).sort();
const sorted = (ids: readonly string[]): string[] => [...ids].sort();

const asked = (of: Partial<ForgetRequest>): ForgetRequest => ({ tenant: TENANT, by: 'carl', why: 'she asked', ...of });
const forgetIn = (host: Host, of: Partial<ForgetRequest>, more: Partial<ForgettingOptions> = {}) =>
  forget(
    {
      store: host.ports.store,
      keys: host.keys!.data,
      keyStore: host.keys!.store,
      memory: host.client.memory,
      now: () => 'now',
      ...more,
    },
    asked(of),
  );

/** As stores are whose keys were made without saying for whom. */
const ownerless = (host: Host): Pick<ForgettingOptions, 'keyStore'> => ({
  keyStore: {
    async *list(filter) {
      if (filter.user === undefined) yield* host.keys!.store.list(filter);
    },
  },
});

/** Where the text can be read with all keys that there are: `log`, rows by workflow, `memory`. */
async function readable(host: Host, text: string, workflows: readonly string[], subjects: readonly string[]) {
  const { log, store } = host.ports;
  const found = new Set<string>();
  const poll = (where: string, ...what: unknown[]): void => {
    if (JSON.stringify(what).includes(text)) found.add(where);
  };
  for (let at = 0; at < (await log.partitionCount()); at++) {
    const bounds = (await log.bounds([partition(at)])).get(partition(at))!;
    for (let from = 0 as Offset; from < bounds.end; ) {
      const [result] = await log.read([{ partition: partition(at), from }]);
      for (const { value } of result!.records) poll('log', Buffer.from(value).toString('latin1'));
      from = ((result!.records.at(-1)?.offset ?? bounds.end) + 1) as Offset;
    }
  }
  for (const id of workflows) {
    const workflow = workflowId(id);
    poll(id, await store.workflow(workflow), await store.effects(workflow), await store.events(workflow, 100));
    poll(id, await store.checkpoints(workflow, { from: 0 as Sequence, limit: 100 }));
  }
  for (const subject of subjects) poll('memory', await store.memories({ tenant: TENANT, subject, limit: 100 }));
  return [...found].sort();
}

const HER_WORKFLOWS = ['done', 'undone', 'undone~undo'];
const HER_SUBJECTS = ['user:ana', 'session:s1'];

/** Runs, an undo, memory and a hand-over of ana's; a run and memory of bob's, which remembers something of ana too. */
async function history(host: Host): Promise<void> {
  const { client } = host;
  await work(host);
  await (await client.start(telling, { about: HERS }, { id: 'done', user: 'ana', session: 's1' })).result();
  const falling = await client.start(telling, { about: HERS, falls: true }, { id: 'undone', user: 'ana' });
  await expect(falling.result()).rejects.toMatchObject({ code: 'workflow-compensated' });
  await (await client.start(telling, { about: HIS, of: 'ana' }, { id: 'his', user: 'bob', session: 's2' })).result();
  const fact = (user: string, text: string) =>
    client.memory.remember(
      [{ subject: `user:${user}`, kind: 'fact', key: 'trade', value: { text }, words: text, source: 'test' }],
      { tenant: TENANT },
    );
  await fact('ana', HERS);
  await fact('bob', HIS);
  await client.memory.handOver(TENANT, 's1', { from: 'a', to: 'b', message: HERS, artifacts: [] });
  await client.memory.handOver(TENANT, 's2', { from: 'a', to: 'b', message: HIS, artifacts: [] });
  await client.memory.setBudget(TENANT, { user: 'ana' }, { tokens: 7, period: 'day' });
}

const factsOf = async (host: Host, user: string) =>
  (await host.ports.store.memories({ tenant: TENANT, subject: `user:${user}`, limit: 100 })).map(({ key }) => key);

describe('a user', () => {
  it('is forgotten with runs, undos, memory and sessions, in every tier; nobody else is', async () => {
    const host = await open();
    await history(host);
    expect(await readable(host, HERS, HER_WORKFLOWS, HER_SUBJECTS)).toEqual([...HER_WORKFLOWS, 'log', 'memory'].sort());
    const before = await keysIn(host);
    const undo = before.filter(({ workflow }) => workflow === 'undone~undo');
    expect(undo.map(({ user }) => user)).toEqual(['ana']);

    const certificate = await forgetIn(host, { user: 'ana' }, ownerless(host));
    const left = new Set(idsOf(await keysIn(host)));
    const gone = before.filter(({ id }) => !left.has(id));
    expect(
      gone
        .map(({ workflow }) => workflow)
        .filter((workflow) => !workflow.startsWith('~memory:'))
        .sort(),
    ).toEqual(HER_WORKFLOWS);
    // The streams of the user and of the session.
    expect(gone).toHaveLength(HER_WORKFLOWS.length + 2);
    expect(certificate).toMatchObject({ of: 'user:ana', state: 'destroyed', memoryCount: expect.any(Number) });
    expect(sorted(certificate.keys)).toEqual(idsOf(gone));
    expect(await host.client.memory.certificates(TENANT)).toEqual([certificate]);
    await at.close(host);

    const again = await open();
    const check = async (of: Host): Promise<void> => {
      expect(await readable(of, HERS, HER_WORKFLOWS, HER_SUBJECTS)).toEqual([]);
      // What bob’s run remembered of ana has its key still, and is gone from memory all the same.
      expect(await factsOf(of, 'ana')).toEqual(['budget']);
      expect(await readable(of, HIS, ['his'], ['user:bob', 'session:s2'])).toEqual(['his', 'log', 'memory']);
      const [budget] = await of.ports.store.memories({ tenant: TENANT, subject: 'user:ana', limit: 1 });
      expect(JSON.parse(budget!.value)).toEqual({ tokens: 7, period: 'day' });
    };
    await check(again);
    await vi.waitFor(async () => expect(await compact(again)).toMatchObject({ failedCount: 0 }), PATIENCE);
    await check(again);
    await at.close(again);
    await rm(path.join(at.state, 'rows'), { recursive: true });
    const reopened = await open();
    await vi.waitFor(() => check(reopened), PATIENCE);

    // She comes back: what she says from now on is remembered.
    await work(reopened);
    await (await reopened.client.start(telling, { about: 'a new life' }, { id: 'later', user: 'ana' })).result();
    await reopened.client.memory.remember(
      [{ subject: 'user:ana', kind: 'fact', key: 'trade', value: { text: 'new' }, source: 'test' }],
      { tenant: TENANT },
    );
    expect(await factsOf(reopened, 'ana')).toEqual(['trade', 'budget']);
  });

  it('is not forgotten while a workflow is open, which is named; one who dies in between is followed by another', async () => {
    const host = await open();
    const waiting = await host.client.start(telling, { about: HERS }, { id: 'waiting', user: 'ana' });
    await host.client.start(telling, { about: HIS }, { id: 'his', user: 'bob' });
    const isOpen = { name: 'ConflictError', code: 'workflow-open', message: expect.stringContaining('waiting') };
    const before = idsOf(await keysIn(host));
    for (const more of [{}, ownerless(host)]) {
      await expect(forgetIn(host, { user: 'ana' }, more)).rejects.toMatchObject({
        ...isOpen,
        details: { user: 'ana', workflows: ['waiting'] },
      });
    }
    await expect(forgetIn(host, { workflow: workflowId('waiting') })).rejects.toMatchObject(isOpen);
    expect(idsOf(await keysIn(host))).toEqual(before);
    expect(await host.client.memory.certificates(TENANT)).toEqual([]);

    await work(host);
    await waiting.result();
    await host.client.memory.remember(
      [{ subject: 'user:ana', kind: 'fact', key: 'trade', value: { text: HERS }, source: 'test' }],
      { tenant: TENANT },
    );
    await vi.waitFor(async () => expect(await compact(host)).toMatchObject({ failedCount: 0 }), PATIENCE);
    const hers = [...(await keysIn(host, { user: 'ana' })), ...(await streamKeys(host))];
    const dies = async (ids: readonly string[]): Promise<void> => {
      await host.keys!.data.destroyAll(ids.slice(0, 1));
      throw new UnavailableError('keys-unavailable', 'The process dies.');
    };
    const dying = forgetIn(host, { user: 'ana' }, { keys: { destroyAll: dies } });
    await expect(dying).rejects.toMatchObject({ code: 'keys-unavailable' });
    expect(await host.client.memory.certificates(TENANT)).toMatchObject([{ of: 'user:ana', state: 'ordered' }]);
    const certificate = await forgetIn(host, { user: 'ana' });
    expect(certificate).toMatchObject({ state: 'destroyed', memoryCount: 1 });
    expect(sorted(certificate.keys)).toEqual(idsOf(hers));
    const found = await host.keys!.store.get(certificate.keys);
    expect([...found.values()]).toEqual(hers.map(() => null));
    expect(await host.client.memory.certificates(TENANT)).toEqual([certificate]);
  });

  /** Of the one stream of memories that there is. */
  const streamKeys = async (host: Host): Promise<StoredKey[]> =>
    (await keysIn(host)).filter(({ workflow }) => workflow.startsWith('~memory:'));
});

describe('a workflow', () => {
  it('is forgotten with its undo, and nothing else is', async () => {
    const host = await open();
    await history(host);
    const before = await keysIn(host);
    const certificate = await forgetIn(host, { workflow: workflowId('undone') });
    const left = new Set(idsOf(await keysIn(host)));
    const gone = before.filter(({ id }) => !left.has(id));
    expect(gone.map(({ workflow }) => workflow).sort()).toEqual(['undone', 'undone~undo']);
    expect(sorted(certificate.keys)).toEqual(idsOf(gone));
    await at.close(host);
    const again = await open();
    expect(await readable(again, HERS, ['undone', 'undone~undo'], [])).toEqual(['log']);
    expect(await readable(again, HERS, ['done'], HER_SUBJECTS)).toEqual(['done', 'log', 'memory']);
  });

  it('is forgotten with what it wrote into anybody’s memory, which is found by no word of it; asked again, the certificate keeps its keys', async () => {
    const host = await open();
    await history(host);
    const recalled = async (of: Host) => {
      const query = { subjects: ['user:ana'], query: 'another', kinds: ['fact', 'summary'] } as const;
      return (await of.client.memory.recall(TENANT, query)).entries.map(({ memory }) => memory.key);
    };
    expect(await recalled(host)).toEqual(['told']);
    const certificate = await forgetIn(host, { workflow: workflowId('his') });
    // The fact of ana, and the summary of its session.
    expect(certificate).toMatchObject({ state: 'destroyed', memoryCount: 2, leftIn: [] });
    expect(await recalled(host)).toEqual([]);
    expect(await factsOf(host, 'ana')).toEqual(['trade', 'budget', 's1/done']);
    const again = await forgetIn(host, { workflow: workflowId('his') });
    expect(again).toEqual(certificate);
    expect(await host.client.memory.certificates(TENANT)).toEqual([certificate]);
    await at.close(host);
    await rm(path.join(at.state, 'rows'), { recursive: true });
    const reopened = await open();
    await vi.waitFor(
      async () => expect(await factsOf(reopened, 'ana')).toEqual(['trade', 'budget', 's1/done']),
      PATIENCE,
    );
    expect(await recalled(reopened)).toEqual([]);
  });
});
