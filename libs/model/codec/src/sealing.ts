/**
 * Owns the encryption of events and rows: AES-256-GCM with the workflow's data key, over packed bytes where packing makes them smaller.
 * Everything that the fold reads stays clear, and is authenticated with the ciphertext: a sealed record opens only under its own header,
 * that is with its workflow, epoch and ordinal; a sealed text only in its own place. Must not know where keys come from.
 *
 * E1 A sealed record has version 2, so that a release that can't open it leaves the stream to a newer one, and rejects nothing.
 * E2 Bytes that were changed, cut, moved or sealed with another key don't open.
 */

import { createCipheriv, createDecipheriv, type KeyObject, randomFillSync } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { snappyCompress, snappyDecompress } from '@platformatic/wasm-utils';
import { CorruptError, ENVELOPE_VERSION, InvalidError } from '@tidemark/core';
import { SEALED_VERSION } from './schema.ts';

/** Bytes of one opened payload or text: one that claims to be larger is damaged. */
export const UNSEALED_MAX_BYTES = 64 * 1024 * 1024;
/** Payloads and texts of at least this many bytes are packed with snappy before they are sealed; smaller ones don't shrink. */
const SNAPPY_MIN_BYTES = 64;
/** From this size on they are packed with zstd instead, which takes ten times as long and saves a kilobyte (decision 0021). */
const ZSTD_MIN_BYTES = 4_096;
/** The fastest level: a record waits for it. */
const ZSTD_LEVEL = 1;

/** A data key, and the id by which sealed bytes name it. */
export interface SealingKey {
  readonly id: string;
  /** 32 bytes as a key object: given raw bytes, Node takes 22 µs to find out what they are. */
  readonly key: KeyObject;
}

const LINE_FEED = 0x0a;
const OPEN_HEAD = Buffer.from(`{"v":${ENVELOPE_VERSION},`);
const OPEN_TAIL = Buffer.from(',"payload":"json"}');
const SEALED_HEAD = Buffer.from(`{"v":${SEALED_VERSION},`);
const sealedTail = (key: string): string => `,"payload":"sealed","key":"${key}"}`;
const SEALED_TAIL_FORM = /,"payload":"sealed","key":"([0-9a-f-]{36})"\}$/;
const SEALED_TAIL_BYTES = sealedTail('0'.repeat(36)).length;

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NONCES_DRAWN_COUNT = 256;
/** The first sealed byte says how the plain bytes are packed. */
const PLAIN = 0;
const ZSTD = 1;
const SNAPPY = 2;
const FORMS = [Buffer.from([PLAIN]), Buffer.from([ZSTD]), Buffer.from([SNAPPY])] as const;
type Form = typeof PLAIN | typeof ZSTD | typeof SNAPPY;

/** Zstd's output buffers have this size, or a multiple of the packed size. */
const UNPACKED_PIECE_MIN_BYTES = 1_024;
const UNPACKED_PIECE_MAX_BYTES = 65_536;
const UNPACKED_PIECE_RATIO = 4;

const FRAME_BYTES = 1 + NONCE_BYTES + TAG_BYTES;
/** Most bytes that sealing adds to a record. */
export const SEALING_MAX_BYTES = FRAME_BYTES + SEALED_TAIL_BYTES;

const viewOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

interface Packed {
  readonly form: Form;
  readonly bytes: Uint8Array;
}

/** Writes `[form][nonce][ciphertext][tag]` at `at`; it is `FRAME_BYTES` longer than the packed bytes. */
function seal(out: Buffer, at: number, { form, bytes }: Packed, key: KeyObject, bound: Uint8Array): void {
  const nonce = nextNonce();
  const cipher = createCipheriv('aes-256-gcm', key, nonce, GCM);
  cipher.setAAD(bound).setAAD(FORMS[form]);
  out[at] = form;
  out.set(nonce, at + 1);
  out.set(cipher.update(bytes), at + 1 + NONCE_BYTES);
  cipher.final();
  out.set(cipher.getAuthTag(), at + 1 + NONCE_BYTES + bytes.length);
}

const GCM = { authTagLength: TAG_BYTES };

