/**
 * Owns what followers of one workflow receive live: its accepted events in the order of their positions, each exactly once to each
 * follower, and the newest of them for new followers. Must not read anything by itself.
 *
 * A live follower has received all positions before the feed's next one. Any other catches up first; nothing is awaited between the last
 * check of what it lacks and being live, so that no event is missed.
 */

import { maskSecretsIn, payloadText } from '@tidemark/codec';
import {
  type Epoch,
  type EventType,
  isClosed,
  isOpen,
  isoTime,
  type Json,
  type Offset,
  type Position,
  type StreamState,
  type WorkflowId,
} from '@tidemark/core';
import type { StoredRecord } from '@tidemark/ports';
import {
  type AcceptedEvent,
  MODEL_OPERATION,
  type ModelAnswer,
  StreamFold,
  type StreamPlacement,
} from '@tidemark/runtime';
import type { Redaction } from '../redaction.ts';
import { reportedControl } from '../shapes/control.ts';
import { opaqueSizes } from '../shapes/opaque.ts';
import { type EventSink, eventBytes } from './sink.ts';

/** Characters of a payload beyond which a stream leaves it out; the history has it. */
const STREAMED_PAYLOAD_MAX_CHARS = 128 * 1_024;
/** Newest events of a followed workflow that are kept for new followers, at most: in number, and in characters of payload. */
const FEED_KEPT_MAX_COUNT = 64;
const FEED_KEPT_MAX_CHARS = 64 * 1_024;

/** The outcome of a model call. */
export interface SettledCall {
  readonly call: string;
  readonly task: string;
  readonly position: number;
  /** Undefined: the call failed. */
  readonly answer?: Pick<ModelAnswer, 'text' | 'toolCalls' | 'finishReason'>;
}

/** An event as it is sent, encoded once for all followers. */
export class SentEvent {
  readonly position: Position;
  readonly chars: number;
  readonly #event: AcceptedEvent;
  /** By what its readers may see. */
  readonly #bytes = new Map<string, Buffer>();
  #settled: { readonly call: SettledCall | undefined } | undefined;

  constructor(event: AcceptedEvent) {
    this.#event = event;
    this.position = event.position;
    this.chars = event.payload.length;
  }

  get type(): EventType {
    return this.#event.envelope.type;
  }

  /** The streamed model call that it gives its outcome; undefined: it does not. */
  get settled(): SettledCall | undefined {
    this.#settled ??= { call: settledBy(this.#event) };
    return this.#settled.call;
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
  return { payload: opaqueSizes(JSON.parse(maskSecretsIn(payloadText(payload))) as Json) };
}

/** Whether a call that failed was streamed isn't recorded, and makes no difference to those who have seen nothing of it. */
function settledBy({ position, envelope, payload }: AcceptedEvent): SettledCall | undefined {
  if (envelope.type !== 'EffectResolved') return undefined;
  const { operation, outcome, key: call, task } = envelope.control;
  if (operation !== MODEL_OPERATION) return undefined;
  if (outcome === 'failed') return { call, task, position };
  const { response } = JSON.parse(maskSecretsIn(payloadText(payload))) as { readonly response?: Partial<ModelAnswer> };
  if (response?.isStreamed !== true) return undefined;
  const { text = '', toolCalls = [], finishReason = 'other' } = response;
  return { call, task, position, answer: { text, toolCalls, finishReason } };
}

/** A reader of a workflow's events, in whichever form it gets them. */
export interface Follower {
  readonly sink: EventSink;
  /** Whose share of the memory for content the reading of its history takes. */
  readonly whose: string | null;
  /** The position that it is to receive next. */
  next: number;
  event(event: SentEvent): void;
  /** It has received all that the feed has. */
  onLive?(feed: Feed): void;
  /** Nothing more will come. */
  end(position: number): void;
}

/** Receives the events as they are. */
export class EventFollower implements Follower {
  readonly sink: EventSink;
  readonly whose: string | null;
  next: number;
  readonly #redaction: Redaction;

  constructor(
    sink: EventSink,
    { whose, next, redaction }: Pick<Follower, 'whose' | 'next'> & { redaction: Redaction },
  ) {
    this.sink = sink;
    this.whose = whose;
    this.next = next;
    this.#redaction = redaction;
  }

  event(event: SentEvent): void {
    this.sink.write(event.bytes(this.#redaction));
  }

  end(position: number): void {
    this.sink.write(eventBytes('end', JSON.stringify({ position })));
    this.sink.end();
  }
}

/** Sends it the event of that position, and nothing else. */
export function report(follower: Follower, event: SentEvent): void {
  if (event.position !== follower.next) return;
  follower.next = event.position + 1;
  follower.event(event);
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
  #open: { readonly position: Position; readonly keys: ReadonlySet<string> } | undefined;
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

  get epoch(): Epoch {
    return this.#fold.stream!.epoch;
  }

  get isOver(): boolean {
    return isClosed(this.#fold.stream!);
  }

  /** Keys of the calls that have begun and have no outcome. */
  get openCalls(): ReadonlySet<string> {
    const { frontier, position } = this.#fold.stream!;
    if (this.#open?.position !== position) {
      const effects = [...frontier.tasks].flatMap((task) => task.effects);
      this.#open = { position, keys: new Set(effects.filter(isOpen).map(({ key }) => key)) };
    }
    return this.#open.keys;
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
    else {
      this.#live.add(follower);
      follower.onLive?.(this);
    }
    return true;
  }

  #end(follower: Follower): void {
    this.#live.delete(follower);
    follower.end(this.position);
  }
}
