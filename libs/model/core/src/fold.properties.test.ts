/**
 * Owns the fold's property tests: random histories of several workflows in one partition, against a second fold written
 * from the architecture alone, and against checkers of I2, I3 and I4; any batching and any restart point (I5). A failure
 * prints its seed and path; fast-check's `{ seed, path }` repeat it.
 */

import { isDeepStrictEqual } from 'node:util';
import { checkChain, checkEffects, checkFencing, checkPositions } from '@tidemark/testkit/naive/checkers';
import { DEFAULT_CONTROLS } from '@tidemark/testkit/naive/events';
import { NaivePartition } from '@tidemark/testkit/naive/fold';
import { type Act, type Choice, HISTORY_PARTITION, historyOf } from '@tidemark/testkit/naive/history';
import { TWISTS, type Twist } from '@tidemark/testkit/naive/twists';
import { naivePartitionView, partitionView, streamView } from '@tidemark/testkit/naive/view';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldEntries, foldEntry, foldStream } from './fold.ts';
import { offset, partition } from './ids.ts';
import { partitionFrom, streamFromJson, streamToJson, taskToJson } from './serialise.ts';
import { emptyPartition, type PartitionState } from './state.ts';
import type { Verdict } from './verdict.ts';

/** Properties take seconds when other work has the machine; a hang is still found. */
const RUNS = 120;
const RUNS_OF_SLOW = 60;
const HISTORY_MAX_EVENTS = 120;

const ACT_WEIGHTS: Record<Act, number> = {
  open: 3,
  claim: 10,
  release: 3,
  revoke: 5,
  reserve: 5,
  intend: 10,
  pend: 7,
  confirm: 6,
  resolve: 10,
  commit: 30,
  fail: 4,
  complete: 1,
  break: 1,
  park: 4,
  decide: 7,
  compensate: 2,
  finish: 3,
  pin: 3,
  raise: 3,
  cancel: 2,
  terminate: 1,
  pause: 2,
  resume: 2,
  answer: 5,
  'child-ends': 5,
  'raise-rules': 1,
  signal: 9,
  timer: 8,
  resend: 5,
  unknown: 1,
  malformed: 1,
  fence: 1,
};

const act = fc.oneof(
  ...Object.entries(ACT_WEIGHTS).map(([name, weight]) => ({ arbitrary: fc.constant(name as Act), weight })),
);
const twist: fc.Arbitrary<Twist> = fc.oneof(
  { arbitrary: fc.constant('none' as const), weight: 75 },
  { arbitrary: fc.constantFrom(...(Object.keys(TWISTS) as Twist[])), weight: 20 },
  { arbitrary: fc.constantFrom<Twist>('request', 'request', 'kind', 'reopened'), weight: 6 },
  { arbitrary: fc.constantFrom<Twist>('version', 'question', 'response'), weight: 4 },
);
const choice: fc.Arbitrary<Choice> = fc.record({ act, who: fc.nat(5), pick: fc.nat(100_000), twist });
const opening: Choice = { act: 'open', who: 0, pick: 1, twist: 'none' };
const history = fc
  .tuple(fc.array(choice, { maxLength: HISTORY_MAX_EVENTS, size: 'max' }), fc.constantFrom(0, 7))
  .map(([choices, start]) => ({ start, entries: historyOf([opening, ...choices], start) }));

const startAt = (start: number): PartitionState => emptyPartition(partition(HISTORY_PARTITION), offset(start));

const wordsOf = (verdict: Verdict): string =>
  verdict.kind === 'accepted'
    ? `accepted at ${verdict.position}`
    : verdict.kind === 'rejected'
      ? verdict.reason
      : 'unreadable';