/** Drawn in bulk: a call for each would take 3 µs. */
const nonces = Buffer.alloc(NONCE_BYTES * NONCES_DRAWN_COUNT);
let noncesTaken = nonces.length;

/** A fresh nonce. A later call overwrites it, so the caller copies it at once. */
function nextNonce(): Buffer {
  if (noncesTaken === nonces.length) {
    randomFillSync(nonces);
    noncesTaken = 0;
  }
  const nonce = nonces.subarray(noncesTaken, noncesTaken + NONCE_BYTES);
  noncesTaken += NONCE_BYTES;
  return nonce;
}

/**
 * zstd makes texts a third smaller than snappy does, but Node makes a context for each call, both ways: 28 µs for a kilobyte, where snappy
 * takes 2. So small payloads use snappy and large ones zstd.
 */
function packed(plain: Buffer): Packed {
  const form = plain.length < ZSTD_MIN_BYTES ? SNAPPY : ZSTD;
  if (plain.length < SNAPPY_MIN_BYTES) return { form: PLAIN, bytes: plain };
  const bytes = form === SNAPPY ? snappyCompress(plain) : zstd(plain);
  return bytes.length < plain.length ? { form, bytes } : { form: PLAIN, bytes: plain };
}

const ZSTD_PARAMS = { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL };

/** The size hints keep zstd's tables and Node's buffers as small as the payload. */
const zstd = (plain: Buffer): Buffer =>
  zstdCompressSync(plain, { params: ZSTD_PARAMS, pledgedSrcSize: plain.length, chunkSize: plain.length });

/** Throws for a form that this release doesn't know. */
function unpacked(form: number | undefined, bytes: Buffer): Buffer {
  if (form === PLAIN) return bytes;
  if (form === ZSTD) return unpackedZstd(bytes);
  if (form !== SNAPPY)
    throw new InvalidError('form-unknown', `What is sealed is packed as ${form}, which is not known here.`);
  // Snappy allocates the claimed length, 7 bits a byte, before it unpacks anything.
  if (bytes[0]! > 0x7f && bytes[1]! > 0x7f) throw new InvalidError('length-invalid', 'It is too large for snappy.');
  return snappyDecompress(bytes);
}

/** 10 instead of 18 µs for a kilobyte. */
function unpackedZstd(bytes: Buffer): Buffer {
  const likely = Math.max(bytes.length * UNPACKED_PIECE_RATIO, UNPACKED_PIECE_MIN_BYTES);
  const chunkSize = Math.min(likely, UNPACKED_PIECE_MAX_BYTES);
  return zstdDecompressSync(bytes, { maxOutputLength: UNSEALED_MAX_BYTES, chunkSize });
}

/** Throws whatever the cipher or the unpacker throws. */
function open(sealed: Buffer, key: KeyObject, bound: Uint8Array): Buffer {
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, GCM);
  decipher.setAAD(bound).setAAD(sealed.subarray(0, 1));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  const body = decipher.update(sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES));
  decipher.final();
  return unpacked(sealed[0], body);
}

/** The record with its payload sealed. A record that isn't as `encodeRecord` writes it, or is sealed already, is returned unchanged. */
export function sealRecord(value: Uint8Array, { id, key }: SealingKey): Uint8Array {
  const record = viewOf(value);
  const end = record.indexOf(LINE_FEED);
  const tailAt = end - OPEN_TAIL.length;
  const isOurs = end > 0 && record.subarray(0, OPEN_HEAD.length).equals(OPEN_HEAD);
  if (!isOurs || !record.subarray(tailAt, end).equals(OPEN_TAIL)) return value;
  const payload = packed(record.subarray(end + 1));
  const headBytes = tailAt + SEALED_TAIL_BYTES;
  const sealed = Buffer.allocUnsafe(headBytes + 1 + FRAME_BYTES + payload.bytes.length);
  sealed.set(SEALED_HEAD);
  sealed.set(record.subarray(OPEN_HEAD.length, tailAt), SEALED_HEAD.length);
  sealed.write(sealedTail(id), tailAt, 'latin1');
  sealed[headBytes] = LINE_FEED;
  seal(sealed, headBytes + 1, payload, key, sealed.subarray(0, headBytes));
  return sealed;
}

