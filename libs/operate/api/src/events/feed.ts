/**
 * Owns what followers of one workflow are told live: its accepted events in the order of their positions, each exactly once to each
 * follower, and the newest of them for those who come. Must not read anything by itself.
 *
 * A follower that is live has been told all positions before the feed's next one. One that isn't catches up first; between the last look at
 * what it lacks and being live nothing is awaited, so that no event falls between.
 */

import { maskSecretsIn, payloadText } from '@tidemark/codec';
import { isClosed, isoTime, type Offset, type Position, type StreamState, type WorkflowId } from '@tidemark/core';
import type { StoredRecord } from '@tidemark/ports';
import { type AcceptedEvent, StreamFold, type StreamPlacement } from '@tidemark/runtime';
import { FEED_KEPT_MAX_CHARS, FEED_KEPT_MAX_COUNT, STREAMED_PAYLOAD_MAX_CHARS } from '../limits.ts';
import type { Redaction } from '../redaction.ts';
import { reportedControl } from '../shapes/control.ts';
import { type EventSink, eventBytes } from './sink.ts';

/** An event as it is sent, made once for all followers. */
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

/** What is large is in the history; what was forgotten reads as `{}`. */
function contentOf(payload: Uint8Array): object {
  if (payload.length > STREAMED_PAYLOAD_MAX_CHARS) return { payload_left_out: true };
  return { payload: JSON.parse(maskSecretsIn(payloadText(payload))) as unknown };
}

export interface Follower {
  readonly sink: EventSink;
  readonly redaction: Redaction;
  /** The position that it is to be told next. */
  next: number;
}

/** Sends it what it is to be told next, and nothing else. */
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
  /** Of those that catch up as well. */
  readonly #followers = new Set<Follower>();
  readonly #failed = new AbortController();
  #kept: SentEvent[] = [];
  #keptChars = 0;
  /** When its last follower left, by the clock of who asks; undefined: it has some. */
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

  /** Aborts, with what was thrown, when what comes next can't be read: its followers are told nothing more. */
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

  /** Records of its partition, in order, from `next` on or before. */
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

  /** Tells what is kept and lacked. True: the follower is live, or was told of the end. False: it lacks what is no longer kept. */
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
