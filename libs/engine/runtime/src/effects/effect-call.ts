/**
 * Owns how long the outside may take to answer: the time-out of the whole, the longest silence between heartbeats, and the
 * caller's own signal. A call that ignores the signal must not delay the step beyond it. Must not know what is asked.
 */

import { invariant, UnavailableError } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';

export interface TimeLimits {
  /** Named in the error. */
  readonly what: string;
  readonly timeoutMs: number;
  /** Longest time between two heartbeats, from the start on; undefined: none are expected. */
  readonly heartbeatTimeoutMs?: number | undefined;
}

/** What the asked one is given. */
export interface CallControl {
  /** Aborts with the caller's signal, and when the time is up. */
  readonly signal: AbortSignal;
  readonly heartbeat: () => void;
}

/** A reason that is at hand: by default each abort would make an error with a stack. */
const ANSWERED = 'answered';

/** What `ask` answers in time. Throws the signal's reason, or `UnavailableError` (`effect-timeout`, `effect-silent`). */
export async function answerInTime<T>(
  clock: Clock,
  outer: AbortSignal,
  limits: TimeLimits,
  ask: (asked: CallControl) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted();
  const call = new AbortController();
  const answered = new AbortController();
  const { promise: cut, reject } = Promise.withResolvers<never>();
  const end = (reason: unknown): void => {
    call.abort(reason);
    reject(reason);
  };
  const onAbort = (): void => end(outer.reason);
  outer.addEventListener('abort', onAbort, { once: true });
  let heardMs = clock.monotonicMs();
  const heartbeat = (): void => {
    heardMs = clock.monotonicMs();
  };
  void outOfTime(clock, limits, answered.signal).then((error) => error && end(error));
  void silent(clock, limits, answered.signal, () => heardMs).then((error) => error && end(error));
  try {
    return await Promise.race([ask({ signal: call.signal, heartbeat }), cut]);
  } finally {
    outer.removeEventListener('abort', onAbort);
    answered.abort(ANSWERED);
  }
}

async function outOfTime(
  clock: Clock,
  { what, timeoutMs }: TimeLimits,
  answered: AbortSignal,
): Promise<UnavailableError | undefined> {
  await clock.sleep(timeoutMs, answered);
  if (answered.aborted) return undefined;
  return new UnavailableError('effect-timeout', `${what} took longer than ${timeoutMs} ms.`, { timeoutMs });
}

async function silent(
  clock: Clock,
  { what, heartbeatTimeoutMs }: TimeLimits,
  answered: AbortSignal,
  heardMs: () => number,
): Promise<UnavailableError | undefined> {
  if (heartbeatTimeoutMs === undefined) return undefined;
  invariant(heartbeatTimeoutMs > 0, 'a heartbeat time-out is positive', { heartbeatTimeoutMs });
  for (;;) {
    const leftMs = heardMs() + heartbeatTimeoutMs - clock.monotonicMs();
    if (leftMs <= 0) {
      return new UnavailableError('effect-silent', `${what} sent no heartbeat for ${heartbeatTimeoutMs} ms.`, {
        heartbeatTimeoutMs,
      });
    }
    await clock.sleep(leftMs, answered);
    if (answered.aborted) return undefined;
  }
}