const LINE_END = Buffer.from([LINE_FEED]);

/** The id of the key that sealed a record; undefined: it isn't sealed. */
export function sealedWith(value: Uint8Array): string | undefined {
  const record = viewOf(value);
  if (!record.subarray(0, SEALED_HEAD.length).equals(SEALED_HEAD)) return undefined;
  const end = record.indexOf(LINE_FEED);
  const tail = record.toString('latin1', Math.max(0, end - SEALED_TAIL_BYTES), Math.max(0, end));
  return SEALED_TAIL_FORM.exec(tail)?.[1];
}

/** Whether the payload of a record of the sealed version is sealed, here or in its blob; otherwise it is plain, in a blob. */
export function namesKey(value: Uint8Array): boolean {
  const record = viewOf(value);
  const end = record.indexOf(LINE_FEED);
  return ANY_SEALED_TAIL_FORM.test(record.toString('latin1', Math.max(0, end - ANY_SEALED_TAIL_MAX_BYTES), end));
}

const ANY_SEALED_TAIL_FORM = /,"payload":"sealed(?:-blob)?","key":"[0-9a-f-]{36}"\}$/;
const ANY_SEALED_TAIL_MAX_BYTES = SEALED_TAIL_BYTES + '-blob'.length;

/** Replaces a payload whose key was destroyed. */
const FORGOTTEN = Buffer.from('{}');

/**
 * The record as it was before it was sealed. `key` null: it was destroyed, and the payload is an empty object. Throws `CorruptError`
 * (`sealed-wrong`).
 */
export function openRecord(value: Uint8Array, key: KeyObject | null): Uint8Array {
  const record = viewOf(value);
  const end = record.indexOf(LINE_FEED);
  const header = record.subarray(0, end);
  const plainHeader = [OPEN_HEAD, header.subarray(SEALED_HEAD.length, end - SEALED_TAIL_BYTES), OPEN_TAIL, LINE_END];
  if (key === null) return Buffer.concat([...plainHeader, FORGOTTEN]);
  try {
    return Buffer.concat([...plainHeader, open(record.subarray(end + 1), key, header)]);
  } catch (cause) {
    throw wrong('A record', cause);
  }
}

const wrong = (what: string, cause: unknown): CorruptError =>
  new CorruptError(
    'sealed-wrong',
    `${what} can't be opened: it was changed, moved, or sealed with another key than the one it names. Nothing was taken from it.`,
    { cause },
  );

const TEXT_HEAD = 'sealed:';
const TEXT_HEAD_BYTES = `${TEXT_HEAD}${'0'.repeat(36)}:`.length;

/** Seals the text for its place, such as `checkpoints/w1/7`. */
export function sealText(text: string, place: string, { id, key }: SealingKey): string {
  const plain = packed(Buffer.from(text));
  const sealed = Buffer.allocUnsafe(FRAME_BYTES + plain.bytes.length);
  seal(sealed, 0, plain, key, Buffer.from(place));
  return `${TEXT_HEAD}${id}:${sealed.toString('base64')}`;
}

/** The id of the key that sealed a text; undefined: it isn't sealed. */
export const textSealedWith = (text: string): string | undefined =>
  text.startsWith(TEXT_HEAD) ? text.slice(TEXT_HEAD.length, TEXT_HEAD.length + 36) : undefined;

/** The text as it was before. `key` null: it was destroyed. Throws `CorruptError` (`sealed-wrong`). */
export function openText(text: string, place: string, key: KeyObject | null): string {
  if (key === null) return FORGOTTEN.toString();
  try {
    const sealed = Buffer.from(text.slice(TEXT_HEAD_BYTES), 'base64');
    // Node silently skips characters that aren't base64. A regular expression would take 80 ms for a megabyte.
    if (text.slice(TEXT_HEAD_BYTES) !== sealed.toString('base64'))
      throw new InvalidError('base64-invalid', 'It is not base64.');
    return open(sealed, key, Buffer.from(place)).toString();
  } catch (cause) {
    throw wrong(`What is stored at ${place}`, cause);
  }
}
