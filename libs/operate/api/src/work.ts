/**
 * Owns the work in hand: a request's work from its beginning to its end, also after its caller has left or was told that the answer is
 * late, since started work continues. Too much work is refused before it begins: of one tenant, so that others have room, and in all.
 */

import { LimitError, type TenantId, UnavailableError } from '@tidemark/core';
import { Room } from '@tidemark/ports';

/** Longest time of an answer, in milliseconds; a request that waits longer is answered 503 and may be repeated. */
const HANDLER_TIMEOUT_MS = 25_000;
/**
 * Requests in hand at once, reads and others each: in all (one tenant has as many as are still free, `Room`), and of one tenant those for
 * which nobody waits any more.
 */
export const WORK_MAX_COUNT = 10_000;
export const WORK_LEFT_MAX_COUNT = 500;

/** Null: callers of no tenant, together. */
type Whose = TenantId | null;

export class Work {
  readonly #inHand = new Room(WORK_MAX_COUNT);
  /** Work for which nobody waits; part of the work in hand. */
  readonly #left = new Room(WORK_MAX_COUNT);

  /**
   * Throws what the work throws; `LimitError` (`requests-too-many`) before it begins; `UnavailableError` (`answer-late`), or the signal's
   * reason, while it continues. A repeated request finds it done where the caller gave it an id or a key.
   */
  async do<T>(whose: Whose, signal: AbortSignal, begin: () => Promise<T>): Promise<T> {
    if (this.#left.countOf(whose) >= WORK_LEFT_MAX_COUNT)
      throw tooMany(`${WORK_LEFT_MAX_COUNT} requests whose callers have gone are still in progress`);
    if (!this.#inHand.hasFor(whose))
      throw tooMany(
        `At most ${WORK_MAX_COUNT} requests are handled at once, those of one tenant at most as many as are still free`,
      );
    const ends = [this.#inHand.take(whose)];
    let isOver = false;
    const working = begin().finally(() => {
      isOver = true;
      for (const end of ends) end();
    });
    try {
      return await inTime(working, signal);
    } finally {
      if (!isOver) ends.push(this.#left.take(whose));
      // Work for which nobody waits may still fail.
      working.catch(() => {});
    }
  }
}

async function inTime<T>(working: Promise<T>, signal: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `There was no answer within ${HANDLER_TIMEOUT_MS} ms; servers behind this one may be unavailable. It may still be done: repeat it with the same id or key; without one it may be done twice.`;
    timer = setTimeout(() => reject(new UnavailableError('answer-late', message)), HANDLER_TIMEOUT_MS);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  try {
    return await Promise.race([working, late]);
  } finally {
    clearTimeout(timer);
  }
}

const tooMany = (bound: string): LimitError =>
  new LimitError(
    'requests-too-many',
    `${bound}; servers behind this one may be unavailable. Nothing of this one has begun: try again later.`,
  );
