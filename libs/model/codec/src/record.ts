/**
 * Owns the bytes of a record: one line of JSON (envelope and control), a line feed, then the payload's bytes. A reader that only folds
 * parses the line and leaves the payload alone; a person reads both in any Kafka console. Decoding never throws. Whether bytes are
 * malformed depends on the bytes alone; an unknown type or version is another kind of entry.
 */

import {
  ConfigError,
  CorruptError,
  checkJson,
  ENVELOPE_VERSION,
  type Envelope,
  type EventEntry,
  type EventType,
  InvalidError,
  type Json,
  LimitError,
  type LogEntry,
  RULES_READABLE,
  STORED_BOUNDS,
  type WorkflowId,
} from '@tidemark/core';
import { BLOB_REFERENCE_MAX_BYTES, blobReferenceOf, type StoredRecord } from '@tidemark/ports';
import { recordBlob } from './blob-records.ts';
import type { Payloads } from './payloads.ts';
import { plainEnvelope } from './plain-header.ts';
import { keepJson, parsedBytes, readingNow } from './reading.ts';
import {
  blobEnvelope,
  controls,
  envelope as envelopeSchema,
  laterEnvelope,
  NAME_MAX_CHARS,
  SEALED_VERSION,
  sealedEnvelope,
} from './schema.ts';
import { namesKey, sealedWith, textSealedWith } from './sealing.ts';

const LINE_FEED = 0x0a;
/** Bound on a header: a client must not be able to make its reader parse without end. */
export const HEADER_MAX_BYTES = 4_194_304;

const text = new TextDecoder('utf-8', { fatal: true });
const utf8 = new TextEncoder();

export interface NewEvent<T extends EventType = EventType> {
  readonly envelope: Envelope<T>;
  readonly payload: Uint8Array;
}

/**
 * The payload's bytes. Throws `LimitError` (`json-too-many-values`) when its values are valid one by one but too many together for any
 * reader.
 */
export function encodePayload<T extends EventType>(type: T, payload: Payloads[T]): Uint8Array {
  if (payload === null) return EMPTY_PAYLOAD;
  const bytes = Buffer.from(JSON.stringify(payload));
  if (mayHoldTooMany(bytes.length)) checkJson(bytes, `The payload of a ${type}`, STORED_BOUNDS);
  return bytes;
}

const EMPTY_PAYLOAD = utf8.encode('null');
/** A value takes at least a digit and a comma, so most texts need not be counted. */
const mayHoldTooMany = (sizeBytes: number): boolean => sizeBytes >= 2 * STORED_BOUNDS.valuesMaxCount;
/** A shorter header can't hold enough values or levels to do harm. */
const HEADER_UNCOUNTED_CHARS = 2_048;

/** Throws `LimitError` for a header, or a part of one, that would cost its reader too much. */
export function checkHeader(text: string): void {
  if (text.length > HEADER_UNCOUNTED_CHARS) checkJson(text, 'the header line', STORED_BOUNDS);
}

/**
 * The record's bytes. Throws `LimitError` (`value-too-large`) above `maxBytes`, or with a header above `headMaxBytes`, naming the event and
 * all sizes; `LimitError` (`json-too-many-values`) for a header of more values than a reader accepts; and `InvalidError` (`event-invalid`),
 * naming the field, for names that no reader would accept. What is written must be readable, or its writer would wait for a verdict that is
 * always `malformed`.
 */
