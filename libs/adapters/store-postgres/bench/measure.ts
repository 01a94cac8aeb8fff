/**
 * Owns the measurement of a projection store by itself: batches as the projector makes them, claims, placements. It is not part of the
 * library. Run: `node libs/adapters/store-postgres/bench/measure.ts postgres://…` or `… pglite:FOLDER` or `… pglite:` (memory). The
 * database should be empty. Prints one line per figure.
 */

import {
  type CheckpointId,
  type Epoch,
  type EventId,
  type Generation,
  type HolderId,
  type Lamport,
  type Offset,
  type Partition,
  type Position,
  type Sequence,
  type TenantId,
  taskId,
  taskRank,
  type WorkflowId,
} from '@tidemark/core';
import type { CheckpointRow, ProjectionBatch, RecordPlace, RowStore, StreamRow, TaskRow } from '@tidemark/ports';
import { openPgliteStore } from '../src/pglite-store.ts';
import { openPostgresStore } from '../src/postgres-store.ts';

const PAYLOAD_BYTES = 1024;
const WORKFLOWS = 1000;
const OPENING_EVENTS = 2;

const workflowAt = (index: number): WorkflowId => `bench-${String(index).padStart(6, '0')}` as WorkflowId;
const holder = 'worker-0190b7a2-1111-7222-8333-0123456789ab' as HolderId;
const payload = JSON.stringify({ output: { text: 'lorem ipsum "dolor" sit amet, '.repeat(40) } }).slice(
  0,
  PAYLOAD_BYTES,
);
const state = JSON.stringify({
  stateVersion: 1,
  note: 'a folded stream without its tasks, about so long. '.repeat(14),
});
const taskState = JSON.stringify({ id: '12.0', step: 'analyse', after: [], when: [], note: 'x'.repeat(150) });
const digest = 'a'.repeat(64);

function stream(index: number, sequence: number, position: number): StreamRow {
  return {
    workflow: workflowAt(index),
    tenant: 'bench' as TenantId,
    partition: index as Partition,
    generation: 1 as Generation,
    definition: 'bench',
    version: 1,
    pinned: false,
    status: 'open',
    reason: null,
    position: position as Position,
    sequence: sequence as Sequence,
    checkpoint: sequence === 0 ? null : (`0190b7a2-0000-7000-8000-${sequence}` as CheckpointId),
    beliefSequence: Math.max(0, sequence - (sequence % 10)) as Sequence,
    epoch: 1 as Epoch,
    holder,
    lamport: position as Lamport,
    openedAtMs: 1_732_000_000_000,
    updatedAtMs: 1_732_000_000_000 + position,
    tokens: 12 * sequence,
    costMicros: 0.5 * sequence,
    lastAction: 'analysed a file',
    runnable: false,
    pendingCount: 1,
    closedInGeneration: null,
    state,
  };
}

const task = (index: number, sequence: number): TaskRow => ({
  workflow: workflowAt(index),
  task: taskId(sequence, 0),
  rank: taskRank(taskId(sequence, 0)),
  step: 'analyse',
  unblocked: true,
  cause: null,
  state: taskState,
});

const checkpoint = (index: number, sequence: number): CheckpointRow<RecordPlace> => ({
  workflow: workflowAt(index),
  sequence: sequence as Sequence,
  checkpoint: `0190b7a2-0000-7000-8000-${sequence}` as CheckpointId,
  parent: sequence < 2 ? null : (`0190b7a2-0000-7000-8000-${sequence - 1}` as CheckpointId),
  task: taskId(Math.max(sequence - 1, 0), 0),
  step: 'analyse',
  stepVersion: 1,
  inputDigest: digest,
  belief: sequence % 10 === 0 ? 'snapshot' : 'delta',
  tokens: 12,
  costMicros: 0.5,
  lastAction: 'analysed a file',
  supersedes: null,
  epoch: 1 as Epoch,
  holder,
  position: (sequence + OPENING_EVENTS) as Position,
  offset: (sequence + OPENING_EVENTS) as Offset,
  lamport: (sequence + OPENING_EVENTS) as Lamport,
  atMs: 1_732_000_000_000,
  payload: { partition: index as Partition, offset: sequence as Offset, bytes: 1_000 },
});

const empty: ProjectionBatch = {
  partitions: [],
  opened: [],
  streams: [],
  closed: [],
  tasksPut: [],
  tasksGone: [],
  checkpoints: [],
  effects: [],
  events: [],
  timersPut: [],
  timersGone: [],
  rejected: [],
};

/** The opening and claim of workflows `[0, count)`. */
function openings(count: number): ProjectionBatch {
  const all = Array.from({ length: count }, (_, index) => index);
  return {
    ...empty,
    partitions: all.map((index) => advance(index, 0, OPENING_EVENTS)),
    opened: all.map((index) => ({
      workflow: workflowAt(index),
      tenant: 'bench' as TenantId,
      partition: index as Partition,
      generation: 1 as Generation,
      session: null,
      event: 'opened' as EventId,
    })),
    streams: all.map((index) => stream(index, 0, OPENING_EVENTS)),
    tasksPut: all.map((index) => task(index, 0)),
    checkpoints: all.map((index) => checkpoint(index, 0)),
  };
}

const advance = (index: number, from: number, to: number) => ({
  partition: index as Partition,
  from: from as Offset,
  to: to as Offset,
  generation: 1 as Generation,
});

