/**
 * Owns reading the JSON body of a request, for every server that takes one, and its bounds: of all bodies in hand, of one caller or
 * address, and of one request. Each piece is counted and copied as it comes, so that a piece of one byte costs one byte, and a body that
 * exceeds a bound is refused at once: its server answers, and closes the connection.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { InvalidError, JsonScanner, LimitError, PARSED_VALUE_BYTES, type TenantId } from '@tidemark/core';
import { ContentRoom } from './reads.ts';

/** Largest body of a request, in bytes. */
const BODY_MAX_BYTES = 4 * 1_024 * 1_024;
/** Pieces of a body that may have any size, and the smallest average size of further ones, in bytes: each costs the server, however small. */
export const BODY_PIECES_FREE_COUNT = 1_024;
const BODY_PIECE_MIN_BYTES = 64;

export interface BodyBounds {
  /** Bytes of one body, as it is sent. */
  readonly bodyMaxBytes?: number | undefined;
  /** Bytes of all content in hand: what was read, and what its values take once parsed. One caller has as much as is still free. */
  readonly inHandMaxBytes?: number | undefined;
}

/** Whether a body follows the head of the request. */
export const hasBody = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

export class Bodies {
  readonly #bodyMaxBytes: number;
  readonly #inHand: ContentRoom;

  constructor({ bodyMaxBytes = BODY_MAX_BYTES, inHandMaxBytes }: BodyBounds = {}, inHand?: ContentRoom) {
    this.#bodyMaxBytes = bodyMaxBytes;
    this.#inHand = inHand ?? new ContentRoom(inHandMaxBytes);
  }

  /** Bytes that the bodies in hand take. */
  get inHandBytes(): number {
    return this.#inHand.takenCount;
  }

  /** Begins to read: unread pieces would take more than their bytes. `address`: whose room it takes until the caller is known. */
  open(request: IncomingMessage, response: ServerResponse, address: string): Body {
    const share = new Share(this.#inHand, `address ${address}`);
    const body = new Body(request, share, this.#bodyMaxBytes, (code) =>
      this.#inHand.telemetry.count('request_bodies_refused_total', 1, { reason: code }),
    );
    response.once('close', body.hold());
    return body;
  }
}

/** What one body has of the room. */
class Share {
  readonly #room: ContentRoom;
  #whose: string | null;
  /** Includes bytes that were given back. */
  bytes = 0;
  #isOver = false;
  #giveBack = (): void => {};

  constructor(room: ContentRoom, whose: string | null) {
    this.#room = room;
    this.#whose = whose;
  }

