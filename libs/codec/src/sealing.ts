/**
 * Owns the encryption of what events and rows hold: AES-256-GCM with the workflow's data key, small texts as they are and others packed
 * first. Everything that the fold reads stays clear, and is bound to what it stands beside: a sealed record opens only under its own
 * header, that is with its workflow, epoch and ordinal; a sealed text only in its own place. Must not know where keys come from.
 *
 * E1 A sealed record has version 2, so that a release that can't open it leaves the stream to a newer one, and rejects nothing.
 * E2 What was changed, cut, moved or sealed with another key does not open.
 */

import { createCipheriv, createDecipheriv, type KeyObject, randomFillSync } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { CorruptError, ENVELOPE_VERSION, InvalidError } from '@tidemark/core';
import { UNSEALED_MAX_BYTES } from './limits.ts';
import { SEALED_VERSION } from './schema.ts';

/** A data key under the id by which what it sealed names it. */
export interface SealingKey {
  readonly id: string;
  /** 32 bytes, as the cipher takes them: of the bytes themselves Node asks first whether they are a key object, in 22 µs. */
  readonly key: KeyObject;
}

const LINE_FEED = 0x0a;
const OPEN_HEAD = Buffer.from(`{"v":${ENVELOPE_VERSION},`);
const OPEN_TAIL = Buffer.from(',"payload":"json"}');
const SEALED_HEAD = Buffer.from(`{"v":${SEALED_VERSION},`);
const SEALED_TAIL = (key: string): Buffer => Buffer.from(`,"payload":"sealed","key":"${key}"}`);
const SEALED_TAIL_FORM = /,"payload":"sealed","key":"([0-9a-f-]{36})"\}$/;
const SEALED_TAIL_BYTES = SEALED_TAIL('0'.repeat(36)).length;

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NONCES_DRAWN_COUNT = 256;
/** First byte of what is sealed: how the plain bytes are held. */
const PLAIN = 0;
const ZSTD = 1;
/** Below this packing wins nothing. */
const PACKED_MIN_BYTES = 256;
/** Of texts in rows: what is plain and shorter, Postgres doesn't pack either, and it is written while a projection waits. */
const PACKED_TEXT_MIN_BYTES = 2_048;

/** The quickest level: a record waits for it. */
const ZSTD_LEVEL = 1;
/** Unpacked bytes are gathered in pieces of this size, or of so many times the packed ones. */
const UNPACKED_PIECE_MIN_BYTES = 1_024;
const UNPACKED_PIECE_MAX_BYTES = 65_536;
const UNPACKED_PIECE_RATIO = 4;

/** Bytes by which sealing makes a record longer, at most. */
export const SEALING_MAX_BYTES = 1 + NONCE_BYTES + TAG_BYTES + SEALED_TAIL_BYTES;

const viewOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** `[form][nonce][ciphertext][tag]`, piece by piece. */
function seal(plain: Uint8Array, key: KeyObject, bound: Uint8Array, packedMinBytes: number): readonly Uint8Array[] {
  const small = plain.length < packedMinBytes ? plain : packed(plain);
  const isPacked = small.length < plain.length;
  const form = FORMS[isPacked ? ZSTD : PLAIN];
  const nonce = nextNonce();
  const cipher = createCipheriv('aes-256-gcm', key, nonce, GCM);
  cipher.setAAD(bound).setAAD(form);
  const body = cipher.update(isPacked ? small : plain);
  cipher.final();
  return [form, nonce, body, cipher.getAuthTag()];
}

const GCM = { authTagLength: TAG_BYTES };
const FORMS = [Buffer.from([PLAIN]), Buffer.from([ZSTD])] as const;

/** Drawn together: a call for each would take 3 µs. */
const nonces = Buffer.alloc(NONCE_BYTES * NONCES_DRAWN_COUNT);
let noncesTaken = nonces.length;

/** One that nothing was sealed with before. It is overwritten by a later one: what is sealed takes a copy at once. */
function nextNonce(): Buffer {
  if (noncesTaken === nonces.length) {
    randomFillSync(nonces);
    noncesTaken = 0;
  }
  const nonce = nonces.subarray(noncesTaken, noncesTaken + NONCE_BYTES);
  noncesTaken += NONCE_BYTES;
  return nonce;
}

const PACKING = { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL };

/** What is told of sizes keeps zstd's tables and Node's buffers as small as a payload: 15 instead of 33 µs for a kilobyte. */
const packed = (plain: Uint8Array): Buffer =>
  zstdCompressSync(plain, { params: PACKING, pledgedSrcSize: plain.length, chunkSize: plain.length });

