/** Owns ending a worker that should run until there is nothing to do: it ends after a time without work. */

import type { Clock } from '@tidemark/ports';
import type { Uncheckpointed } from '@tidemark/runtime';

/** Poll interval, in milliseconds. It is shorter if the time without work is. */
const POLL_PERIOD_MS = 1_000;

export interface LeaveIdleOptions {
  /** 0: never. */
  readonly idleMs: number;
  readonly of: () => Uncheckpointed;
  /** Called once. */
  readonly onIdle: (reason: string) => void;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** Polls from now on. Returns a function that stops it; it keeps no process alive. */
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
