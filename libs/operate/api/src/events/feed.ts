/**
 * Owns what followers of one workflow receive live: its accepted events in the order of their positions, each exactly once to each
 * follower, and the newest of them for new followers. Must not read anything by itself.
 *
 * A live follower has received all positions before the feed's next one. Any other catches up first; nothing is awaited between the last
 * check of what it lacks and being live, so that no event is missed.
 */

import { maskSecretsIn, payloadText } from '@tidemark/codec';
import { isClosed, isoTime, type Offset, type Position, type StreamState, type WorkflowId } from '@tidemark/core';
import type { StoredRecord } from '@tidemark/ports';
import { type AcceptedEvent, StreamFold, type StreamPlacement } from '@tidemark/runtime';
import type { Redaction } from '../redaction.ts';
import { reportedControl } from '../shapes/control.ts';
import { type EventSink, eventBytes } from './sink.ts';

/** Characters of a payload beyond which a stream leaves it out; the history has it. */
const STREAMED_PAYLOAD_MAX_CHARS = 128 * 1_024;
/** Newest events of a followed workflow that are kept for new followers, at most: in number, and in characters of payload. */
const FEED_KEPT_MAX_COUNT = 64;
const FEED_KEPT_MAX_CHARS = 64 * 1_024;

/** An event as it is sent, encoded once for all followers. */
export class SentEvent {
  readonly position: Position;
  readonly chars: number;
  readonly #event: AcceptedEvent;
  /** By what its readers may see. */
  readonly #bytes = new Map<string, Buffer>();

  constructor(event: AcceptedEvent) {
    this.#event = event;
    this.position = event.position;
    this.chars = event.payload.length;
  }

  bytes(redaction: Redaction): Buffer {
    const name = `${redaction.content} ${redaction.tokens}`;
    const bytes = this.#bytes.get(name) ?? this.#encoded(redaction);
    this.#bytes.set(name, bytes);
    return bytes;
  }

  #encoded(redaction: Redaction): Buffer {
    const { position, envelope } = this.#event;
    const { id, type, atMs, epoch, holder, lamport, control } = envelope;
    const reported = {
      position,
      event_id: id,
      type,
      at: isoTime(atMs),
      epoch,
      holder: holder === '' ? null : holder,
      lamport,
      control: reportedControl(control, redaction),
      ...(redaction.content && contentOf(this.#event.payload)),
    };
    return eventBytes('event', JSON.stringify(reported), position);
  }
}

/** Large payloads are in the history; forgotten ones read as `{}`. */
function contentOf(payload: Uint8Array): object {
  if (payload.length > STREAMED_PAYLOAD_MAX_CHARS) return { payload_left_out: true };
  return { payload: JSON.parse(maskSecretsIn(payloadText(payload))) as unknown };
}

export interface Follower {
  readonly sink: EventSink;
  readonly redaction: Redaction;
  /** Whose share of the memory for content the reading of its history takes. */
  readonly whose: string | null;
  /** The position that it is to receive next. */
  next: number;
}

/** Sends it the event of that position, and nothing else. */
export function report(follower: Follower, event: SentEvent): void {
  if (event.position !== follower.next) return;
  follower.next = event.position + 1;
  follower.sink.write(event.bytes(follower.redaction));
}

export class Feed {
  readonly place: StreamPlacement;
  /** First offset that it has not folded. */
  next: Offset;
  readonly #fold: StreamFold;
  readonly #live = new Set<Follower>();
  /** Includes those that catch up. */
  readonly #followers = new Set<Follower>();
  readonly #failed = new AbortController();
  #kept: SentEvent[] = [];
  #keptChars = 0;
  /** When its last follower left, by the caller's clock; undefined: it has some. */
  leftAtMs: number | undefined;

  constructor(place: StreamPlacement, stream: StreamState, next: Offset) {
    this.place = place;
    this.next = next;
    this.#fold = new StreamFold(place, stream);
  }

  get workflow(): WorkflowId {
    return this.place.workflow;
  }

  get position(): Position {
    return this.#fold.stream!.position;
  }

  get isOver(): boolean {
    return isClosed(this.#fold.stream!);
  }

  /** Aborts, with the error, when the next event can't be read: its followers receive nothing more. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  fail(error: unknown): void {
    this.#failed.abort(error);
  }

  join(follower: Follower): void {
    this.#followers.add(follower);
    this.leftAtMs = undefined;
  }

  leave(follower: Follower, nowMs: number): void {
    this.#live.delete(follower);
    this.#followers.delete(follower);
    if (this.#followers.size === 0) this.leftAtMs = nowMs;
  }

  /** Takes records of its partition, in order, from `next` on or before. */
  add(records: readonly StoredRecord[]): void {
    for (const record of records) {
      if (record.offset < this.next) continue;
      this.next = (record.offset + 1) as Offset;
      const event = this.#fold.add(record);
      if (event !== undefined) this.#report(new SentEvent(event));
    }
    if (this.isOver) for (const follower of [...this.#live]) this.#end(follower);
  }

  #report(event: SentEvent): void {
    this.#kept.push(event);
    this.#keptChars += event.chars;
    while (
      this.#kept.length > FEED_KEPT_MAX_COUNT ||
      (this.#keptChars > FEED_KEPT_MAX_CHARS && this.#kept.length > 1)
    ) {
      this.#keptChars -= this.#kept.shift()!.chars;
    }
    for (const follower of this.#live) report(follower, event);
  }

  /** Sends what it keeps and the follower lacks. True: the follower is live, or received the end. False: it lacks events that are no longer kept. */
  goLive(follower: Follower): boolean {
    const first = this.#kept[0]?.position ?? this.position + 1;
    if (follower.next < first) return false;
    for (const event of this.#kept) report(follower, event);
    if (this.isOver) this.#end(follower);
    else this.#live.add(follower);
    return true;
  }

  #end(follower: Follower): void {
    this.#live.delete(follower);
    endOf(follower, this.position);
  }
}

/** Nothing more will come. */
export function endOf({ sink }: Follower, position: number): void {
  sink.write(eventBytes('end', JSON.stringify({ position })));
  sink.end();
}
