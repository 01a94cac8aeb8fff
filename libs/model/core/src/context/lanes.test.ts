/** Owns the tests of dividing a budget: the numbered statements of lanes.ts, over random lanes. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dealOut, type LaneUnits } from './lanes.ts';

interface LaneModel {
  readonly share: number;
  readonly costs: readonly number[];
}

const unitsOf = ({ share, costs }: LaneModel): LaneUnits => ({
  share,
  count: costs.length,
  measure: (index) => costs[index]!,
});
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const lanes = fc
  .array(
    fc.record({
      weight: fc.nat(10),
      costs: fc.array(fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 60 }) }, fc.nat(900)), {
        maxLength: 30,
      }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((drawn): LaneModel[] => {
    const weights = sum(drawn.map(({ weight }) => weight)) || 1;
    return drawn.map(({ weight, costs }) => ({ share: weight / weights, costs }));
  });
const room = fc.integer({ min: 0, max: 1_200 });

/** Indices of the units that fit into the room at all. */
const fitting = ({ costs }: LaneModel, limit: number): number[] =>
  costs.flatMap((cost, index) => (cost <= limit ? [index] : []));

describe('dealing out a room among lanes', () => {
  test('statements 1 to 5 hold for any lanes', () => {
    fc.assert(
      fc.property(lanes, room, (models, limit) => {
        const dealt = dealOut(models.map(unitsOf), limit);
        const used = sum(dealt.map(({ tokens }) => tokens));
        expect(used).toBeLessThanOrEqual(limit);
        models.forEach((model, at) => {
          const { kept, tokens } = dealt[at]!;
          const able = fitting(model, limit);
          expect(tokens).toBe(sum(kept.map((index) => model.costs[index]!)));
          expect(kept).toEqual(able.slice(0, kept.length));
          const next = able[kept.length];
          if (next === undefined) return;
          const cost = model.costs[next]!;
          expect(used + cost).toBeGreaterThan(limit);
          expect(tokens + cost).toBeGreaterThan(Math.floor(model.share * limit));
          const earlier = models.slice(0, at).map((other) => {
            const all = sum(fitting(other, limit).map((index) => other.costs[index]!));
            return Math.min(all, Math.floor(other.share * limit));
          });
          const later = dealt.slice(at + 1).map((other) => other.tokens);
          expect(tokens + cost + sum(earlier) + sum(later)).toBeGreaterThan(limit);
        });
      }),
      { numRuns: 2_000 },
    );
  });

  test('statement 6: what can not be kept is not measured, but for one unit', () => {
    let measured = 0;
    const units: LaneUnits = {
      share: 1,
      count: 10_000,
      measure: () => {
        measured += 1;
        return 10;
      },
    };
    expect(dealOut([units], 95)[0]).toMatchObject({ tokens: 90 });
    expect(measured).toBe(10);
  });

  test('a unit larger than the whole room does not keep smaller ones out', () => {
    expect(dealOut([unitsOf({ share: 1, costs: [500, 10, 20] })], 100)[0]).toMatchObject({ kept: [1, 2], tokens: 30 });
  });
});
