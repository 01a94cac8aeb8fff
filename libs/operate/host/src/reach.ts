/** Owns checking whether a process reaches log and store: one small request to each, periodically. Must not change anything. */

import type { Partition } from '@tidemark/core';
import { type HealthCheck, type Loop, type Ports, recentCheck, startLoop } from '@tidemark/runtime';

/** Period of the checks of log and store, and how old an answer may be. */
const REACH_PERIOD_MS = 2_000;
const REACH_KNOWN_MS = 10_000;

export type Reached = 'log' | 'store';

export interface Reach {
  checks(of: readonly Reached[]): readonly HealthCheck[];
  /** Sends no more requests; resolves once the current ones are answered, which may take long. */
  stop(): Promise<void>;
}

/** Checks each on its own: one that is unreachable must not hide the other. Callers that need an answer report failures, not this file. */
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
