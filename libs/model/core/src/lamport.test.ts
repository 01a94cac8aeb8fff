/** Owns the tests of the Lamport clock: what a process writes is greater than all it has seen. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lamport } from './ids.ts';
import { LAMPORT_ZERO, tick, witness } from './lamport.ts';

test('what is written is greater than all that was seen, and each greater than the last', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(1_000_000), fc.constant(undefined))), (history) => {
      let clock = LAMPORT_ZERO;
      const before: number[] = [];
      for (const seen of history) {
        if (seen === undefined) {
          clock = tick(clock);
          for (const time of before) expect(clock).toBeGreaterThan(time);
          before.push(clock);
        } else {
          clock = witness(clock, lamport(seen));
          before.push(seen);
        }
      }
    }),
  );
});
