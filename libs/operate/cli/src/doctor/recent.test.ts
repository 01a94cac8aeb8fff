/** What doctor advises from the newest workflows: each rule on a history that calls for it, and on one beside it that doesn't. */

import { expect, it } from 'vitest';
import { BELIEF_GROWN_BYTES, COMMIT_COST_MIN_MS, STEPS_JUDGED_MIN_COUNT } from '../limits.ts';
import { adviceOn, type RecentRun } from './recent.ts';

type Moment = RecentRun['moments'][number];

const moment = (type: string, atMs: number, control: Moment['control']): Moment => ({
  ...{ type, at: new Date(atMs).toISOString(), epoch: 1, control },
});
const run = (given: Partial<RecentRun>): RecentRun => ({
  ...{ workflow: 'w1', definition: 'pays', moments: [], checkpoints: [], ...given },
});
const codes = (...runs: readonly RecentRun[]) => adviceOn(runs).map(({ code, subject }) => [code, subject]);

const intended = (task: string, key: string, kind = 'irreversible') =>
  moment('EffectIntended', 1, { task, key, kind, operation: 'bank.wire' });
const committed = (task: string, step = 'pay') => moment('CheckpointCommitted', 2, { task, step });

it('more than one irreversible effect before a checkpoint', () => {
  const two = run({ moments: [intended('0.0', 'a'), intended('0.0', 'b'), committed('0.0')] });
  expect(codes(two)).toEqual([['effects-in-one-checkpoint', 'pay']]);
  expect(adviceOn([two, two])[0]!.message).toMatch(/Step pay made 2 irreversible effects .*\(w1\).*a step of its own/);
  // The controls: tried again, one a task, and such as may be repeated.
  expect(codes(run({ moments: [intended('0.0', 'a'), intended('0.0', 'a'), committed('0.0')] }))).toEqual([]);
  const each = [intended('0.0', 'a'), committed('0.0'), intended('1.0', 'b'), committed('1.0')];
  expect(codes(run({ moments: each }))).toEqual([]);
  const repeatable = [intended('0.0', 'a', 'idempotent'), intended('0.0', 'b', 'idempotent'), committed('0.0')];
  expect(codes(run({ moments: repeatable }))).toEqual([]);
});

/** One step after another: each takes so long, and then waits so long for its checkpoint. */
const inSequence = (count: number, stepMs: number, commitMs: number) =>
  run({
    moments: Array.from({ length: count + 1 }, (_, at) => {
      const startedAtMs = at * (stepMs + commitMs);
      return moment('CheckpointCommitted', startedAtMs + stepMs, { task: `${at}.0`, step: 'tick', startedAtMs });
    }),
  });

it('checkpoints that cost more than their steps', () => {
  const many = STEPS_JUDGED_MIN_COUNT;
  expect(codes(inSequence(many, 1, COMMIT_COST_MIN_MS))).toEqual([['checkpoint-dearer-than-step', 'tick']]);
  expect(adviceOn([inSequence(many, 2, 9)])[0]!.message).toMatch(/2 ms, .* 9 ms .*durability: 'staged'/);
  expect(codes(inSequence(many, 40, COMMIT_COST_MIN_MS))).toEqual([]);
  // Staged ones wait for none; and a few say nothing.
  expect(codes(inSequence(many, 1, 0))).toEqual([]);
  expect(codes(inSequence(many - 1, 1, COMMIT_COST_MIN_MS))).toEqual([]);
  // Signals, timers and effects in between are waited for, not the checkpoint.
  const between = inSequence(many, 1, 50).moments.flatMap((each) => [each, moment('SignalReceived', 0, {})]);
  expect(codes(run({ moments: between }))).toEqual([]);
});

it('a belief that only grows', () => {
  const growing = (...sizes: readonly number[]) =>
    run({ checkpoints: sizes.map((size) => ({ belief_change: { snapshot: 'x'.repeat(size) } })) });
  const [large, half] = [BELIEF_GROWN_BYTES, BELIEF_GROWN_BYTES / 4];
  expect(codes(growing(10, half, large))).toEqual([['belief-grows', undefined]]);
  expect(codes(growing(10, large, large / 2))).toEqual([]);
  expect(codes(growing(1, 2, 3))).toEqual([]);
  expect(codes(growing(large, large + 1, large + 2))).toEqual([]);
});

it('what looks like a secret, by its place and kind', () => {
  const token = `gh${'p_'}${'q7Zr2mX9wK4v'.repeat(3)}`;
  const stored = (text: string) =>
    run({ checkpoints: [{ step_definition_ref: 'log in', belief_change: { snapshot: { session: [text] } } }] });
  const [advice] = adviceOn([stored(token), stored(token)]);
  expect(advice).toMatchObject({ code: 'secret-stored', subject: 'log in' });
  expect(advice!.message).toContain('/belief/snapshot/session/0 (github-token) (w1)');
  expect(advice!.message).not.toContain(token);
  expect(codes(stored(crypto.randomUUID()), stored('[masked github-token]'), stored('V1StGXR8_Z5jdHi6B-myT'))).toEqual(
    [],
  );
});