export function encodeRecord(event: NewEvent, maxBytes: number, headMaxBytes = HEADER_MAX_BYTES): Uint8Array {
  const { type, workflow } = event.envelope;
  // Names the form of the payload, which follows the header line. Sealing and blobs put other names here (see blob-records.ts).
  const header = JSON.stringify({ ...event.envelope, payload: 'json' });
  const headBytes = Buffer.byteLength(header);
  const sizeBytes = headBytes + 1 + event.payload.length;
  if (sizeBytes > maxBytes || headBytes > headMaxBytes) {
    throw new LimitError(
      'value-too-large',
      `${type} of workflow ${workflow}: ${sizeBytes} bytes, of which ${headBytes} are control, at most ${maxBytes} fit in one event, and ${Math.min(headMaxBytes, maxBytes)} of control. Store large values elsewhere and keep a reference, or add fewer tasks at once.`,
      { type, workflow, sizeBytes, maxBytes },
    );
  }
  if (mayHoldTooMany(headBytes)) checkJson(header, `The control of a ${type} of workflow ${workflow}`, STORED_BOUNDS);
  // A header has escapes only for control characters and lone surrogates, so the full check is rare.
  if (header.includes('\\u') || isDoubtful(event.envelope)) checkReadable(header, event.envelope);
  const bytes = Buffer.allocUnsafe(sizeBytes);
  bytes.write(header, 0);
  bytes[headBytes] = LINE_FEED;
  bytes.set(event.payload, headBytes + 1);
  return bytes;
}

/**
 * Whether a text is empty or long, or a number isn't a count. It runs for every written event, so it must be cheap: 0.4 µs an event. A
 * regular expression over the header that finds long texts takes 17 µs (it restarts at each character), and misses those with quotes in
 * them.
 */
function isDoubtful(value: unknown): boolean {
  if (typeof value === 'string') return value === '' || value.length > NAME_MAX_CHARS;
  if (typeof value === 'number') return !(value >= 0 && value < Number.POSITIVE_INFINITY);
  if (typeof value !== 'object' || value === null) return false;
  for (const key of Object.keys(value)) if (isDoubtful((value as Record<string, unknown>)[key])) return true;
  return false;
}

function checkReadable(header: string, { type, workflow }: Envelope): void {
  const entry = decodeHeader(header);
  if (entry.kind !== 'malformed') return;
  throw new InvalidError('event-invalid', `${type} of workflow ${workflow.slice(0, 100)}: ${entry.problem}.`, {
    type,
    workflow,
  });
}

const malformed = (problem: string): LogEntry => ({ kind: 'malformed', problem });

/**
 * Decodes the bytes. An event of the sealed version whose bytes differ from what we write has a problem. `payload` is a view of `bytes`.
 */
export function decodeRecord(bytes: Uint8Array): LogEntry {
  const end = bytes.indexOf(LINE_FEED);
  if (end < 0 || end > HEADER_MAX_BYTES) return malformed('no header line');
  let header: string;
  try {
    header = text.decode(bytes.subarray(0, end));
  } catch {
    return malformed('the header line is not UTF-8');
  }
  const entry = decodeHeader(header);
  if (entry.kind !== 'event') return entry;
  const payload = bytes.subarray(end + 1);
  const isUnopened = entry.envelope.v === SEALED_VERSION;
  // Text columns can't hold NUL, and JSON always escapes it.
  if (!(isUnopened && beginsSealed(payload)) && payload.includes(0)) return malformed('the payload holds a NUL byte');
  // The code that opens sealed records and blobs would skip it.
  if (isUnopened && !isAsWritten(bytes)) return { ...entry, payload, problem: 'sealed-wrong' };
  return { ...entry, payload };
}

/** Whether a record of the sealed version has exactly the bytes that sealing and blobs produce. */
const isAsWritten = (bytes: Uint8Array): boolean => sealedWith(bytes) !== undefined || recordBlob(bytes) !== undefined;

/**
 * The entry for a stored record, and whether its payload may be read: folds of the log use this. A payload that exceeds the bounds of JSON
 * is a problem of its stream, and is never parsed.
 */
export function entryOf({ value, isOpened, isForgotten, problem }: Omit<StoredRecord, 'offset'>): LogEntry {
  const entry = decodeRecord(value);
  if (entry.kind !== 'event' || entry.problem !== undefined) return entry;
  if (problem !== undefined) return { ...entry, problem };
  const { payload, envelope } = entry;
  const isUnopened = envelope.v === SEALED_VERSION;
  if (isForgotten === true) return withSeal(entry, 'forgotten', false);
  if (isOpened === true || (isUnopened && namesKey(value))) return withSeal(entry, 'sealed', isUnopened);
  // A null payload is never sealed. But a null payload in a type that has one was written by someone without keys.
  return isNull(payload) && envelope.type in WITHOUT_PAYLOAD ? entry : withSeal(entry, 'plain', isUnopened);
}

