/**
 * Owns answers on their way: how many bytes of them wait to be read, in all and by tenant, and when a caller that reads nothing is cut off.
 * Streams of events have bounds of their own.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { LimitError, type TenantId } from '@tidemark/core';
import { Room } from '@tidemark/ports';
import { CONNECTION_TIMEOUT_MS } from './limits.ts';

/** Bytes of answers that wait to be read: in all; one tenant has as much as is still free (`Room`). */
const ANSWERS_MAX_BYTES = 128 * 1_024 * 1_024;
/**
 * Time without reading after which a caller is cut off, in milliseconds; noticed after twice as long at the latest. Systems take more from
 * a server when a third of their buffer is free, which may be a megabyte: a caller that reads less in that time counts as reading nothing.
 */
const ANSWER_STALL_MS = 10_000;

export interface AnswerBounds {
  /** Bytes of all waiting answers; one tenant has as much as is still free. */
  readonly maxBytes?: number | undefined;
  /** Time without reading after which a caller whose answer waits is cut off, after twice as long at the latest. */
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

  /** Throws `LimitError` (`requests-too-many`). The size of the answer isn't known yet: one answer more may wait than there is room for. */
  check(whose: TenantId | null): void {
    if (this.#waiting.hasFor(whose)) return;
    throw new LimitError(
      'requests-too-many',
      `At most ${this.#maxBytes} bytes of answers may wait to be read, those of one tenant at most what is still free. Read the answers that you asked for, and try again later.`,
    );
  }

  /** The bytes count until the system has taken the last of them, or the connection is gone. */
  add(whose: TenantId | null, response: ServerResponse, bytesCount: number): void {
    if (!response.destroyed) response.once('close', this.#waiting.take(whose, bytesCount));
  }

  /** Call it before anything of the answer is sent. An injected request has no connection. */
  watch(request: IncomingMessage, response: ServerResponse): void {
    if (!(request.socket instanceof Socket)) return;
    // Node checks whether anything was read meanwhile before it calls a connection idle, and destroys an idle one.
    response.setTimeout(this.#stallMs);
    // Runs before Node's own listener, which sets the time that a connection is kept, or gives it to the next answer.
    response.prependOnceListener('finish', () => response.setTimeout(CONNECTION_TIMEOUT_MS));
  }
}
