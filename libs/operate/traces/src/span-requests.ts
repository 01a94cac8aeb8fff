/**
 * Owns how many spans one request to a collector takes: as many as fit its largest message by an estimate, half of that each time it
 * refuses one for its size, and more again as it takes them. A single span that it has refused alone is cut, counted and named, so that
 * none is sent again for ever.
 */

import { InvalidError, LimitError, UnavailableError } from '@tidemark/core';
import { SPANS_PER_REQUEST_MAX } from './limits.ts';
import type { SpanAttributes, TraceSpan } from './span.ts';

/** Bytes of one request, at most, by an estimate: half of the 4 MiB that collectors take over gRPC unless they are told otherwise. */
const REQUEST_MAX_BYTES = 2 * 1_024 * 1_024;
/** After one that was refused for its size, each one that is taken lets the next be larger by this. */
const REQUEST_GROWTH_FACTOR = 1.25;
/** A request of at most so many bytes is not refused for its size. */
const REQUEST_SMALL_BYTES = 65_536;
/** Of a span that is cut because it alone is too large: attributes, and characters of each text, at most. */
const CUT_ATTRIBUTES_MAX_COUNT = 64;
const CUT_TEXT_MAX_CHARS = 256;

/** The collector refused a request for its size, or, if that can't be its size, because it has too much to do. */
export const TOO_LARGE = 'collector-too-large';

/** What became of the first spans that waited. `count`: so many are settled; 0: fewer are sent the next time. */
export interface Sent {
  readonly count: number;
  /** Why the collector will never take them. */
  readonly refusal?: unknown;
}

export class SpanRequests {
  readonly #onCut: (error: InvalidError) => void;
  #maxBytes = REQUEST_MAX_BYTES;
  /** The span that the collector refused alone; and one that it did, perhaps since it was busy. */
  #refused: TraceSpan | undefined;
  #suspect: TraceSpan | undefined;

  constructor(onCut: (error: InvalidError) => void) {
    this.#onCut = onCut;
  }

  /** Sends the first of them in one request. Throws `UnavailableError` where a retry may succeed. A span that is cut is replaced. */
  async send(waiting: TraceSpan[], send: (spans: readonly TraceSpan[]) => Promise<void>): Promise<Sent> {
    const batch = this.#first(waiting);
    try {
      await send(batch);
      // It may have refused since it was busy.
      this.#maxBytes = Math.min(REQUEST_MAX_BYTES, this.#maxBytes * REQUEST_GROWTH_FACTOR);
      return { count: batch.length };
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      if (!(error instanceof LimitError) || error.code !== TOO_LARGE) return { count: batch.length, refusal: error };
      const bytes = batch.reduce((sum, span) => sum + spanBytes(span), 0);
      // gRPC has one code for both. So small a request fits every collector; a larger span alone is sent once more before it is cut.
      const isAlone = batch.length === 1 && this.#suspect !== batch[0];
      if ((bytes <= REQUEST_SMALL_BYTES || isAlone) && error.details.mayBeBusy === true) {
        if (isAlone) this.#suspect = batch[0];
        throw new UnavailableError('collector-away', error.message, { cause: error });
      }
      if (batch.length === 1 && isCut(batch[0]!)) return { count: 1, refusal: error };
      if (batch.length === 1) this.#refused = batch[0];
      else this.#maxBytes = Math.min(this.#maxBytes, bytes) / 2;
      return { count: 0 };
    }
  }

  #first(waiting: TraceSpan[]): readonly TraceSpan[] {
    let bytes = 0;
    let count = 0;
    const [first] = waiting;
    if (first !== undefined && first === this.#refused) {
      waiting[0] = cutSpan(first);
      this.#onCut(tooLarge(first, spanBytes(first)));
    }
    while (count < waiting.length && count < SPANS_PER_REQUEST_MAX) {
      bytes += spanBytes(waiting[count]!);
      if (bytes > this.#maxBytes) break;
      count++;
    }
    return waiting.slice(0, Math.max(1, count));
  }
}

/** Bytes of ids, times, tags and lengths: of a span, of an event or a link, and of an attribute. JSON's are the larger. */
const SPAN_BYTES = 320;
const PART_BYTES = 160;
const ATTRIBUTE_BYTES = 48;

/** An estimate, cheaper than encoding the span twice. Texts of many quotes and line feeds take more in JSON. */
function spanBytes({ name, error = '', attributes, events, links }: TraceSpan): number {
  let bytes = SPAN_BYTES + Buffer.byteLength(name) + Buffer.byteLength(error) + attributeBytes(attributes);
  for (const event of events) bytes += PART_BYTES + Buffer.byteLength(event.name) + attributeBytes(event.attributes);
  for (const link of links) bytes += PART_BYTES + attributeBytes(link.attributes);
  return bytes;
}

function attributeBytes(attributes: SpanAttributes): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(attributes)) {
    bytes += ATTRIBUTE_BYTES + Buffer.byteLength(key);
    if (typeof value === 'string') bytes += Buffer.byteLength(value);
    else if (typeof value === 'object') for (const each of value) bytes += ATTRIBUTE_BYTES + Buffer.byteLength(each);
  }
  return bytes;
}

const CUT = 'tidemark.cut';
const isCut = ({ attributes }: TraceSpan): boolean => attributes[CUT] === true;

/** The span without its events and links, with the beginnings of its name and texts. */
function cutSpan(span: TraceSpan): TraceSpan {
  const cut = (text: string): string => text.slice(0, CUT_TEXT_MAX_CHARS);
  const kept = Object.entries(span.attributes).slice(0, CUT_ATTRIBUTES_MAX_COUNT);
  const attributes = kept.map(([key, value]) => {
    if (typeof value === 'string') return [cut(key), cut(value)];
    return [cut(key), typeof value === 'object' ? value.slice(0, 1).map(cut) : value];
  });
  return {
    ...span,
    name: cut(span.name),
    error: span.error === undefined ? undefined : cut(span.error),
    attributes: { ...(Object.fromEntries(attributes) as SpanAttributes), [CUT]: true },
    events: [],
    links: [],
  };
}

function tooLarge({ traceId, spanId, name }: TraceSpan, bytes: number): InvalidError {
  const shown = name.slice(0, CUT_TEXT_MAX_CHARS);
  return new InvalidError(
    'span-too-large',
    `Span ${spanId} (${shown}) of trace ${traceId} has some ${bytes} bytes, more than the collector takes at once: it is sent cut, without events and links. Raise the collector's limit of a message, or record less content.`,
    { traceId, spanId, bytes },
  );
}
