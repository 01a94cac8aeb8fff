/**
 * Owns how long a call to the outside may take: its time-out, the longest silence between heartbeats, and the caller's signal. A call that
 * ignores its signal does not delay the step beyond these. It does not know what is called.
 */

import { invariant, UnavailableError } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';

export interface TimeLimits {
  /** Name of the call in the errors' messages. */
  readonly what: string;
  readonly timeoutMs: number;
  /** Longest time between two heartbeats, from the start on; undefined: none are expected. */
  readonly heartbeatTimeoutMs?: number | undefined;
}

/** What the call receives. */
export interface CallControl {
  /** Aborts with the caller's signal, and when the call has exceeded a time limit. */
  readonly signal: AbortSignal;
  readonly heartbeat: () => void;
}

/** A constant reason, because an abort without one creates an error with a stack. */
const ANSWERED = 'answered';

/**
 * Settles as `ask` does, if that is within the limits. Otherwise it rejects with the outer signal's reason, or with `UnavailableError`
 * (`effect-timeout`, `effect-silent`).
 */
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
