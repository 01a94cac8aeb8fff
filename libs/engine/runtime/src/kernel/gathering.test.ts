import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { describe, expect, it } from 'vitest';
import { Gathering } from './gathering.ts';

/** Takes batches of what arrives at a steady rate, for this long, and returns their times. */
async function takes(
  ratePerS: number,
  forMs: number,
): Promise<readonly { readonly atMs: number; readonly count: number }[]> {
  const clock = new SimulatedClock();
  const gathering = new Gathering(clock, { msPerEntry: 2, maxMs: 20 });
  const batches: { atMs: number; count: number }[] = [];
  const startMs = clock.monotonicMs();
  for (let taken = 0; clock.monotonicMs() - startMs < forMs; ) {
    // The earliest time at which the next one arrives.
    clock.jump(Math.max(0, startMs + ((taken + 1) * 1_000) / ratePerS - clock.monotonicMs()));
    const next = gathering.next();
    if (clock.sleeperCount > 0) await clock.runUntil(() => clock.sleeperCount === 0, 1_000);
    await next;
    const count = Math.floor(((clock.monotonicMs() - startMs) * ratePerS) / 1_000 + 1e-9) - taken;
    gathering.took(count);
    taken += count;
    batches.push({ atMs: clock.monotonicMs() - startMs, count });
  }
  return batches;
}

describe('gathering', () => {
  it('waits for nothing where little comes', async () => {
    const batches = await takes(100, 1_000);
    expect(batches.every(({ count }) => count === 1)).toBe(true);
    expect(batches.every(({ atMs }, at) => Math.abs(atMs - (at + 1) * 10) < 0.001)).toBe(true);
  });

  it('makes few large batches where much comes, none further apart than the longest wait', async () => {
    const batches = (await takes(2_000, 1_000)).slice(10);
    expect(batches.every(({ count }) => count === 40)).toBe(true);
    const gaps = batches.slice(1).map(({ atMs }, at) => atMs - batches[at]!.atMs);
    expect(gaps.every((ms) => Math.abs(ms - 20) < 0.001)).toBe(true);
  });
});
