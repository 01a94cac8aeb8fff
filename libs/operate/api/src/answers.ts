/**
 * Owns answers on their way: how many bytes of them wait to be read, in all and of one tenant, and when whoever reads none of its answer
 * is cut off. Streams of events are no part of it; they have bounds of their own.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { LimitError, type TenantId } from '@tidemark/core';
import { Room } from '@tidemark/ports';
import { ANSWER_STALL_MS, ANSWERS_MAX_BYTES, CONNECTION_TIMEOUT_MS } from './limits.ts';

export interface AnswerBounds {
  /** Of all that wait to be read; one tenant has as much as is still free. */
  readonly maxBytes?: number | undefined;
  /** Who has read nothing for so long while its answer waits is cut off, after twice as long at the latest. */
  readonly stallMs?: number | undefined;
}

export class Answers {
  readonly #maxBytes: number;
  readonly #stallMs: number;
  readonly #waiting: Room;

  constructor({ maxBytes = ANSWERS_MAX_BYTES, stallMs = ANSWER_STALL_MS }: AnswerBounds = {}) {
    this.#maxBytes = maxBytes;
    this.#stallMs = stallMs;
    this.#waiting = new Room(maxBytes);
  }

  /** Throws `LimitError` (`requests-too-many`). How much is asked for isn't known yet: one answer more may come to wait than there is room for. */
  check(whose: TenantId | null): void {
    if (this.#waiting.hasFor(whose)) return;
    throw new LimitError(
      'requests-too-many',
      `Answers of ${this.#maxBytes} bytes may wait to be read at once, and of one tenant no more than is still free. Read what was asked for, and come again later.`,
    );
  }

  /** They wait until the system has taken the last of them, or the connection is gone. */
  add(whose: TenantId | null, response: ServerResponse, bytesCount: number): void {
    if (!response.destroyed) response.once('close', this.#waiting.take(whose, bytesCount));
  }

  /** Before anything of the answer is sent. What is injected has no connection. */
  watch(request: IncomingMessage, response: ServerResponse): void {
    if (!(request.socket instanceof Socket)) return;
    // Node looks whether anything was read meanwhile before it calls a connection idle, and destroys one that is.
    response.setTimeout(this.#stallMs);
    // Before Node's own listener, which sets the time that a connection is kept, or gives it to the next answer.
    response.prependOnceListener('finish', () => response.setTimeout(CONNECTION_TIMEOUT_MS));
  }
}
