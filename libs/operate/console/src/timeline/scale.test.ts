import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scaleOf } from './scale.ts';

describe('where moments stand', () => {
  it('is in proportion while somebody holds the workflow', () => {
    const { at } = scaleOf([{ fromMs: 0, toMs: 100 }], [0, 100], 500);
    expect([0, 25, 100, 200].map(at)).toEqual([0, 125, 500, 500]);
  });

  it('squeezes a wait of days, and keeps what was done readable', () => {
    const day = 86_400_000;
    const leases = [
      { fromMs: 0, toMs: 1_000 },
      { fromMs: day, toMs: day + 1_000 },
    ];
    const { at, stretches } = scaleOf(leases, [0, day + 1_000], 1_000);
    expect(stretches.map(({ isGap }) => isGap)).toEqual([false, true, false]);
    expect(at(1_000)).toBeGreaterThan(400);
    expect(at(day) - at(1_000)).toBeCloseTo(34);
  });

  it('S1: keeps the order of moments, within its width', () => {
    const spans = fc.array(fc.tuple(fc.nat(10_000), fc.nat(1_000)), { maxLength: 12 });
    fc.assert(
      fc.property(spans, fc.array(fc.nat(20_000)), fc.integer({ min: 1, max: 2_000 }), (given, times, width) => {
        let from = 0;
        const leases = given.map(([wait, long]) => {
          const lease = { fromMs: from + wait, toMs: from + wait + long };
          from = lease.toMs;
          return lease;
        });
        const { at } = scaleOf(leases, [0, Math.max(from, 20_000)], width);
        const places = times.toSorted((a, b) => a - b).map(at);
        for (const [index, place] of places.entries()) {
          expect(place).toBeGreaterThanOrEqual(0);
          expect(place).toBeLessThanOrEqual(width + 1e-6);
          if (index > 0) expect(place).toBeGreaterThanOrEqual(places[index - 1]! - 1e-6);
        }
      }),
    );
  });
});
