/**
 * The projection: the same log gives the same rows in any batching, from empty or resumed from rows (I5). Rejected records are kept aside.
 * A timer exists exactly as long as a task waits for it. What a rebuild omits because segments have it is exactly what would be dropped.
 */

import { payloadText } from '@tidemark/codec';
import {
  emptyPartition,
  foldEntry,
  isClosed,
  type LogEntry,
  type Offset,
  type Partition,
  partitionFrom,
  streamFromJson,
  type TaskState,
  type WorkflowId,
} from '@tidemark/core';
import type { SegmentRow } from '@tidemark/ports';
import { SimulatedStore } from '@tidemark/testkit/engine/simulated-store';
import { declared, entryOf, holderEvent, inboxEvent, signalNamed, timerNamed } from '@tidemark/testkit/naive/events';
import { ACTS, type Choice, HISTORY_PARTITION, historyOf } from '@tidemark/testkit/naive/history';
import { TWISTS, type Twist } from '@tidemark/testkit/naive/twists';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OmittedHistory } from './omitted-history.ts';
import { ProjectionBuilder } from './projection.ts';

/** Properties take seconds when other work has the machine; a hang is still found. */
const HERE = HISTORY_PARTITION as Partition;

/**
 * Projects the entries, cut into batches before these places; each batch continues from the rows where `resumes` says so. The batches that
 * `leavesOut` names omit what `segment` has as a whole.
 */
async function project(
  entries: readonly LogEntry[],
  cuts: readonly number[] = [],
  resumes: (batch: number) => boolean = () => false,
  segment?: SegmentRow,
  leavesOut: (batch: number) => boolean = () => true,
): Promise<SimulatedStore> {
  const store = new SimulatedStore(HERE + 1);
  if (segment !== undefined) await store.recordSegments([segment]);
  let omitted: OmittedHistory | undefined;
  const places = [...new Set([0, ...cuts.map((cut) => cut % (entries.length + 1)), entries.length])].sort(
    (a, b) => a - b,
  );
  let state = emptyPartition(HERE, 0 as Offset);
  for (let at = 1; at < places.length; at++) {
    // A process continues as it began.
    if (resumes(at) || at === 1) {
      omitted = segment && leavesOut(at) ? new OmittedHistory(store, () => segment.to) : undefined;
      const [folded] = await store.loadPartitions([HERE]);
      const streams = folded!.streams.map((stream) => streamFromJson(stream.state, stream.tasks));
      state = partitionFrom(HERE, folded!.next, folded!.generation, streams);
    }
    if (at === 1 || resumes(at)) await omitted?.loaded([state]);
    const builder = new ProjectionBuilder();
    const stretch = { before: state, entries: entries.slice(places[at - 1], places[at]) };
    const [left] = (await omitted?.of([stretch])) ?? [];
    state = builder.fold(state, stretch.entries, left);
    if (left !== undefined) omitted?.folded(state, left);
    await store.apply(builder.batch());
  }
  return store;
}

/** Everything in the rows, in one order. */
function dump(store: SimulatedStore) {
  const sorted = <T>(rows: Iterable<T>): T[] =>
    [...rows].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return {
    partitions: [...store.partitions],
    placements: sorted(store.placements.values()),
    rejected: store.rejectedRows,
    workflows: sorted(store.rows.values()).map((rows) => ({
      stream: rows.stream,
      result: rows.result,
      tasks: sorted(rows.tasks.values()),
      checkpoints: rows.checkpoints,
      effects: sorted(rows.effects.values()),
      events: rows.events,
      timers: sorted(rows.timers.values()),
    })),
  };
}

/** A segment of the first of the entries, and the workflows of which it leaves no rows. */
function segmentOf(entries: readonly LogEntry[], count: number): { segment: SegmentRow; ended: readonly WorkflowId[] } {
  const ended = new Set<WorkflowId>();
  let state = emptyPartition(HERE, 0 as Offset);
  for (const entry of entries.slice(0, count)) {
    state = foldEntry(state, entry).state;
    for (const [workflow, stream] of state.streams) if (isClosed(stream)) ended.add(workflow);
  }
  const of = { partition: HERE, from: 0 as Offset, to: count as Offset, object: 'o', digest: 'd'.repeat(64) };
  const sizes = { bytes: 1, rawBytes: 1, eventCount: count, firstAtMs: 0, lastAtMs: 0, writtenAtMs: 0 };
  const part = { tenant: 't' as SegmentRow['workflows'][number]['tenant'], eventCount: 1, rawBytes: 1, opens: true };
  const workflows = [...ended].map((workflow) => ({ ...part, workflow, closes: true }));
  return { segment: { ...of, ...sizes, tier: 'warm', rowsDropped: false, workflows }, ended: [...ended] };
}