  /** Throws `LimitError` (`bodies-too-many`) where not enough is free. */
  take(bytes: number, whose = this.#whose): void {
    if (this.#isOver) return;
    if (!this.#room.hasFor(whose)) {
      throw new LimitError(
        'bodies-too-many',
        "The memory for bodies of requests is in use, or this caller's share of it. Nothing was done: try again later.",
      );
    }
    this.#giveBack = this.#room.takeInstead(this.#giveBack, whose, bytes);
    [this.#whose, this.bytes] = [whose, bytes];
  }

  belongTo(whose: string | null): void {
    this.take(this.bytes, whose);
  }

  giveBack(): void {
    this.#isOver = true;
    this.#giveBack();
  }
}

/** A caller's name in the room; null: of no tenant. */
export const takerOf = (tenant: TenantId | null): string | null => (tenant === null ? null : `tenant ${tenant}`);

export class Body {
  readonly #share: Share;
  readonly #maxBytes: number;
  readonly #scanner = new JsonScanner('The body');
  readonly #bytes: Growing;
  readonly #read = Promise.withResolvers<void>();
  #piecesCount = 0;
  #isOver = false;
  #holdersCount = 0;

  constructor(request: IncomingMessage, share: Share, maxBytes: number, onRefused: (code: string) => void) {
    this.#share = share;
    this.#maxBytes = maxBytes;
    this.#read.promise.catch((error: unknown) => {
      if (error instanceof LimitError) onRefused(error.code);
    });
    const saidBytes = Number(request.headers['content-length'] ?? 0);
    this.#bytes = new Growing(saidBytes === 0 ? maxBytes : Math.min(saidBytes, maxBytes));
    // Drops what follows a refusal, until the connection is closed.
    request.on('data', (piece: Uint8Array) => this.#within(() => this.#take(piece)));
    request.once('end', () => this.#within(() => this.#scanner.end()).#end());
    request.once('error', () => this.#end(incomplete()));
    request.once('close', () => this.#end(incomplete()));
    if (saidBytes > maxBytes) this.#end(this.#tooLarge());
  }

  /**
   * Returns what `parse` makes of the whole body, once. Throws what it throws, `LimitError` (`body-too-large`, `body-pieces-too-small`,
   * `bodies-too-many`, and as `JsonScanner` does), `InvalidError` (`body-invalid`, `body-incomplete`, and as `JsonScanner` does).
   */
  async value<T>(parse: (text: string) => T): Promise<T> {
    await this.#read.promise;
    return parse(textOf(this.#bytes.taken()));
  }

  /** Bytes read of it, and bytes of its values. */
  get tookBytes(): number {
    return this.#share.bytes;
  }

  /**
   * From now on it takes the room of the caller, who is known now. Null: callers of no tenant, who have whatever is free. Throws
   * `LimitError` (`bodies-too-many`).
   */
  belongTo(tenant: TenantId | null): void {
    try {
      this.#share.belongTo(takerOf(tenant));
    } catch (error) {
      this.#end(error as Error);
      throw error;
    }
  }

  /** Its room is free again once all holders have released it: its response, and work that it began. The returned function releases it, once. */
  hold(): () => void {
    this.#holdersCount++;
    let isHolding = true;
    return () => {
      if (isHolding && --this.#holdersCount === 0) {
        this.#end(incomplete());
        this.#share.giveBack();
      }
      isHolding = false;
    };
  }

  #take(piece: Uint8Array): void {
    if (this.#isOver) return;
    const length = this.#bytes.length + piece.length;
    if (length > this.#maxBytes) throw this.#tooLarge();
    this.#piecesCount++;
    if (this.#piecesCount > BODY_PIECES_FREE_COUNT && length < this.#piecesCount * BODY_PIECE_MIN_BYTES) {
      throw tooSmall();
    }
    this.#scanner.push(piece);
    this.#share.take(length + this.#scanner.values * PARSED_VALUE_BYTES);
    this.#bytes.add(piece);
  }

  #within(work: () => void): this {
    try {
      work();
    } catch (error) {
      this.#end(error as Error);
    }
    return this;
  }

  #end(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (error !== undefined) {
      this.#bytes.taken();
      this.#read.reject(error);
    } else this.#read.resolve();
  }

  #tooLarge(): LimitError {
    return new LimitError('body-too-large', `The body is larger than ${this.#maxBytes} bytes.`);
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function textOf(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new InvalidError('body-invalid', 'The body is not UTF-8.');
  }
}

const GROWING_MIN_BYTES = 1_024;

/** Bytes in one buffer, which is doubled when they need more, up to the limit. */
class Growing {
  readonly #maxBytes: number;
  #place = Buffer.alloc(0);
  length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(piece: Uint8Array): void {
    const needed = this.length + piece.length;
    if (needed > this.#place.length) {
      const larger = Buffer.allocUnsafeSlow(
        Math.max(needed, Math.min(this.#maxBytes, Math.max(GROWING_MIN_BYTES, 2 * this.#place.length))),
      );
      larger.set(this.#place.subarray(0, this.length));
      this.#place = larger;
    }
    this.#place.set(piece, this.length);
    this.length = needed;
  }

  /** Returns all of them and keeps none. */
  taken(): Uint8Array {
    const all = this.#place.subarray(0, this.length);
    [this.#place, this.length] = [Buffer.alloc(0), 0];
    return all;
  }
}

const tooSmall = (): LimitError =>
  new LimitError(
    'body-pieces-too-small',
    `The body comes in more than ${BODY_PIECES_FREE_COUNT} pieces of less than ${BODY_PIECE_MIN_BYTES} bytes on average. Send it in larger ones.`,
  );

const incomplete = (): InvalidError =>
  new InvalidError('body-incomplete', 'The body ended before all of it was sent. Send it again.');
