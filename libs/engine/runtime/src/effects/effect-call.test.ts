/** Whoever is asked has its time, and no more: the whole, between heartbeats, and until the caller gives up. */

import { quiet, SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { describe, expect, it } from 'vitest';
import { answerInTime } from './effect-call.ts';

const limits = { what: 'The call of pay', timeoutMs: 1_000 };
const hangs = (): Promise<never> => new Promise(() => {});

/** The error, or undefined while there is none. */
function watch(asked: Promise<unknown>): { error: unknown } {
  const seen: { error: unknown } = { error: undefined };
  asked.catch((error: unknown) => {
    seen.error = error;
  });
  return seen;
}

describe('an answer', () => {
  it('in time is the answer, and leaves no timer behind', async () => {
    const clock = new SimulatedClock();
    expect(await answerInTime(clock, new AbortController().signal, limits, async () => 7)).toBe(7);
    await quiet();
    expect(clock.sleeperCount).toBe(0);
  });

  it('that does not come in time is a time-out, and the asked one is told', async () => {
    const clock = new SimulatedClock();
    let reported: AbortSignal | undefined;
    const seen = watch(
      answerInTime(clock, new AbortController().signal, limits, ({ signal }) => {
        reported = signal;
        return hangs();
      }),
    );
    await clock.run(999);
    expect(seen.error).toBeUndefined();
    await clock.run(1);
    expect(seen.error).toMatchObject({ code: 'effect-timeout' });
    expect(reported?.aborted).toBe(true);
    expect(clock.sleeperCount).toBe(0);
  });

  it('is given up with the caller, whatever the asked one does', async () => {
    const clock = new SimulatedClock();
    const outer = new AbortController();
    const seen = watch(answerInTime(clock, outer.signal, limits, hangs));
    outer.abort(new Error('must go'));
    await quiet();
    expect(seen.error).toMatchObject({ message: 'must go' });
  });

  it('may take long while heartbeats come, and is given up when they stop', async () => {
    const clock = new SimulatedClock();
    let beat = (): void => {};
    const seen = watch(
      answerInTime(
        clock,
        new AbortController().signal,
        { ...limits, timeoutMs: 60_000, heartbeatTimeoutMs: 100 },
        (asked) => {
          beat = asked.heartbeat;
          return hangs();
        },
      ),
    );
    for (let turn = 0; turn < 10; turn++) {
      await clock.run(90);
      beat();
    }
    expect(seen.error).toBeUndefined();
    await clock.run(99);
    expect(seen.error).toBeUndefined();
    await clock.run(1);
    expect(seen.error).toMatchObject({ code: 'effect-silent' });
  });

  it('within its time needs no heartbeat where none is expected (the control)', async () => {
    const clock = new SimulatedClock();
    const seen = watch(answerInTime(clock, new AbortController().signal, limits, hangs));
    await clock.run(900);
    expect(seen.error).toBeUndefined();
  });
});
