/** Owns the end of a worker that is meant to run until there is nothing to do: after it has had nothing in hand for so long. */

import type { Clock } from '@tidemark/ports';
import type { Uncheckpointed } from '@tidemark/runtime';

/** Period of the look, in milliseconds; shorter where the time itself is. */
const POLL_PERIOD_MS = 1_000;

export interface LeaveIdleOptions {
  /** 0: never. */
  readonly idleMs: number;
  readonly of: () => Uncheckpointed;
  /** Told once. */
  readonly onIdle: (reason: string) => void;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** Looks from now on. Returns what ends it; it keeps no process alive. */
export function leaveWhenIdle({ idleMs, of, onIdle, clock }: LeaveIdleOptions): () => void {
  if (idleMs === 0) return () => {};
  let sinceMs = clock.monotonicMs();
  const poll = (): void => {
    if (of().workflowCount > 0) sinceMs = clock.monotonicMs();
    if (clock.monotonicMs() - sinceMs < idleMs) return;
    clearInterval(timer);
    onIdle('nothing to do');
  };
  const timer = setInterval(poll, Math.min(POLL_PERIOD_MS, idleMs)).unref();
  return () => clearInterval(timer);
}
