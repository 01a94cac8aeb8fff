/**
 * Owns what a record's columns hold: its header taken apart, its payload, and what queries ask of its control. Must not know how columns
 * are written, nor what stands around a record.
 */

import { isUtf8 } from 'node:buffer';
import { checkHeader, decodeRecord } from '@tidemark/codec';
import type { ColumnWriters } from './columns.ts';
import type { HeaderFields, Layouts, TakenHeader } from './header.ts';

const LINE_FEED = 0x0a;
const NUL = 0;
/** The latest time of JavaScript and of most databases, in milliseconds. */
const TIME_MAX_MS = 8.64e15;
/** Escapes of NUL and of halves of surrogate pairs: other readers refuse a JSON text with them. Finds some that are none, too. */
const UNSOUND = /\\u(?:0000|d[89a-f])/i;

/** Adds a row's columns that follow from the record's bytes. */
export class RecordColumns {
  readonly #columns: ColumnWriters;
  readonly #layouts: Layouts;

  constructor(columns: ColumnWriters, layouts: Layouts) {
    this.#columns = columns;
    this.#layouts = layouts;
  }

  add(value: Uint8Array): void {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    const lineFeed = bytes.indexOf(LINE_FEED);
    const headerEnd = lineFeed < 0 ? bytes.length : lineFeed;
    // Asked of all at once, since nearly all records are.
    const isText = isUtf8(bytes) && !bytes.includes(NUL);
    this.#header(bytes, headerEnd, isText || isUtf8(bytes.subarray(0, headerEnd)));
    const payload = lineFeed < 0 ? null : bytes.subarray(lineFeed + 1);
    const isPayloadText = isText || (payload !== null && isUtf8(payload) && !payload.includes(NUL));
    this.#columns.payload.add(isPayloadText ? payload : null);
    this.#columns.payload_bytes.add(isPayloadText ? null : payload);
  }

  #header(bytes: Buffer, end: number, isText: boolean): void {
    const taken = isText ? this.#layouts.take(bytes.toString('latin1', 0, end)) : undefined;
    const control = taken === undefined ? undefined : parsedControl(taken.fields.control);
    if (taken === undefined || control === undefined) this.#raw(bytes, end);
    else this.#taken(taken, control.value);
  }

  #taken({ layout, fields }: TakenHeader, control: unknown): void {
    this.#fields(fields);
    this.#control(control, fields.type);
    this.#columns.layout.add(layout.text);
    this.#columns.raw.add(null);
  }

  /** The header as it is, and what it says all the same. */
  #raw(bytes: Buffer, end: number): void {
    const { fields, control } = reported(bytes, end);
    this.#fields(fields);
    this.#control(control, fields.type);
    this.#columns.layout.add(null);
    this.#columns.raw.add(bytes.subarray(0, end));
  }

  #fields(fields: Partial<HeaderFields>): void {
    const columns = this.#columns;
    columns.event_id.add(fields.id ?? null);
    columns.tenant.add(fields.tenant ?? null);
    columns.workflow.add(fields.workflow ?? null);
    columns.generation.add(fields.generation ?? null);
    columns.lamport.add(fields.lamport ?? null);
    columns.epoch.add(fields.epoch ?? null);
    columns.holder.add(fields.holder ?? null);
    columns.ordinal.add(fields.ordinal ?? null);
    columns.written_at.add(fields.atMs ?? null);
    columns.type.add(fields.type ?? null);
    columns.control.add(fields.control ?? null);
    columns.payload_encoding.add(fields.payload ?? null);
    columns.data_key.add(fields.key ?? null);
  }

  #control(value: unknown, type: string | undefined): void {
    const columns = this.#columns;
    const control = (typeof value === 'object' ? value : null) as Readonly<Record<string, unknown>> | null;
    const isCheckpoint = type === 'CheckpointCommitted';
    const { sequence } = control ?? {};
    columns.sequence.add(Number.isSafeInteger(sequence) ? (sequence as number) : null);
    columns.step.add(textOf(control?.step));
    columns.checkpoint.add(textOf(control?.checkpoint));
    columns.task.add(textOf(control?.task));
    // Of checkpoints alone: a raise of a budget is no spend, and what a model call spent is in its step's checkpoint.
    columns.tokens.add(isCheckpoint ? amountOf(control?.tokens) : null);
    columns.cost_micros.add(isCheckpoint ? amountOf(control?.costMicros) : null);
    columns.effect_key.add(textOf(control?.key));
    columns.operation.add(textOf(control?.operation));
    columns.outcome.add(textOf(control?.outcome));
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const amountOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

/** Texts in it are Latin-1 strings of UTF-8 bytes. Undefined when it is no JSON, or none that other readers take. */
function parsedControl(text: string): { readonly value: unknown } | undefined {
  try {
    checkHeader(text);
    if (!text.includes('\\u')) return { value: JSON.parse(text) };
    if (UNSOUND.test(text)) return undefined;
    return { value: asLatin1(JSON.parse(Buffer.from(text, 'latin1').toString())) };
  } catch {
    return undefined;
  }
}

/** With its own texts, not those of members of members, as Latin-1 strings. */
function asLatin1(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, typeof member === 'string' ? latin1Of(member) : member]),
  );
}

const latin1Of = (text: string): string => Buffer.from(text).toString('latin1');

interface Reported {
  readonly fields: Partial<HeaderFields>;
  readonly control?: unknown;
}

/** What a record says whose header has no layout: all of an event, the little that any version has, or nothing. */
function reported(bytes: Buffer, end: number): Reported {
  const entry = decodeRecord(bytes);
  if (entry.kind === 'malformed') return { fields: {} };
  const { kind } = entry;
  const { workflow, generation, type } = kind === 'event' ? entry.envelope : entry;
  const fields = { workflow: latin1Of(workflow), generation, type: latin1Of(type) };
  if (kind === 'unknown') return { fields };
  const { id, tenant, lamport, epoch, holder, ordinal, atMs } = entry.envelope;
  const { text, value, payload = 'json' } = controlOf(bytes, end);
  const envelope = {
    ...{ ...fields, id: latin1Of(id), tenant: latin1Of(tenant), lamport, epoch, holder: latin1Of(holder), ordinal },
    ...(atMs <= TIME_MAX_MS && { atMs: Math.trunc(atMs) }),
    ...(text !== undefined && { control: text }),
    payload,
  };
  return { fields: envelope, control: value };
}

/** The control of a sound header, and how it holds the payload; without its text when other readers would refuse it. */
function controlOf(
  bytes: Buffer,
  end: number,
): { readonly text?: string; readonly value?: unknown; readonly payload?: string } {
  try {
    const header = JSON.parse(bytes.toString('utf8', 0, end)) as {
      readonly control: unknown;
      readonly payload: string;
    };
    const { control, payload } = header;
    const text = JSON.stringify(control);
    return UNSOUND.test(text) ? { payload } : { text: latin1Of(text), value: asLatin1(control), payload };
  } catch {
    return {};
  }
}