/** Yields `steps` steps of each of the given workflows after their sequence `from`; each finishes a task and adds one. */
function progress(indexes: readonly number[], from: number, steps: number): ProjectionBatch {
  const to = from + steps;
  return {
    ...empty,
    partitions: indexes.map((index) => advance(index, from + OPENING_EVENTS, to + OPENING_EVENTS)),
    streams: indexes.map((index) => stream(index, to, to + OPENING_EVENTS)),
    tasksPut: indexes.map((index) => task(index, to)),
    tasksGone: indexes.map((index) => ({ workflow: workflowAt(index), task: taskId(from, 0) })),
    checkpoints: indexes.flatMap((index) => Array.from({ length: steps }, (_, n) => checkpoint(index, from + n + 1))),
  };
}

const say = (name: string, value: number, unit: string): void => {
  process.stdout.write(`${name.padEnd(60)} ${value >= 100 ? Math.round(value) : value.toFixed(2)} ${unit}\n`);
};

async function timed(work: () => Promise<unknown>): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** How far each workflow is. */
const sequences = new Array<number>(WORKFLOWS).fill(0);

async function measureApply(store: RowStore): Promise<void> {
  const round = async (size: number, steps: number, start: number): Promise<number> => {
    const indexes = Array.from({ length: size }, (_, n) => (start + n) % WORKFLOWS);
    const from = sequences[indexes[0]!]!;
    const batch = progress(indexes, from, steps);
    const spent = await timed(() => store.apply(batch));
    for (const index of indexes) sequences[index] = from + steps;
    return spent;
  };
  for (const [size, steps, rounds] of [
    [1000, 1, 40],
    [1000, 4, 20],
    [250, 1, 80],
    [1000, 1, 40],
  ] as const) {
    const spent: number[] = [];
    for (let n = 0; n < rounds; n += 1) spent.push(await round(size, steps, (n * size) % WORKFLOWS));
    const total = spent.reduce((sum, ms) => sum + ms, 0);
    const name = `apply ${size} streams with ${steps} checkpoint${steps === 1 ? '' : 's'} each`;
    say(name, (rounds * size * steps * 1000) / total, 'checkpoints/s');
    say(`${name}: a batch`, median(spent), 'ms (median)');
    // On a busy machine the fastest batch shows what it costs by itself.
    say(`${name}: fastest batch`, (size * steps * 1000) / Math.min(...spent), 'checkpoints/s');
  }
  const single: number[] = [];
  for (let n = 0; n < 300; n += 1) single.push(await round(1, 1, 7));
  say('apply one stream with one checkpoint', median(single), 'ms (median)');
  say('apply one stream with one checkpoint: fastest', Math.min(...single), 'ms');
}

async function measureClaims(store: RowStore): Promise<void> {
  for (const count of [1, 100, 1000]) {
    const spent: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      const workflows = Array.from({ length: count }, (_, index) => workflowAt((index + n * 17) % WORKFLOWS));
      spent.push(await timed(() => store.loadStreams(workflows)));
    }
    say(`loadStreams of ${count}`, median(spent), 'ms (median)');
    say(`loadStreams of ${count}: fastest`, Math.min(...spent), 'ms');
  }
  const partitions = Array.from({ length: WORKFLOWS }, (_, index) => index as Partition);
  say('loadPartitions of 1000', await timed(() => store.loadPartitions(partitions)), 'ms');
}

async function measurePlacing(store: RowStore): Promise<void> {
  for (const count of [1, 100, 1000]) {
    const requests = Array.from({ length: count }, (_, n) => ({
      workflow: `placed-${count}-${n}` as WorkflowId,
      tenant: 'bench' as TenantId,
      mode: 'exclusive' as const,
      session: null,
      opening: payload,
    }));
    say(`place ${count} new`, await timed(() => store.place(requests)), 'ms');
    say(`place ${count} known`, await timed(() => store.place(requests)), 'ms');
  }
}

/** Longest time that this thread is blocked while batches are applied. */
async function measureBlocking(store: RowStore): Promise<void> {
  const indexes = Array.from({ length: 500 }, (_, n) => n + 400);
  let from = sequences[indexes[0]!]!;
  const gaps: number[] = [];
  let running = true;
  const watch = (last: number): void => {
    const now = performance.now();
    gaps.push(now - last);
    if (running) setImmediate(watch, now);
  };
  setImmediate(watch, performance.now());
  for (let n = 0; n < 20; n += 1) {
    await store.apply(progress(indexes, from, 1));
    from += 1;
  }
  running = false;
  say(
    'longest block of this thread by a batch of 500',
    gaps.reduce((most, gap) => Math.max(most, gap), 0),
    'ms',
  );
}

async function main(where: string): Promise<void> {
  const folder = where.startsWith('pglite:') ? where.slice('pglite:'.length) : undefined;
  const store =
    folder === undefined
      ? openPostgresStore({ url: where })
      : openPgliteStore(folder === '' ? { memory: true } : { folder });
  say('ensure', await timed(() => store.ensure()), 'ms');
  const partitions = Array.from({ length: 4096 }, (_, index) => index);
  const added = partitions.map((partition) => ({
    partition: partition as Partition,
    start: 0 as Offset,
    rebuildTo: 0 as Offset,
  }));
  say('addPartitions of 4096', await timed(() => store.addPartitions(added)), 'ms');
  say('apply 1000 openings', await timed(() => store.apply(openings(WORKFLOWS))), 'ms');
  await measureApply(store);
  await measureBlocking(store);
  await measureClaims(store);
  await measurePlacing(store);
  say('positions of 4096', await timed(() => store.positions()), 'ms');
  say('counts', await timed(() => store.counts()), 'ms');
  say('resident memory of this process', process.memoryUsage().rss / 2 ** 20, 'MB');
  say('close', await timed(() => store.close()), 'ms');
}

await main(process.argv[2] ?? 'pglite:');
