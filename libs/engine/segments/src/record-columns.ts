/**
 * Owns the columns of a record: its divided header, its payload, and the parts of its control that queries use. Must not know how columns
 * are written, nor which records are next to it.
 */

import { isUtf8 } from 'node:buffer';
import { checkHeader, decodeRecord } from '@tidemark/codec';
import type { HeaderFields, Layouts, TakenHeader } from './header.ts';
import type { Columns } from './row-group-writer.ts';

const LINE_FEED = 0x0a;
const NUL = 0;
/** The latest time of JavaScript and of most databases, in milliseconds. */
const TIME_MAX_MS = 8.64e15;
/** Escapes of NUL and of lone surrogates: other readers refuse a JSON text with them. May also match escapes of valid pairs. */
const UNSOUND = /\\u(?:0000|d[89a-f])/i;

/** Adds a row's columns that follow from the record's bytes. */
export class RecordColumns {
  readonly #columns: Columns;
  readonly #layouts: Layouts;

  constructor(columns: Columns, layouts: Layouts) {
    this.#columns = columns;
    this.#layouts = layouts;
  }

  add(value: Uint8Array): void {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    const lineFeed = bytes.indexOf(LINE_FEED);
    const headerEnd = lineFeed < 0 ? bytes.length : lineFeed;
    // One test for the whole record, since nearly all are text.
    const isText = isUtf8(bytes) && !bytes.includes(NUL);
    this.#header(bytes, headerEnd, isText || isUtf8(bytes.subarray(0, headerEnd)));
    const payload = lineFeed < 0 ? null : bytes.subarray(lineFeed + 1);
    const isPayloadText = isText || (payload !== null && isUtf8(payload) && !payload.includes(NUL));
    this.#columns.payload.push(isPayloadText ? payload : null);
    this.#columns.payload_bytes.push(isPayloadText ? null : payload);
  }

  #header(bytes: Buffer, end: number, isText: boolean): void {
    const taken = isText ? this.#layouts.take(bytes.toString('utf8', 0, end)) : undefined;
    const control = taken === undefined ? undefined : parsedControl(taken.fields.control);
    if (taken === undefined || control === undefined) this.#raw(bytes, end);
    else this.#taken(taken, control.value);
  }

  #taken({ layout, fields }: TakenHeader, control: unknown): void {
    this.#fields(fields);
    this.#control(control, fields.type);
    this.#columns.layout.push(layout.text);
    this.#columns.raw.push(null);
  }

  /** Stores the header verbatim, and the columns that can be read from it. */
  #raw(bytes: Buffer, end: number): void {
    const { fields, control } = reported(bytes, end);
    this.#fields(fields);
    this.#control(control, fields.type);
    this.#columns.layout.push(null);
    this.#columns.raw.push(bytes.subarray(0, end));
  }

  #fields(fields: Partial<HeaderFields>): void {
    const columns = this.#columns;
    columns.event_id.push(fields.id ?? null);
    columns.tenant.push(fields.tenant ?? null);
    columns.workflow.push(fields.workflow ?? null);
    columns.generation.push(fields.generation ?? null);
    columns.lamport.push(fields.lamport ?? null);
    columns.epoch.push(fields.epoch ?? null);
    columns.holder.push(fields.holder ?? null);
    columns.ordinal.push(fields.ordinal ?? null);
    columns.written_at.push(fields.atMs ?? null);
    columns.type.push(fields.type ?? null);
    columns.control.push(fields.control ?? null);
    columns.payload_encoding.push(fields.payload ?? null);
    columns.data_key.push(fields.key ?? null);
  }

  #control(value: unknown, type: string | undefined): void {
    const columns = this.#columns;
    const control = (typeof value === 'object' ? value : null) as Readonly<Record<string, unknown>> | null;
    const isCheckpoint = type === 'CheckpointCommitted';
    const { sequence } = control ?? {};
    columns.sequence.push(Number.isSafeInteger(sequence) ? (sequence as number) : null);
    columns.step.push(textOf(control?.step));
    columns.checkpoint.push(textOf(control?.checkpoint));
    columns.task.push(textOf(control?.task));
    // Only for checkpoints: raising a budget spends nothing, and the cost of a model call is in its step's checkpoint.
    columns.tokens.push(isCheckpoint ? amountOf(control?.tokens) : null);
    columns.cost_micros.push(isCheckpoint ? amountOf(control?.costMicros) : null);
    columns.effect_key.push(textOf(control?.key));
    columns.operation.push(textOf(control?.operation));
    columns.outcome.push(textOf(control?.outcome));
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const amountOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

/** Undefined when it is no JSON, or JSON that other readers refuse. */
function parsedControl(text: string): { readonly value: unknown } | undefined {
  try {
    checkHeader(text);
    return text.includes('\\u') && UNSOUND.test(text) ? undefined : { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

interface Reported {
  readonly fields: Partial<HeaderFields>;
  readonly control?: unknown;
}

/** What can be read from a record whose header has no layout: all of an event, the few members of any version, or nothing. */
function reported(bytes: Buffer, end: number): Reported {
  const entry = decodeRecord(bytes);
  if (entry.kind === 'malformed') return { fields: {} };
  const { kind } = entry;
  const { workflow, generation, type } = kind === 'event' ? entry.envelope : entry;
  const fields = { workflow, generation, type };
  if (kind === 'unknown') return { fields };
  const { id, tenant, lamport, epoch, holder, ordinal, atMs } = entry.envelope;
  const { text, value, payload = 'json' } = controlOf(bytes, end);
  const envelope = {
    ...{ ...fields, id, tenant, lamport, epoch, holder, ordinal },
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
    return UNSOUND.test(text) ? { payload } : { text, value: control, payload };
  } catch {
    return {};
  }
}