/** The error for a reader that needs the payload. */
export const recordUnreadable = ({ envelope, problem = '' }: EventEntry): CorruptError =>
  new CorruptError(
    problem,
    `The ${envelope.type} of workflow ${envelope.workflow} can't be read (${problem}), and nothing was taken from it. tidemark show ${envelope.workflow} shows what can be done.`,
    { workflow: envelope.workflow, type: envelope.type },
  );

/** `isUnopened`: the payload is still sealed, or in a blob. */
function withSeal(entry: EventEntry, seal: EventEntry['seal'], isUnopened: boolean): LogEntry {
  const problem = isUnopened ? undefined : overBounds(entry.payload);
  return { ...entry, seal, ...(problem !== undefined && { problem }) };
}

function overBounds(payload: Uint8Array): string | undefined {
  // A payload this short can't exceed any bound.
  if (payload.length <= STORED_BOUNDS.depthMax) return undefined;
  try {
    checkJson(payload, 'The payload', STORED_BOUNDS);
    return undefined;
  } catch (error) {
    if (error instanceof LimitError) return error.code;
    throw error;
  }
}

/** Types whose payload is null, and so is not sealed. */
const WITHOUT_PAYLOAD = {
  PartitionFenced: true,
  TimerFired: true,
  LeaseRevoked: true,
  RetryDecided: true,
  LeaseClaimed: true,
  RulesRaised: true,
  LeaseReleased: true,
  CheckpointReserved: true,
} satisfies { readonly [T in keyof Payloads as Payloads[T] extends null ? T : never]: true };

const isNull = (payload: Uint8Array): boolean =>
  payload.length === EMPTY_PAYLOAD.length && payload[0] === EMPTY_PAYLOAD[0];

/** No payload that is written as text begins so. */
const beginsSealed = (payload: Uint8Array): boolean => (payload[0] ?? LINE_FEED) < LINE_FEED;

/**
 * The workflow of a record; undefined when its header can't be read so. Faster than `decodeRecord`, which may still find the record
 * malformed.
 */
export function workflowOf(value: Uint8Array): WorkflowId | undefined {
  const end = value.indexOf(LINE_FEED);
  if (end < 0 || end > HEADER_MAX_BYTES) return undefined;
  try {
    const line = text.decode(value.subarray(0, end));
    if (line.length > HEADER_UNCOUNTED_CHARS) checkJson(line, 'the header line', STORED_BOUNDS);
    const { workflow } = JSON.parse(line) as { readonly workflow?: unknown };
    return typeof workflow === 'string' ? (workflow as WorkflowId) : undefined;
  } catch {
    return undefined;
  }
}

/** The entry without its payload. */
function decodeHeader(line: string): LogEntry {
  const entry = parseHeader(line);
  // Only an escape puts either into a text, and nearly no header has one.
  if (entry.kind === 'malformed' || !line.includes('\\u')) return entry;
  const place = unsoundAt(entry);
  return place === undefined ? entry : malformed(`${place}: holds a NUL, or half a surrogate pair`);
}

/** The place of a text that columns can't hold (NUL) or that UTF-8 would change (a lone surrogate). */
function unsoundAt(value: unknown): string | undefined {
  if (typeof value === 'string') return value.includes('\0') || !value.isWellFormed() ? '' : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const place = unsoundAt(member);
    if (place !== undefined) return place === '' ? key : `${key}.${place}`;
  }
  return undefined;
}

function parseHeader(line: string): LogEntry {
  let header: unknown;
  try {
    checkHeader(line);
    header = JSON.parse(line);
  } catch (error) {
    return malformed(error instanceof LimitError ? error.message : 'the header line is not JSON');
  }
  const plain = plainEnvelope(header);
  if (plain !== undefined) return { kind: 'event', envelope: plain, payload: NO_PAYLOAD };
  return checkedHeader(header);
}