/** 10 instead of 18 µs for a kilobyte. */
function unpacked(bytes: Uint8Array): Buffer {
  const likely = Math.max(bytes.length * UNPACKED_PIECE_RATIO, UNPACKED_PIECE_MIN_BYTES);
  const chunkSize = Math.min(likely, UNPACKED_PIECE_MAX_BYTES);
  return zstdDecompressSync(bytes, { maxOutputLength: UNSEALED_MAX_BYTES, chunkSize });
}

/** Throws whatever the cipher or the decompressor throws. */
function open(sealed: Buffer, key: KeyObject, bound: Uint8Array): Buffer {
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, GCM);
  decipher.setAAD(bound).setAAD(sealed.subarray(0, 1));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  const body = decipher.update(sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES));
  decipher.final();
  return sealed[0] === ZSTD ? unpacked(body) : body;
}

/** The record with its payload sealed. A record that isn't as `encodeRecord` writes it, or is sealed already, stays as it is. */
export function sealRecord(value: Uint8Array, { id, key }: SealingKey): Uint8Array {
  const record = viewOf(value);
  const end = record.indexOf(LINE_FEED);
  const tailAt = end - OPEN_TAIL.length;
  const isOurs = end > 0 && record.subarray(0, OPEN_HEAD.length).equals(OPEN_HEAD);
  if (!isOurs || !record.subarray(tailAt, end).equals(OPEN_TAIL)) return value;
  const header = Buffer.concat([SEALED_HEAD, record.subarray(OPEN_HEAD.length, tailAt), SEALED_TAIL(id)]);
  return Buffer.concat([header, LINE_END, ...seal(record.subarray(end + 1), key, header, PACKED_MIN_BYTES)]);
}

const LINE_END = Buffer.from([LINE_FEED]);

/** The id of the key that a record was sealed with; undefined: it isn't sealed. */
export function sealedWith(value: Uint8Array): string | undefined {
  const record = viewOf(value);
  if (!record.subarray(0, SEALED_HEAD.length).equals(SEALED_HEAD)) return undefined;
  const end = record.indexOf(LINE_FEED);
  const tail = record.toString('latin1', Math.max(0, end - SEALED_TAIL_BYTES), Math.max(0, end));
  return SEALED_TAIL_FORM.exec(tail)?.[1];
}

/** Whether the payload of a record of the later version is sealed, here or in its blob; else it is plain, in a blob. */
export function namesKey(value: Uint8Array): boolean {
  const record = viewOf(value);
  const end = record.indexOf(LINE_FEED);
  return ANY_SEALED_TAIL_FORM.test(record.toString('latin1', Math.max(0, end - ANY_SEALED_TAIL_MAX_BYTES), end));
}

const ANY_SEALED_TAIL_FORM = /,"payload":"sealed(?:-blob)?","key":"[0-9a-f-]{36}"\}$/;
const ANY_SEALED_TAIL_MAX_BYTES = SEALED_TAIL_BYTES + '-blob'.length;

/** What stands for a payload whose key was destroyed. */
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

/** The text sealed for its place, such as `checkpoints/w1/7`, as text. */
export function sealText(text: string, place: string, { id, key }: SealingKey): string {
  const sealed = seal(Buffer.from(text), key, Buffer.from(place), PACKED_TEXT_MIN_BYTES);
  return `${TEXT_HEAD}${id}:${Buffer.concat(sealed).toString('base64')}`;
}

/** The id of the key that a text was sealed with; undefined: it isn't sealed. */
export const textSealedWith = (text: string): string | undefined =>
  text.startsWith(TEXT_HEAD) ? text.slice(TEXT_HEAD.length, TEXT_HEAD.length + 36) : undefined;

/** The text as it was before. `key` null: it was destroyed. Throws `CorruptError` (`sealed-wrong`). */
export function openText(text: string, place: string, key: KeyObject | null): string {
  if (key === null) return FORGOTTEN.toString();
  try {
    const sealed = Buffer.from(text.slice(TEXT_HEAD_BYTES), 'base64');
    // What is no base64 is left out without a word. A regular expression would take 80 ms for a megabyte.
    if (text.slice(TEXT_HEAD_BYTES) !== sealed.toString('base64'))
      throw new InvalidError('base64-invalid', 'No base64.');
    return open(sealed, key, Buffer.from(place)).toString();
  } catch (cause) {
    throw wrong(`What is stored at ${place}`, cause);
  }
}
