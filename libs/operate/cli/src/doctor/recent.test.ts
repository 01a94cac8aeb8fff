/** What doctor advises from the newest workflows: each rule on a history that calls for it, and on one beside it that doesn't. */

import { BEAT_TTL_MS } from '@tidemark/runtime/names';
import { expect, it } from 'vitest';
import {
  adviceOn,
  BELIEF_GROWN_BYTES,
  CHECKPOINT_LARGE_BYTES,
  COMMIT_COST_MIN_MS,
  EFFECTS_JUDGED_MIN_COUNT,
  type RecentRun,
  STEPS_JUDGED_MIN_COUNT,
  TAKEOVER_SLOW_MS,
} from './recent.ts';

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

it('more than a fifth of the effects are irreversible', () => {
  const effects = (irreversible: number, others: number) =>
    run({
      moments: [
        ...Array.from({ length: irreversible }, (_, at) => intended(`${at}.0`, `i${at}`)),
        ...Array.from({ length: others }, (_, at) => intended(`${at}.1`, `o${at}`, 'idempotent')),
      ],
    });
  const all = EFFECTS_JUDGED_MIN_COUNT;
  expect(codes(effects(all / 5 + 1, all))).toEqual([['effects-irreversible', 'bank.wire']]);
  expect(adviceOn([effects(all, all)])[0]!.message).toMatch(/50 % .*\(10 of 20.* commit.* before each/);
  expect(codes(effects(all / 5, (all * 4) / 5))).toEqual([]);
  // A few say nothing.
  expect(codes(effects(2, all - 3))).toEqual([]);
});

it('takeovers that took 5 s and more', () => {
  const lost = (ms: number, control: Moment['control'], between: readonly Moment[] = []) =>
    run({ moments: [moment('LeaseRevoked', 1_000, control), ...between, moment('LeaseClaimed', 1_000 + ms, {})] });
  const taken = (ms: number, ...between: readonly Moment[]) =>
    lost(ms, { reason: 'holder-dead', isGone: true }, between);
  expect(codes(taken(TAKEOVER_SLOW_MS))).toEqual([['takeover-slow', undefined]]);
  expect(adviceOn([taken(7_000)])[0]!.message).toMatch(/7\.0 s .*\(w1\).*warm.*synchronous/);
  expect(codes(taken(TAKEOVER_SLOW_MS - 1))).toEqual([]);
  // One that only fell silent was lost before that was noticed; one that a person revoked was not lost.
  const silentMs = TAKEOVER_SLOW_MS - BEAT_TTL_MS;
  expect(codes(lost(silentMs, { reason: 'holder-dead', isGone: false }))).toEqual([['takeover-slow', undefined]]);
  expect(codes(lost(silentMs - 1, { reason: 'holder-dead', isGone: false }))).toEqual([]);
  expect(codes(lost(60_000, { reason: 'asked' }))).toEqual([]);
  // It was not runnable meanwhile.
  expect(codes(taken(60_000, moment('PauseRequested', 2_000, {}), moment('ResumeRequested', 60_000, {})))).toEqual([]);
});

it('a checkpoint over 1 MB', () => {
  const holding = (...sizes: readonly number[]) =>
    run({ checkpoints: sizes.map((size) => ({ step_definition_ref: 'read', output_state: 'x'.repeat(size) })) });
  expect(codes(holding(10, CHECKPOINT_LARGE_BYTES))).toEqual([['checkpoint-large', 'read']]);
  expect(adviceOn([holding(2_500_000)])[0]!.message).toMatch(/2\.5 MB \(w1\).*object store/);
  expect(codes(holding(CHECKPOINT_LARGE_BYTES - 1_000))).toEqual([]);
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
