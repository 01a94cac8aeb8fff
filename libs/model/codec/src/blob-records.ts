/**
 * Owns records whose payload is in a blob: the header stays, so that folding needs no blob, and a text that names the blob replaces the
 * payload. The change is reversible, byte for byte. Must not put or get blobs.
 *
 * E3 Like a sealed record it has version 2: a release that doesn't know blobs leaves the stream to a newer one.
 */

import { ENVELOPE_VERSION, type WorkflowId } from '@tidemark/core';
import { type BlobReference, blobReferenceOf, blobReferenceText } from '@tidemark/ports';
import { SEALED_VERSION } from './schema.ts';

/** A record, divided. */
export interface SplitRecord {
  /** Without the line feed. */
  readonly header: Buffer;
  readonly payload: Buffer;
  readonly workflow: WorkflowId;
}

/** The blob of a record, among those of the workflow that its header names. */
export interface RecordBlob extends BlobReference {
  readonly workflow: WorkflowId;
}

const LINE_FEED = 0x0a;
const LINE_END = Buffer.from([LINE_FEED]);
const PLAIN_HEAD = `{"v":${ENVELOPE_VERSION},`;
const LATER_HEAD = `{"v":${SEALED_VERSION},`;
const HEAD_BYTES = PLAIN_HEAD.length;

/** How headers end: with the payload in the record, plain or sealed, and with the same in a blob. */
const INLINE = /,"payload":"(json|sealed)"(,"key":"[0-9a-f-]{36}")?\}$/;
const ELSEWHERE = /,"payload":"(blob|sealed-blob)"(,"key":"[0-9a-f-]{36}")?\}$/;
const TAIL_MAX_BYTES = `,"payload":"sealed-blob","key":"${'0'.repeat(36)}"}`.length;
const OTHER = { json: 'blob', sealed: 'sealed-blob', blob: 'json', 'sealed-blob': 'sealed' } as const;
type Form = keyof typeof OTHER;

const HEADS: { readonly [form in Form]: string } = {
  json: PLAIN_HEAD,
  sealed: LATER_HEAD,
  blob: LATER_HEAD,
  'sealed-blob': LATER_HEAD,
};

/** Most bytes that naming a blob adds to a header. */
export const BLOB_HEADER_MAX_BYTES = '-blob'.length;

const viewOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

interface Found {
  readonly end: number;
  readonly tailAt: number;
  readonly form: Form;
  readonly key: string;
}

/** Undefined: the record isn't as we write it, or its payload is in a blob already (or still here). */
function formOf(record: Buffer, tails: RegExp): Found | undefined {
  const end = record.indexOf(LINE_FEED);
  if (end < HEAD_BYTES) return undefined;
  const found = tails.exec(record.toString('latin1', Math.max(0, end - TAIL_MAX_BYTES), end));
  if (found === null) return undefined;
  const [tail, form, key = ''] = found as unknown as readonly [string, Form, string?];
  const isOurs = form.startsWith('sealed') === (key !== '') && record.toString('latin1', 0, HEAD_BYTES) === HEADS[form];
  return isOurs ? { end, tailAt: end - tail.length, form, key } : undefined;
}

/** The header in its other form. */
const otherHeader = (record: Buffer, { tailAt, form, key }: Found): Buffer =>
  Buffer.concat([
    Buffer.from(HEADS[OTHER[form]]),
    record.subarray(HEAD_BYTES, tailAt),
    Buffer.from(`,"payload":"${OTHER[form]}"${key}}`),
  ]);

/** Divides a record; undefined when it isn't an event as we write it, or its payload is in a blob. */
export function splitRecord(value: Uint8Array): SplitRecord | undefined {
  const record = viewOf(value);
  const found = formOf(record, INLINE);
  const workflow = found && workflowIn(record, found);
  if (workflow === undefined) return undefined;
  return { header: otherHeader(record, found!), payload: record.subarray(found!.end + 1), workflow };
}

/** The record that names a blob instead of its payload. `header`: from `splitRecord`. */
export const referringRecord = (header: Uint8Array, reference: BlobReference): Uint8Array =>
  Buffer.concat([header, LINE_END, Buffer.from(blobReferenceText(reference))]);

/** The blob that holds a record's payload; undefined: the record holds it itself. */
export function recordBlob(value: Uint8Array): RecordBlob | undefined {
  const record = viewOf(value);
  // A cheap test first, because it runs for every record that is read.
  if (record[HEAD_BYTES - 2] !== LATER_HEAD.charCodeAt(HEAD_BYTES - 2)) return undefined;
  const found = formOf(record, ELSEWHERE);
  const blob = found && blobReferenceOf(record.toString('latin1', found.end + 1));
  const workflow = blob && workflowIn(record, found!);
  return workflow === undefined ? undefined : { ...blob!, workflow };
}

/** Undefined: the header is none. */
function workflowIn(record: Buffer, { end }: Found): WorkflowId | undefined {
  try {
    const { workflow } = JSON.parse(record.toString('utf8', 0, end)) as { readonly workflow?: unknown };
    return typeof workflow === 'string' ? (workflow as WorkflowId) : undefined;
  } catch {
    return undefined;
  }
}

/** The original record, with its payload. `value`: a record for which `recordBlob` returns a blob. */
export function withPayload(value: Uint8Array, payload: Uint8Array): Uint8Array {
  const record = viewOf(value);
  const found = formOf(record, ELSEWHERE)!;
  return Buffer.concat([otherHeader(record, found), LINE_END, payload]);
}
