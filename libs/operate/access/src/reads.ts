/**
 * Owns admitting reads to the memory for content, which they share with bodies of requests (json-body.ts). A read takes what it brings into
 * memory, piece by piece. One that finds no room gives everything back and waits for as much as it lacked, holding nothing, so that no two
 * wait for each other; then it is made again. An action is never made again: it is refused, and may be repeated.
 */

import { type Reading, readFor } from '@tidemark/codec';
import { LimitError } from '@tidemark/core';
import { noTelemetry, Room, type Telemetry } from '@tidemark/ports';

/**
 * Bytes of all content in hand: what was read of bodies and for answers, and what each of their values takes once parsed. One tenant or
 * address has as much as is still free (`Room`).
 */
const BODIES_MAX_BYTES = 64 * 1_024 * 1_024;
/** Most that one answer may take of it, in bytes; and, beside that, what is folded into an answer of any length. */
export const READ_MAX_BYTES = 48 * 1_024 * 1_024;
export const READ_PASSING_MAX_BYTES = 8 * 1_024 * 1_024;
/** Longest wait of a read for it, in milliseconds, and reads that wait (those of one tenant: as many as places are still free). */
export const READ_WAIT_MAX_MS = 10_000;
export const READS_WAITING_MAX_COUNT = 256;

interface Waiting {
  readonly whose: string | null;
  readonly bytes: number;
  readonly start: () => void;
}

/** All of the memory, as a multiple of what may be in others' hands when an action goes beyond its share. */
const OTHERS_OF_ALL = 8;

/** The memory for content, in bytes, and who waits for some of it. */
export class ContentRoom extends Room<string> {
  readonly #waiting = new Set<Waiting>();
  readonly #places = new Room<string>(READS_WAITING_MAX_COUNT);
  readonly maxBytes: number;
  #isExchanging = false;
  readonly telemetry: Pick<Telemetry, 'gauge' | 'count'>;

  constructor(maxBytes = BODIES_MAX_BYTES, telemetry: Pick<Telemetry, 'gauge' | 'count'> = noTelemetry) {
    super(maxBytes);
    this.maxBytes = maxBytes;
    this.telemetry = telemetry;
  }