/** An id is opened once: placement guarantees it, and after a loss of rows the fence. Rows assume it. */
function opensAgain(entries: readonly LogEntry[]): boolean {
  const seen = new Set<string>();
  let state = emptyPartition(HERE, 0 as Offset);
  for (const entry of entries) {
    const step = foldEntry(state, entry);
    state = step.state;
    if (step.verdict.kind !== 'accepted' || entry.kind !== 'event' || entry.envelope.type !== 'WorkflowOpened')
      continue;
    if (seen.has(entry.envelope.workflow)) return true;
    seen.add(entry.envelope.workflow);
  }
  return false;
}

const choices: fc.Arbitrary<Choice[]> = fc.array(
  fc.record({
    act: fc.constantFrom(...ACTS),
    who: fc.nat(7),
    pick: fc.nat(1_000_000),
    twist: fc.oneof(
      { weight: 6, arbitrary: fc.constant('none' as Twist) },
      { weight: 1, arbitrary: fc.constantFrom(...(Object.keys(TWISTS) as Twist[])) },
    ),
  }),
  { maxLength: 120, size: 'max' },
);

describe('any history', () => {
  it('gives the same rows in any batching, whichever batches go on from rows', async () => {
    await fc.assert(
      fc.asyncProperty(
        choices,
        fc.array(fc.nat(1_000), { maxLength: 20, size: 'max' }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
        async (made, cuts, resumed) => {
          const entries = historyOf(made);
          fc.pre(!opensAgain(entries));
          const whole = dump(await project(entries));
          const pieces = dump(await project(entries, cuts, (batch) => resumed[batch % resumed.length]!));
          expect(pieces).toEqual(whole);
          const single = dump(await project(entries, [...entries.keys()], () => true));
          expect(single).toEqual(whole);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('leaves the same rows of segments, whether history is left out or taken away, and whoever goes on with it', async () => {
    let omittedCount = 0;
    await fc.assert(
      fc.asyncProperty(
        choices,
        fc.nat(1_000),
        fc.array(fc.nat(1_000), { maxLength: 20, size: 'max' }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
        fc.nat(20),
        async (made, share, cuts, resumed, begun) => {
          const entries = historyOf(made);
          fc.pre(!opensAgain(entries));
          const { segment, ended } = segmentOf(entries, share % (entries.length + 1));
          const resumes = (batch: number): boolean => resumed[batch % resumed.length]!;
          const taken = await project(entries);
          const left = await project(entries, cuts, resumes, segment);
          // Earlier entries were folded while the log still had all of them.
          const mixed = await project(entries, cuts, resumes, segment, (batch) => batch > begun);
          for (const store of [left, mixed]) {
            // Nothing that is omitted exists before it would be dropped.
            const rows = [...store.rows.values()].filter(({ hasRows }) => !hasRows);
            expect(rows.flatMap(({ checkpoints, events, effects }) => [...checkpoints, ...events, ...effects])).toEqual(
              [],
            );
            omittedCount += rows.length;
          }
          expect(
            [...left.rows.values()].flatMap(({ stream, hasRows }) => (hasRows ? [] : [stream.workflow])).sort(),
          ).toEqual([...ended].filter((workflow) => left.rows.has(workflow)).sort());
          for (const store of [taken, left, mixed]) await store.dropRows(segment, ended);
          const whole = [dump(taken), await taken.withoutRows(ended)];
          expect([dump(left), await left.withoutRows(ended)]).toEqual(whole);
          expect([dump(mixed), await mixed.withoutRows(ended)]).toEqual(whole);
        },
      ),
      { numRuns: 150 },
    );
    expect(omittedCount).toBeGreaterThan(0);
  });

  it('leaves a timer for each task that waits for one, and for the workflow that is timed, and no other', async () => {
    await fc.assert(
      fc.asyncProperty(choices, fc.array(fc.nat(1_000), { maxLength: 20, size: 'max' }), async (made, cuts) => {
        const store = await project(historyOf(made), cuts);
        for (const { stream, tasks, timers } of store.rows.values()) {
          const waited = [...tasks.values()].flatMap((row) => {
            const { when, retry, effects } = JSON.parse(row.state) as TaskState;
            const awaited = effects.flatMap(({ pending }) => [pending?.probe, pending?.deadline]);
            return [...when, retry, ...awaited].flatMap((one) => (one != null && 'timer' in one ? one.timer : []));
          });
          const { deadline } = streamFromJson(stream.state, []);
          if (deadline !== undefined && !isClosed(stream as never)) waited.push(deadline.timer);
          expect([stream.workflow, [...timers.keys()].sort()]).toEqual([stream.workflow, [...new Set(waited)].sort()]);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('has of each effect of a pending task what its journal says, and the request that it was called with', async () => {
    let comparedCount = 0;
    await fc.assert(
      fc.asyncProperty(choices, fc.array(fc.nat(1_000), { maxLength: 20, size: 'max' }), async (made, cuts) => {
        const entries = historyOf(made);
        const store = await project(entries, cuts);
        for (const { tasks, effects } of store.rows.values()) {
          const pending = [...tasks.values()].map(({ state }) => JSON.parse(state) as TaskState);
          const keys = pending.flatMap((task) => task.effects.map(({ key }) => key));
          for (const task of pending) {
            for (const { key, kind, status, requestDigest, responseDigest, timeoutMs } of task.effects) {
              // A key names its task, so no holder gives one key to two tasks; where a history does, rows have the last.
              if (keys.filter((other) => other === key).length > 1) continue;
              const row = [...effects.values()].find((one) => one.key === key && one.task === task.id);
              expect(row).toMatchObject({ key, kind, status, requestDigest, responseDigest });
              // Only an effect that was never intended has no time-out and no request.
              const intention = row?.request == null ? undefined : entries[row.request.offset];
              const type = intention?.kind === 'event' ? intention.envelope.type : undefined;
              expect(type).toBe(timeoutMs === 0 ? undefined : 'EffectIntended');
              comparedCount++;
            }
          }
        }
      }),
      { numRuns: 100 },
    );
    expect(comparedCount).toBeGreaterThan(50);
  });
});

describe('one batch', () => {
  const opened = (workflow: string, generation: number, tasks = [declared('a')]): LogEntry =>
    entryOf(inboxEvent('WorkflowOpened', { partition: HERE, tasks }, { workflow, generation, id: `open:${workflow}` }));
  const token = (ordinal: number) => ({ epoch: 1, holder: 'h1', ordinal });
  const claimed = (of: object) => entryOf(holderEvent('LeaseClaimed', token(1), {}, of));

  it('with a workflow that closes and the next that opens in its place has rows of both', async () => {
    const first = { workflow: 'w1', generation: 1 };
    const second = { workflow: 'w2', generation: 2 };
    const store = await project([
      opened('w1', 1),
      claimed(first),
      {
        ...entryOf(holderEvent('WorkflowCompleted', token(2), {}, first)),
        payload: Buffer.from('{"output":1}'),
      } as LogEntry,
      opened('w2', 2),
      // Late: its workflow has left the partition.
      entryOf(holderEvent('CheckpointCommitted', token(3), {}, first)),
      claimed(second),
    ]);
    expect(store.rows.get('w1' as WorkflowId)).toMatchObject({
      stream: { status: 'completed', closedInGeneration: 1, runnable: false, pendingCount: 0 },
      result: '{"output":1}',
    });
    expect(store.rows.get('w1' as WorkflowId)!.tasks.size).toBe(0);
    expect(store.rows.get('w2' as WorkflowId)!.stream).toMatchObject({ status: 'open', holder: 'h1', generation: 2 });
    expect(store.rows.get('w2' as WorkflowId)!.tasks.size).toBe(1);
    expect(store.partitions.get(HERE)).toMatchObject({ next: 6, generation: 2 });
    expect(store.rejectedRows).toMatchObject([{ offset: 4, type: 'CheckpointCommitted', reason: 'wrong-generation' }]);
  });

  it('leaves no trace of what came and went within it', async () => {
    const of = { workflow: 'w1', generation: 1 };
    const store = await project([
      opened('w1', 1),
      claimed(of),
      entryOf(holderEvent('StepFailed', token(2), { retry: { timer: 'r', anchorMs: 1, delayMs: 2 } }, of)),
      entryOf(inboxEvent('TimerFired', { timer: 'r' }, of)),
      entryOf(holderEvent('CheckpointCommitted', token(3), { task: '0.0', tasks: [declared('b')] }, of)),
    ]);
    const rows = store.rows.get('w1' as WorkflowId)!;
    expect([...rows.tasks.keys()]).toEqual(['1.0']);
    expect(rows.timers.size).toBe(0);
    expect(rows.events.map((event) => event.type)).toEqual(['StepFailed', 'TimerFired']);
  });

  it('keeps apart the effects of workflows whose keys are spelt alike', async () => {
    const builder = new ProjectionBuilder();
    const key = 'w:0.0:run.a:0.0:b:0';
    for (const [at, workflow] of ['w', 'w:0.0:run.a'].entries()) {
      const of = { workflow, generation: 1 };
      builder.fold(emptyPartition(at as Partition, 0 as Offset), [
        entryOf(inboxEvent('WorkflowOpened', { partition: at, tasks: [declared('a')] }, { ...of, id: 'o' })),
        claimed(of),
        entryOf(holderEvent('EffectResolved', token(2), { key, kind: 'pure' }, of)),
      ]);
    }
    expect(builder.batch().effects.map((effect) => effect.workflow)).toEqual(['w', 'w:0.0:run.a']);
  });

  it.each([
    ['a signal that came first', 'SignalReceived'],
    ['the timer', 'TimerFired'],
  ] as const)('ends the wait for a timer by %s', async (_, type) => {
    const of = { workflow: 'w1', generation: 1 };
    const either = declared('a', [], [signalNamed('go'), timerNamed('late')] as never);
    const entries = [opened('w1', 1, [either]), entryOf(inboxEvent(type, { name: 'go', timer: 'late' } as never, of))];
    for (const cuts of [[], [1]]) {
      expect((await project(entries, cuts)).rows.get('w1' as WorkflowId)!.timers.size).toBe(0);
    }
    expect((await project(entries.slice(0, 1))).rows.get('w1' as WorkflowId)!.timers.size).toBe(1);
  });

  it('keeps what was rejected, with what it was and never its payload', async () => {
    const secret = Buffer.from('"secret"');
    const of = { workflow: 'w1', generation: 1 };
    const store = await project([
      opened('w1', 1),
      { kind: 'malformed', problem: `no header line ${'x'.repeat(5_000)}` },
      { kind: 'unknown', workflow: 'nobody' as WorkflowId, generation: 1 as never, type: 'Novel', v: 2 },
      { ...entryOf(holderEvent('CheckpointCommitted', token(1), {}, of)), payload: secret } as LogEntry,
      { ...entryOf(inboxEvent('SignalReceived', {}, { workflow: 'nobody' })), payload: secret } as LogEntry,
    ]);
    expect(store.rejectedRows).toMatchObject([
      { partition: HERE, offset: 1, workflow: null, type: null, reason: 'malformed' },
      { offset: 2, workflow: 'nobody', type: 'Novel', reason: 'wrong-generation' },
      { offset: 3, workflow: 'w1', type: 'CheckpointCommitted', reason: 'wrong-holder' },
      { offset: 4, workflow: 'nobody', type: 'SignalReceived', reason: 'wrong-generation' },
    ]);
    for (const { evidence } of store.rejectedRows) {
      expect(evidence.length).toBeLessThanOrEqual(2_000);
      expect(evidence).not.toContain('secret');
    }
    expect(payloadText(secret)).toBe('"secret"');
  });

  it('stops a stream at what it cannot read, and goes on with the others of the partition', async () => {
    const store = await project([
      opened('w1', 1),
      opened('w2', 2),
      { kind: 'unknown', workflow: 'w1' as WorkflowId, generation: 1 as never, type: 'Novel', v: 2 },
      entryOf(inboxEvent('SignalReceived', {}, { workflow: 'w1', generation: 1 })),
      entryOf(inboxEvent('SignalReceived', {}, { workflow: 'w2', generation: 2 })),
    ]);
    expect(store.rows.get('w1' as WorkflowId)!.stream).toMatchObject({ runnable: false, position: 1 });
    expect(store.rows.get('w2' as WorkflowId)!.stream).toMatchObject({ runnable: true, position: 2 });
  });
});
