/**
 * Large payloads on the embedded default: a step may leave and say megabytes; log and segments stay small, everything reads as it was in
 * every tier and after rows were lost (I6), and with a key nothing of it is in any file.
 */

import { hash } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { workflowId } from '@tidemark/core';
import { child, defineWorkflow, signal, task } from '@tidemark/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const MB = 1_000_000;
const ID = workflowId('w');
const SECRET = 'the-secret-of-the-client';

/** Hardly packs, so that sealing it leaves it large. */
function noise(bytes: number, seed: number): string {
  let state = seed;
  let text = '';
  while (text.length < bytes) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += state.toString(36);
  }
  return `${SECRET} ${text.slice(0, bytes)}`;
}

const BELIEF = noise(5 * MB, 1);
const OUTPUT = noise(3 * MB, 2);

const hungry = defineWorkflow({
  name: 'hungry',
  version: 1,
  input: z.object({}),
  belief: z.object({ seen: z.string() }),
  output: z.object({ said: z.string(), seenBytes: z.number() }),
  tasks: { poll: z.object({}), say: z.object({}) },
  flow: { poll: ['say'], say: [] },
  begin: () => ({ belief: { seen: '' }, next: [task('poll', {})] }),
  steps: {
    poll: () => ({ belief: (belief) => ({ ...belief, seen: BELIEF }), next: [task('say', {})] }),
    say: ({ belief }) => ({ done: { said: OUTPUT, seenBytes: belief.seen.length } }),
  },
});

let at: FolderFixture;
beforeEach(async () => {
  at = await FolderFixture.make();
});
afterEach(() => at.end());

const open = (keysUrl = ''): Promise<Host> => at.open({ keysUrl });

async function run(host: Host): Promise<void> {
  await host.startWorker({ definitions: [hungry], concurrency: 4 });
  const started = await host.client.start(hungry, {}, { id: ID });
  const { said, seenBytes } = await started.result();
  expect([said === OUTPUT, seenBytes]).toEqual([true, BELIEF.length]);
}

/** A busy machine takes its time. */
const PATIENCE = { timeout: 60_000 };

/** Archives until its rows are gone. */
async function archive(host: Host): Promise<void> {
  const policy = { hotMs: 1, segmentMinBytes: 1 };
  const compactor = host.compactor({ policy, paceBytesPerSecond: Number.POSITIVE_INFINITY });
  const archived = async () => {
    expect(await compactor.pass()).toMatchObject({ failedCount: 0 });
    return host.ports.store.withoutRows([ID]);
  };
  await expect.poll(archived, PATIENCE).toEqual([ID]);
}

/** What is told of it, from wherever it is. */
async function reported(host: Host): Promise<unknown> {
  const checkpoints = await host.ports.store.checkpoints(ID, { from: 0 as never, limit: 10 });
  const row = await host.ports.store.workflow(ID);
  const beliefs = checkpoints.map(({ payload }) => payload.includes(BELIEF));
  const { output } = JSON.parse(row?.result ?? '{}') as { output?: { said: string; seenBytes: number } };
  // No megabytes in what a failure prints.
  return { beliefs, isOutput: output?.said === OUTPUT, seenBytes: output?.seenBytes };
}
const WHOLE = { beliefs: [false, true, false], isOutput: true, seenBytes: BELIEF.length };