/** Deep equality that is cheap when it holds, and says what differs when it doesn't. */
function same(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

/** Through the texts of rows and back, with the tasks in another order. */
const restarted = (state: PartitionState): PartitionState =>
  partitionFrom(
    state.partition,
    state.next,
    state.generation,
    [...state.streams.values()].map((stream) =>
      streamFromJson(streamToJson(stream), [...stream.frontier.tasks].map(taskToJson).reverse()),
    ),
  );

describe('the fold and the naive fold', () => {
  test('agree on every verdict and every state', () => {
    fc.assert(
      fc.property(history, ({ start, entries }) => {
        const naive = new NaivePartition(HISTORY_PARTITION, start);
        let state = startAt(start);
        for (const entry of entries) {
          const step = foldEntry(state, entry);
          state = step.state;
          same(wordsOf(step.verdict), naive.fold(entry));
          same(partitionView(state), naivePartitionView(naive));
        }
      }),
      { numRuns: RUNS },
    );
  });

  test('are compared on histories that reach every verdict, and that are mostly accepted', () => {
    const counts = new Map<string, number>();
    const acceptedTypes = new Map<string, number>();
    let acceptedCount = 0;
    let eventCount = 0;
    // The seed is fixed: this tests the generator, and that a wrong rule would be noticed.
    for (const { start, entries } of fc.sample(history, { numRuns: 400, seed: 1 })) {
      foldEntries(startAt(start), entries).verdicts.forEach((verdict, at) => {
        const entry = entries[at];
        if (verdict.kind === 'accepted' && entry?.kind === 'event') {
          const { type } = entry.envelope;
          acceptedTypes.set(type, (acceptedTypes.get(type) ?? 0) + 1);
        }
        const words = verdict.kind === 'accepted' ? 'accepted' : wordsOf(verdict);
        counts.set(words, (counts.get(words) ?? 0) + 1);
        if (verdict.kind === 'accepted') acceptedCount++;
        eventCount++;
      });
    }
    const rare = [...REASONS, 'accepted', 'unreadable'].filter((reason) => (counts.get(reason) ?? 0) < 20);
    expect({ rare, counts: Object.fromEntries(counts) }).toMatchObject({ rare: [] });
    const rareTypes = Object.keys(DEFAULT_CONTROLS).filter((type) => (acceptedTypes.get(type) ?? 0) < 20);
    expect({ rareTypes, counts: Object.fromEntries(acceptedTypes) }).toMatchObject({ rareTypes: [] });
    expect(acceptedCount / eventCount).toBeGreaterThan(0.5);
  });
});

const REASONS = [
  'stale-epoch',
  'wrong-holder',
  'duplicate',
  'ordinal-gap',
  'wrong-parent',
  'lamport-regression',
  'clock-regression',
  'closed',
  'parked',
  'wrong-generation',
  'malformed',
  'unknown-task',
  'not-intended',
  'request-changed',
  'not-asked',
  'stale-version',
];

describe('invariants', () => {
  test.each([
    ['I2: checkpoints form one chain', checkChain],
    ['I3: one holder an epoch, nothing older after a newer claim', checkFencing],
    ['I4: nothing outside is resolved without an open intention, nothing done is touched again', checkEffects],
    ['positions have no gaps and end with the workflow', checkPositions],
  ])('%s', (_, check) => {
    fc.assert(
      fc.property(history, ({ start, entries }) => {
        expect(check(entries, foldEntries(startAt(start), entries).verdicts)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  test('I5: any batching gives the same verdicts and state', () => {
    fc.assert(
      fc.property(history, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), ({ start, entries }, sizes) => {
        const whole = foldEntries(startAt(start), entries);
        let state = startAt(start);
        const verdicts: Verdict[] = [];
        for (let at = 0, turn = 0; at < entries.length; turn++) {
          const size = sizes[turn % sizes.length]!;
          const batch = foldEntries(state, entries.slice(at, at + size));
          state = batch.state;
          verdicts.push(...batch.verdicts);
          at += size;
        }
        same(verdicts, whole.verdicts);
        same(partitionView(state), partitionView(whole.state));
      }),
      { numRuns: RUNS },
    );
  });

  test('I5: a fold that goes on from rows, at any point, gives what the uninterrupted one gives', () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 12 }), ({ start, entries }, every) => {
        let state = startAt(start);
        let resumed = startAt(start);
        entries.forEach((entry, at) => {
          if (at % every === 0) resumed = restarted(resumed);
          const step = foldEntry(state, entry);
          const resumedStep = foldEntry(resumed, entry);
          same(resumedStep.verdict, step.verdict);
          state = step.state;
          resumed = resumedStep.state;
        });
        same(partitionView(resumed), partitionView(state));
        // Rows of equal states are equal texts too, so a projector may compare them.
        same(partitionView(restarted(state)), partitionView(state));
      }),
      { numRuns: RUNS },
    );
  });

  test('a state is a value: folding on never changes it', () => {
    fc.assert(
      fc.property(history, ({ start, entries }) => {
        const kept: { readonly state: PartitionState; readonly text: string }[] = [];
        let state = startAt(start);
        entries.forEach((entry, at) => {
          if (at % 10 === 0) kept.push({ state, text: JSON.stringify(partitionView(state)) });
          state = foldEntries(state, [deepFrozen(entry)]).state;
        });
        for (const { state: earlier, text } of kept) same(JSON.stringify(partitionView(earlier)), text);
      }),
      { numRuns: RUNS_OF_SLOW },
    );
  });

  test('a holder that folds its own stream alone reaches the state that the partition has', () => {
    fc.assert(
      fc.property(history, ({ start, entries }) => {
        let state = startAt(start);
        for (const entry of entries) {
          const before = state;
          const step = foldEntry(state, entry);
          state = step.state;
          if (entry.kind !== 'event' || entry.envelope.type === 'WorkflowOpened') continue;
          const { workflow } = entry.envelope;
          const stream = before.streams.get(workflow);
          if (stream === undefined) continue;
          const alone = foldStream(stream, entry.envelope);
          same(alone.verdict, step.verdict);
          // When the partition closes a stream it adds the one field that a stream can't know.
          const { closedInGeneration: _, ...expected } = streamView(state.streams.get(workflow)!);
          const { closedInGeneration: __, ...actual } = streamView(alone.stream);
          same(actual, expected);
        }
      }),
      { numRuns: RUNS_OF_SLOW },
    );
  });
});

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFrozen(member);
  return Object.freeze(value);
}
