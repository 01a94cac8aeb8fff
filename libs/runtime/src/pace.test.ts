/** Bytes are moved no faster than allowed: what is expected over its time, what comes unexpected at the limit. */

import { beforeEach, describe, expect, it } from 'vitest';
import { Pace } from './pace.ts';
import { quiet, SimulatedClock } from './simulated-ports.ts';

const LIMIT_PER_S = 1_000_000;
/** Bytes of one step: a tenth of a second at the limit. */
const STEP_BYTES = LIMIT_PER_S / 10;

describe('a pace', () => {
  let clock: SimulatedClock;
  let pace: Pace;
  beforeEach(() => {
    clock = new SimulatedClock();
    clock.jump(60_000);
    pace = new Pace(clock, LIMIT_PER_S);
  });

  /** How long, in milliseconds, so many steps take. */
  const takes = async (steps: number): Promise<number> => {
    const beganMs = clock.monotonicMs();
    let isOver = false;
    const all = (async () => {
      for (let step = 0; step < steps; step++) await pace.spent(STEP_BYTES);
      isOver = true;
    })();
    while (!isOver) {
      await quiet();
      if (!isOver) await clock.run(50);
    }
    await all;
    return clock.monotonicMs() - beganMs;
  };

  it('keeps to its limit', async () => {
    expect(await takes(100)).toBeCloseTo(10_000, -3);
    expect(pace.spentBytes).toBe(100 * STEP_BYTES);
  });

  it('takes its time for what is expected, and goes at the limit with what comes beyond it', async () => {
    pace.spread(100 * STEP_BYTES, 40_000);
    expect(await takes(100)).toBeCloseTo(40_000, -3);
    expect(await takes(100)).toBeCloseTo(10_000, -3);
  });

  it('is never slower than an eighth of its limit, and never faster than that', async () => {
    pace.spread(0, 60_000);
    expect(await takes(10)).toBeCloseTo(8_000, -3);
    pace.spread(Number.POSITIVE_INFINITY, 60_000);
    expect(await takes(100)).toBeCloseTo(10_000, -3);
  });

  it('holds nobody up once it has ended', async () => {
    await takes(10);
    const waiting = pace.spent(100 * STEP_BYTES);
    pace.end();
    await waiting;
    await pace.spent(100 * STEP_BYTES);
    expect(clock.sleeperCount).toBe(0);
  });
});