async function sizeOf(...names: readonly string[]): Promise<number> {
  const top = path.join(at.state, ...names);
  let bytes = 0;
  for (const entry of await readdir(top, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(path.join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}

/** Files of blobs, by the folder of their workflow. */
async function blobsBy(): Promise<ReadonlyMap<string, number>> {
  const names = (await readdir(path.join(at.state, 'blobs'), { recursive: true })).filter((name) =>
    /^[0-9a-f]{2}\/[0-9a-f]{64}\/[0-9a-f]{64}$/.test(name),
  );
  return new Map([...Map.groupBy(names, (name) => name.slice(3, 67))].map(([of, each]) => [of, each.length]));
}
const blobCount = async (workflow: string = ID): Promise<number> =>
  (await blobsBy()).get(hash('sha256', workflow)) ?? 0;

describe('a step that leaves 5 MB and says 3 MB', () => {
  it('is read as it was from rows, from segments, and after rows were lost; neither log nor segments are large', async () => {
    const host = await open();
    await run(host);
    expect(await reported(host)).toEqual(WHOLE);
    // A belief and an output. Rows hold the output as well, as the workflow's result.
    expect(await blobCount()).toBe(2);
    expect(await host.ports.log.sizeBytes()).toBeLessThan(MB);
    const [use] = await host.ports.store.storage('workflow', 1);
    expect(use?.hotBytes).toBeGreaterThan(8 * MB);
    expect(await sizeOf('blobs')).toBeGreaterThan(8 * MB);

    await archive(host);
    expect(await sizeOf('archive', 'segments')).toBeLessThan(MB);
    expect(await reported(host)).toEqual(WHOLE);
    expect(await host.ports.store.withoutRows([ID])).toEqual([]);
    await at.close(host);

    await rm(path.join(at.state, 'rows'), { recursive: true });
    const again = await open();
    await expect.poll(() => again.ports.store.ready(), PATIENCE).toBe(true);
    await expect.poll(() => reported(again), PATIENCE).toEqual(WHOLE);
    expect(await blobCount()).toBe(2);
    await at.close(again);
    const files = (await at.filesWith(SECRET)).filter((file) => !file.startsWith('rows/'));
    expect(files.map((file) => path.dirname(path.dirname(path.dirname(file))))).toEqual(['blobs', 'blobs']);
  });

  it('with a key is in no file as it is, and read as it was', async () => {
    const keysUrl = pathToFileURL(path.join(at.root, 'keys.json')).href;
    const host = await open(keysUrl);
    await run(host);
    expect(await reported(host)).toEqual(WHOLE);
    await archive(host);
    expect(await reported(host)).toEqual(WHOLE);
    await at.close(host);
    expect(await at.filesWith(SECRET)).toEqual([]);
    expect(await sizeOf('blobs')).toBeGreaterThan(4 * MB);

    await rm(path.join(at.state, 'rows'), { recursive: true });
    const again = await open(keysUrl);
    await expect.poll(() => again.ports.store.ready(), PATIENCE).toBe(true);
    await expect.poll(() => reported(again), PATIENCE).toEqual(WHOLE);
    await at.close(again);
    expect(await at.filesWith(SECRET)).toEqual([]);
  });

  it('is told as damaged where its blob is: its workflow stands there, and nothing is made of it', async () => {
    const host = await open();
    await run(host);
    await host.tiers!.blobs!.removeAll(ID);
    await expect(reported(host)).rejects.toMatchObject({ code: 'blob-missing' });
    await at.close(host);
    await rm(path.join(at.state, 'rows'), { recursive: true });
    const again = await open();
    await expect.poll(() => again.ports.store.ready(), PATIENCE).toBe(true);
    expect(await again.ports.store.workflow(ID)).toMatchObject({
      status: 'parked',
      reason: 'blob-missing',
      result: null,
    });
  });
});

describe('what one workflow hands to another', () => {
  const INLINE_MAX_BYTES = 20_000;
  const [ASKED, ANSWERED, WORD, CARRIED] = [3, 4, 5, 6].map((seed) => noise(40_000, seed)) as [string, ...string[]];
  const text = z.object({ text: z.string() });
  const helper = defineWorkflow({
    ...{ name: 'helper', version: 1, input: text, belief: z.null(), output: text },
    tasks: { work: z.null() },
    flow: { work: [] },
    begin: () => ({ belief: null, next: [task('work', null)] }),
    steps: { work: ({ input }) => ({ done: { text: input.text === ASKED ? ANSWERED! : '' } }) },
  });
  const asker = defineWorkflow({
    ...{ name: 'asker', version: 1, input: text, belief: text, output: text, signals: { word: text } },
    tasks: { ask: z.null(), heard: z.null(), told: z.null() },
    flow: { ask: ['heard'], heard: ['told'], told: [] },
    starts: ['ask', 'told'],
    children: { helper },
    begin: ({ text: given }) => ({ belief: { text: '' }, next: [task(given === '' ? 'ask' : 'told', null)] }),
    steps: {
      ask: () => ({ next: [task('heard', null, { when: child('helper', { text: ASKED }) })] }),
      heard: ({ cause }) => {
        const answered = cause?.kind === 'child' && cause.outcome === 'completed' ? cause.output.text : '';
        return {
          belief: () => ({ text: answered }),
          next: [task('told', null, { when: signal('word') })],
        };
      },
      told: ({ input, belief, cause }) => {
        if (input.text !== '') return { done: { text: input.text } };
        const word = cause?.kind === 'signal' ? cause.value.text : '';
        return { continueAsNew: { text: `${belief.text === ANSWERED} ${word === WORD} ${CARRIED}` } };
      },
    },
  });

  it('is a payload of its own there, which stays when the other’s are removed: children, signals, next runs, forks', async () => {
    const open = () => at.open({ inlineMaxBytes: INLINE_MAX_BYTES });
    const host = await open();
    await host.startWorker({ definitions: [asker, helper], concurrency: 4 });
    const { id } = await host.client.start(asker, { text: '' }, { id: 'asker' });
    await host.client.signal(id, 'word', { text: WORD! }, { definitions: [asker] });
    const found = async (from: Host) =>
      (await from.ports.store.workflows({ limit: 10 })).map(({ workflow, definition, status, reason, result }) => ({
        name: definition === 'helper' ? 'child' : ['asker', 'fork'].includes(workflow) ? workflow : 'next',
        ...{ workflow, status, reason, isSaid: result?.includes(`true true ${CARRIED}`) === true },
      }));
    const stateOf = async (from: Host) =>
      Object.fromEntries(
        (await found(from)).map(({ name, status, reason, isSaid }) => [name, [status, reason, isSaid]]),
      );
    const done = ['completed', null, false];
    const whole = { child: done, asker: ['completed', 'continued', true], next: ['completed', null, true] };
    await expect.poll(() => stateOf(host), PATIENCE).toEqual(whole);
    const forked = { id: 'fork', at: 2, effects: 'replay', by: 'ana', definitions: [asker] } as const;
    await host.client.fork(id, forked);
    await expect.poll(() => stateOf(host), PATIENCE).toMatchObject({ fork: whole.asker });
    const rows = await found(host);
    for (const { workflow } of rows) expect(await blobCount(workflow)).toBeGreaterThan(0);

    for (const { name, workflow } of rows) {
      if (name === 'child' || name === 'asker') await host.tiers!.blobs!.removeAll(workflow);
    }
    await at.close(host);
    await rm(path.join(at.state, 'rows'), { recursive: true });
    const again = await open();
    await expect.poll(() => again.ports.store.ready(), PATIENCE).toBe(true);
    const lost = ['parked', 'blob-missing', false];
    expect(await stateOf(again)).toEqual({ ...whole, fork: whole.asker, child: lost, asker: lost });
  });
});
