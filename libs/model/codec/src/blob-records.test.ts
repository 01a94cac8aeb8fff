/**
 * Owns the tests of records whose payload is in a blob: they fold without it (E3), and equal the original byte for byte once the payload is
 * back.
 */

import { generateKeySync, hash } from 'node:crypto';
import { BLOB_REFERENCE_MAX_BYTES, blobReferenceOf, blobReferenceText } from '@tidemark/ports';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BLOB_HEADER_MAX_BYTES,
  recordBlob,
  referringRecord,
  type SplitRecord,
  splitRecord,
  withPayload,
} from './blob-records.ts';
import { decodePayload, decodeRecord } from './record.ts';
import { envelope, recordOf } from './record-fixture.ts';
import { openRecord, SEALING_MAX_BYTES, sealedWith, sealRecord } from './sealing.ts';

const key = { id: '01890000-0000-7000-8000-000000000001', key: generateKeySync('aes', { length: 256 }) };

const referenceTo = ({ payload }: SplitRecord) => ({ digest: hash('sha256', payload), bytes: payload.length });

function referring(record: Uint8Array): Uint8Array {
  const split = splitRecord(record)!;
  return referringRecord(split.header, referenceTo(split));
}

describe.each([
  ['a record', (record: Uint8Array) => record],
  ['a sealed record', (record: Uint8Array) => sealRecord(record, key)],
])('%s', (_, made) => {
  it('is made of its header and its payload again', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), (payload) => {
        const record = made(recordOf(payload));
        const split = splitRecord(record)!;
        const short = referring(record);
        expect(recordBlob(short)).toEqual({ ...referenceTo(split), workflow: envelope.workflow });
        expect(Buffer.compare(withPayload(short, split.payload), record)).toBe(0);
        const headBytes = record.length - split.payload.length;
        expect(short.length).toBeLessThanOrEqual(headBytes + BLOB_HEADER_MAX_BYTES + BLOB_REFERENCE_MAX_BYTES);
      }),
    );
  });

  it('folds without its blob, as version 2', () => {
    const short = decodeRecord(referring(made(recordOf(Buffer.from('{"a":1}')))));
    expect(short).toMatchObject({ kind: 'event', envelope: { ...envelope, v: 2 } });
  });

  it('names no blob by itself, and is not taken apart twice', () => {
    const record = made(recordOf(Buffer.from('{"a":1}')));
    expect(recordBlob(record)).toBeUndefined();
    expect(splitRecord(referring(record))).toBeUndefined();
  });

  it('is told from one whose payload can be read', () => {
    const entry = decodeRecord(referring(made(recordOf(Buffer.from('{"a":1}')))));
    const { payload } = entry as { payload: Uint8Array };
    for (const closed of [payload, Buffer.from(payload).toString()]) {
      expect(() => decodePayload('StepFailed', closed)).toThrow(expect.objectContaining({ code: 'history-in-blobs' }));
    }
  });
});

describe('what is no record of ours', () => {
  it('is neither taken apart nor taken for one that names a blob', () => {
    const reference = blobReferenceText({ digest: 'a'.repeat(64), bytes: 3 });
    const foreign = [
      '',
      'x',
      '\n',
      '{"v":1,"payload":"json"} \nnull',
      `{"v":2,"workflow":1,"payload":"blob"}\n${reference}`,
      `{"v":2,"workflow":"w,"payload":"blob"}\n${reference}`,
      `{"payload":"blob","v":2}\n${reference}`,
      `{"v":1,"payload":"blob"}\n${reference}`,
      `{"v":2,"payload":"json"}\n${reference}`,
      `{"v":2,"payload":"sealed"}\n${reference}`,
      `{"v":2,"payload":"blob","key":"${key.id}"}\n${reference}`,
      `{"v":2,"payload":"sealed-blob"}\n${reference}`,
      `{"v":2,"payload":"blob"}\n${reference} `,
      '{"v":2,"payload":"blob"}\nnothing',
    ];
    for (const value of foreign) {
      expect(splitRecord(Buffer.from(value))).toBeUndefined();
      expect(recordBlob(Buffer.from(value))).toBeUndefined();
    }
  });

  it('with the header of one and other bytes is malformed where columns could not hold it', () => {
    const short = Buffer.from(referring(recordOf(Buffer.from('{}'))));
    short[short.length - 1] = 0;
    expect(decodeRecord(short)).toMatchObject({ kind: 'malformed', problem: 'the payload holds a NUL byte' });
  });
});

it('a sealed record whose payload is in a blob is not taken for a sealed one, and opens once it has it', () => {
  const record = recordOf(Buffer.from('{"a":1}'));
  const sealed = sealRecord(record, key);
  const short = referring(sealed);
  expect(sealedWith(short)).toBeUndefined();
  expect(short.length - record.length).toBeLessThanOrEqual(SEALING_MAX_BYTES + BLOB_REFERENCE_MAX_BYTES);
  const whole = withPayload(short, splitRecord(sealed)!.payload);
  expect(Buffer.compare(openRecord(whole, key.key), record)).toBe(0);
});

it('a reference is one text, and nothing else is taken for one', () => {
  const reference = { digest: 'ab'.repeat(32), bytes: 536_870_912 };
  expect(blobReferenceOf(blobReferenceText(reference))).toEqual(reference);
  const digest = 'a'.repeat(64);
  for (const text of ['', 'blob:', `blob:${digest}`, `blob:${digest}:`, `blob:${digest}:01`, `blob:${digest}:-1`])
    expect(blobReferenceOf(text)).toBeUndefined();
  for (const text of [`blob:${digest.toUpperCase()}:1`, ` blob:${digest}:1`, `blob:${digest}:1\n`, `{"a":"blob:"}`])
    expect(blobReferenceOf(text)).toBeUndefined();
});
