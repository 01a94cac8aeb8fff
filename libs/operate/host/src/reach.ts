/** Owns knowing whether a process reaches log and store: one small question to each, again and again. Must not change anything. */

import type { Partition } from '@tidemark/core';
import { type HealthCheck, type Loop, type Ports, recentCheck, startLoop } from '@tidemark/runtime';
import { REACH_KNOWN_MS, REACH_PERIOD_MS } from './health-limits.ts';

export type Reached = 'log' | 'store';

export interface Reach {
  checks(of: readonly Reached[]): readonly HealthCheck[];
  /** Asks nothing more; resolves once what is asked was answered, which may take long. */
  stop(): Promise<void>;
}

/** Each on its own: one that is away must not hide the other. Failures are told by whoever needs an answer, not here. */
export function startReach({ log, store, clock }: Pick<Ports, 'log' | 'store' | 'clock'>): Reach {
  const answeredMs = new Map<string, number>();
  const ask = (name: Reached, question: () => Promise<unknown>): Loop => {
    const body = async (): Promise<void> => {
      await question();
      answeredMs.set(name, clock.monotonicMs());
    };
    return startLoop(body, { clock, periodMs: REACH_PERIOD_MS, onError: () => {} });
  };
  const first = 0 as Partition;
  const loops = [ask('log', () => log.bounds([first])), ask('store', () => store.nowMs())];
  return {
    checks(of) {
      const age = { nowMs: clock.monotonicMs(), maxMs: REACH_KNOWN_MS, what: 'it answered' };
      return of.map((name) => recentCheck(name, answeredMs.get(name), age));
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