  override take(whose: string | null, bytes = 1): () => void {
    const giveBack = super.take(whose, bytes);
    this.telemetry.gauge('request_body_bytes', this.takenCount);
    return () => {
      giveBack();
      if (this.#isExchanging) return;
      this.telemetry.gauge('request_body_bytes', this.takenCount);
      this.#startNext();
    };
  }

  /** In one: who waits does not start in between. */
  takeInstead(giveBack: () => void, whose: string | null, bytes: number): () => void {
    this.#isExchanging = true;
    giveBack();
    this.#isExchanging = false;
    return this.take(whose, bytes);
  }

  /** As `hasFor`, and all of the bytes are free; more than there are wait for an empty room. */
  fits(whose: string | null, bytes: number): boolean {
    const freeBytes = this.maxBytes - this.takenCount;
    return this.hasFor(whose) && (bytes <= freeBytes || this.takenCount === 0);
  }

  /** Whether one that comes now has to wait: for an older one of its own, or for one that lacks nothing but free bytes. */
  mustQueue(whose: string | null): boolean {
    return [...this.#waiting].some((older) => this.#isBefore(older, whose));
  }

  /** Whether an action may go on beyond its share, up to all there is: hardly anything else is in hand, so it is the only one. */
  fitsAlone(heldBytes: number, bytes: number): boolean {
    const othersBytes = this.takenCount - heldBytes;
    return othersBytes * OTHERS_OF_ALL <= this.maxBytes && this.takenCount + bytes <= this.maxBytes;
  }

  /** Waits until so many bytes are free, and takes them. Throws `LimitError` (`reads-too-many`), or the signal's reason. */
  async reserve(whose: string | null, bytes: number, signal: AbortSignal): Promise<() => void> {
    if (!this.mustQueue(whose) && this.fits(whose, bytes)) return this.take(whose, bytes);
    if (!this.#places.hasFor(whose)) throw this.refused();
    const leave = this.#places.take(whose);
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiting = { whose, bytes, start: () => resolve(this.take(whose, bytes)) };
    const abort = () => reject(signal.reason as Error);
    const timer = setTimeout(() => reject(this.refused()), READ_WAIT_MAX_MS);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    this.#waiting.add(waiting);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      leave();
      // It may have stood before others.
      if (this.#waiting.delete(waiting)) this.#startNext();
    }
  }

  /** Counts it, and returns the error for whoever asked. */
  refused(): LimitError {
    this.telemetry.count('request_bodies_refused_total', 1, { reason: 'reads-too-many' });
    return noRoom();
  }

  /** In the order in which they came. One whose tenant has its share keeps its place, and stops none of others. */
  #startNext(): void {
    const passed: Waiting[] = [];
    for (const waiting of this.#waiting) {
      const { whose, bytes } = waiting;
      if (passed.some((older) => this.#isBefore(older, whose)) || !this.fits(whose, bytes)) {
        passed.push(waiting);
        continue;
      }
      this.#waiting.delete(waiting);
      waiting.start();
    }
  }

  #isBefore(older: Waiting, whose: string | null): boolean {
    return older.whose === whose || this.hasFor(older.whose);
  }
}

interface Reserved {
  readonly bytes: number;
  readonly giveBack: () => void;
}

/** What one attempt of a read has of the room. */
class Share implements Reading {
  readonly showsContent: boolean;
  readonly #room: ContentRoom;
  readonly #reader: Reader;
  /** It is done once: it can't wait. */
  readonly #isAction: boolean;
  readonly #held: (() => void)[];
  #heldBytes: number;
  #keptBytes = 0;
  #passingBytes = 0;
  #passedBytes = 0;
  #isOver = false;
  /** As much as it needed when it was refused; 0: it wasn't. */
  lackedBytes = 0;

  /** `reserved`: what a read waited for. */
  constructor(room: ContentRoom, reader: Reader, isAction: boolean, reserved?: Reserved) {
    this.#room = room;
    this.#isAction = isAction;
    this.#reader = reader;
    this.showsContent = reader.showsContent;
    this.#held = reserved === undefined ? [] : [reserved.giveBack];
    this.#heldBytes = reserved?.bytes ?? 0;
  }

  /** The most that it had. */
  get bytes(): number {
    return this.#keptBytes + this.#passedBytes;
  }

  keep(bytes: number): void {
    const kept = this.#keptBytes + bytes;
    if (kept > READ_MAX_BYTES) throw tooLarge(this.#reader);
    this.#grow(kept + this.#passingBytes);
    this.#keptBytes = kept;
  }

  pass(bytes: number): void {
    const passing = Math.max(bytes, Math.min(this.#passingBytes + bytes, READ_PASSING_MAX_BYTES));
    this.#grow(this.#keptBytes + passing);
    this.#passingBytes = Math.max(this.#passingBytes, passing);
    this.#passedBytes = Math.max(this.#passedBytes, this.#passingBytes);
  }

  passed(): void {
    this.#passingBytes = 0;
  }

  #grow(needed: number): void {
    // Of reads beside each other one has failed, and nobody gives back what the others take now.
    if (this.#isOver) throw noRoom();
    if (needed > this.#maxBytes) throw tooLarge(this.#reader);
    const more = needed - this.#heldBytes;
    if (more <= 0) return;
    if (!this.#hasRoomFor(more)) {
      this.lackedBytes = needed;
      throw noRoom();
    }
    this.#held.push(this.#room.take(this.#reader.whose, more));
    this.#heldBytes = needed;
  }

  /** Where the room is small, a read waits for all of it, and an action can't. */
  get #maxBytes(): number {
    const maxBytes = READ_MAX_BYTES + READ_PASSING_MAX_BYTES;
    return this.#isAction ? Math.min(maxBytes, this.#room.maxBytes) : maxBytes;
  }

  #hasRoomFor(more: number): boolean {
    const { whose } = this.#reader;
    if (this.#isAction && this.#room.fitsAlone(this.#heldBytes, more)) return true;
    // What has begun goes on.
    const mustQueue = !this.#isAction && this.#heldBytes === 0 && this.#room.mustQueue(whose);
    return !mustQueue && this.#room.fits(whose, more);
  }

  end(): void {
    this.#isOver = true;
    for (const giveBack of this.#held.splice(0)) giveBack();
  }
}

export interface Reader {
  /** Whose room it takes; null: callers of no tenant, who have whatever is free. */
  readonly whose: string | null;
  readonly showsContent: boolean;
  /** What the caller can do where it is too large: a sentence. */
  readonly remedy: string;
  /** Told what the reading took, also of one that fails. */
  readonly onRead?: ((bytes: number) => void) | undefined;
}

export class Reads {
  readonly #room: ContentRoom;

  constructor(room: ContentRoom = new ContentRoom()) {
    this.#room = room;
  }

  /**
   * Does work that changes nothing, which may be done again. Throws what it throws, `LimitError` (`reads-too-many`, `answer-too-large`), or
   * the signal's reason while it waits.
   */
  async read<T>(reader: Reader, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (let bytes = 0; ; ) {
      const giveBack = bytes === 0 ? undefined : await this.#room.reserve(reader.whose, bytes, signal);
      const share = new Share(this.#room, reader, false, giveBack && { bytes, giveBack });
      const found = await this.#attempt(share, reader, work);
      if (found !== undefined) return found.value;
      bytes = Math.max(share.lackedBytes, Math.min(2 * bytes, READ_MAX_BYTES));
    }
  }

  /** Does work once. Throws what it throws, `LimitError` (`reads-too-many`, `answer-too-large`). */
  async act<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
    const share = new Share(this.#room, reader, true);
    try {
      return await readFor(share, work);
    } catch (error) {
      throw share.lackedBytes > 0 ? this.#room.refused() : error;
    } finally {
      share.end();
    }
  }

  /** Undefined: there was no room. */
  async #attempt<T>(share: Share, { onRead }: Reader, work: () => Promise<T>): Promise<{ value: T } | undefined> {
    try {
      const value = await readFor(share, work);
      return share.lackedBytes > 0 ? undefined : { value };
    } catch (error) {
      if (share.lackedBytes > 0) return undefined;
      throw error;
    } finally {
      share.end();
      onRead?.(share.bytes);
    }
  }
}

const noRoom = (): LimitError =>
  new LimitError(
    'reads-too-many',
    "The memory for content that is read is in use, or this caller's share of it. Try again later; an action may be repeated with the same id or key.",
  );

const tooLarge = ({ remedy }: Reader): LimitError =>
  new LimitError(
    'answer-too-large',
    `What is to be read takes more than ${READ_MAX_BYTES} bytes of memory, each JSON value counted as 100. ${remedy}`,
  );