/** Decodes a header by the schemas. */
export function checkedHeader(header: unknown): LogEntry {
  // The rest of a later version's envelope may have changed: it is unknown, not malformed, or an old process would reject what a new one
  // accepts.
  if ((header as { readonly v?: unknown } | null)?.v !== ENVELOPE_VERSION) {
    const later = laterEnvelope.safeParse(header);
    if (later.success) return { kind: 'unknown', ...later.data };
  }
  const parsed = schemaOf(header as { readonly v?: unknown; readonly payload?: unknown } | null).safeParse(header);
  if (!parsed.success) return malformed(problemOf(parsed.error.issues[0]));
  const { payload: _, ...fields } = parsed.data;
  const schema = Object.hasOwn(controls, fields.type) ? controls[fields.type as EventType] : undefined;
  if (schema === undefined) {
    const { workflow, generation, type, v } = fields;
    return { kind: 'unknown', workflow, generation, type, v };
  }
  const control = schema.safeParse(fields.control);
  if (!control.success) return malformed(`control of ${fields.type}: ${problemOf(control.error.issues[0])}`);
  const envelope = { ...fields, control: control.data } as Envelope;
  // From here on the stream needs those rules, even where an event looks familiar.
  if (envelope.type === 'RulesRaised' && envelope.control.rules > RULES_READABLE.max) {
    const { workflow, generation, type } = envelope;
    return { kind: 'unknown', workflow, generation, type, v: envelope.control.rules };
  }
  return { kind: 'event', envelope, payload: NO_PAYLOAD };
}

function schemaOf(header: { readonly v?: unknown; readonly payload?: unknown } | null): typeof envelopeSchema {
  if (header?.v !== SEALED_VERSION) return envelopeSchema;
  return (header.payload === 'blob' ? blobEnvelope : sealedEnvelope) as unknown as typeof envelopeSchema;
}

const NO_PAYLOAD = new Uint8Array();

const problemOf = (issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined): string =>
  issue === undefined ? 'invalid' : `${issue.path.map(String).join('.') || 'envelope'}: ${issue.message}`;

/** The error for a process without keys, or without blobs. It must stop: it would take the closed bytes for the content. */
export function historyClosed(type: EventType, payload: Uint8Array | string): ConfigError {
  if (isInBlob(payload)) {
    return new ConfigError(
      'history-in-blobs',
      `The payload of a ${type} is large and lies in the blob store, which this process was not given: set TIDEMARK_ARCHIVE_URL as the process that wrote it had it.`,
      { type },
    );
  }
  return new ConfigError(
    'history-sealed',
    `The payload of a ${type} is encrypted, and this process was given no keys: set TIDEMARK_KEYS_URL as the process that wrote it had it.`,
    { type },
  );
}

function isInBlob(payload: Uint8Array | string): boolean {
  if (payload.length > BLOB_REFERENCE_MAX_BYTES) return false;
  return blobReferenceOf(typeof payload === 'string' ? payload : payloadText(payload)) !== undefined;
}

/**
 * The payload's value. Throws `InvalidError` (`payload-unreadable`) when its bytes aren't JSON, `ConfigError` (`history-sealed`,
 * `history-in-blobs`) when this process can't open it.
 */
export function decodePayload<T extends EventType>(type: T, payload: Uint8Array | string): Payloads[T] {
  const sealed = typeof payload === 'string' ? textSealedWith(payload) !== undefined : beginsSealed(payload);
  if (sealed || isInBlob(payload)) throw historyClosed(type, payload);
  // Rows were counted when they were loaded; what comes from the log is not. Values of signals stay while a history is folded.
  if (typeof payload !== 'string') {
    if (type === 'SignalReceived') keepJson(payload);
    else readingNow()?.pass(parsedBytes(payload));
  }
  try {
    return JSON.parse(typeof payload === 'string' ? payload : text.decode(payload)) as Payloads[T];
  } catch (cause) {
    throw new InvalidError('payload-unreadable', `The payload of a ${type} is not JSON.`, { type, cause });
  }
}

/** The value of a row's own text, such as an entry of memory. Content of records is `decodePayload`'s. */
export function parseContent(json: string): Json {
  keepJson(json);
  return JSON.parse(json) as Json;
}

/** The payload as text, unopened; invalid UTF-8 becomes replacement characters. */
export const payloadText = (payload: Uint8Array): string =>
  Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString('utf8');
