/** Owns the tests of packing: unpacking restores the bytes, for every number ever used, and never exceeds its limit. */

import { createHash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { pack, UNPACKED_MAX_BYTES, unpack } from './packing.ts';
import { dictionary1 } from './packing-dictionary-1.ts';

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');
const RECORD = Buffer.from(
  `{"v":1,"id":"01a2028f-a144-79e4-8231-eb420a29932a","tenant":"default","workflow":"01a2028f-a087-7909-955d-e713b05481fa","generation":1,"lamport":26,"epoch":1,"holder":"worker-01a2028f-a086-7d59-926e-70e8e1d1cec6","ordinal":9,"atMs":1795339297092,"type":"CheckpointReserved","control":{"checkpoint":"01a2028f-a143-7d41-a62d-299396879293","task":"3.0"},"payload":"json"}\nnull`,
);

describe('packing', () => {
  it('gives back the bytes of a record, which take less than half', () => {
    const packed = pack(RECORD);
    expect(packed.packing).toBe(1);
    expect(packed.bytes.length).toBeLessThan(RECORD.length / 2);
    expect(Buffer.from(unpack(packed))).toEqual(RECORD);
  });

  it('takes less with a base that has the same ids, and needs that base again', () => {
    const base = Buffer.from(RECORD.toString().replaceAll('a144', 'b000'));
    const packed = pack(RECORD, base);
    expect(packed.bytes.length).toBeLessThan(pack(RECORD).bytes.length / 2);
    expect(Buffer.from(unpack(packed, base))).toEqual(RECORD);
    const unpackedWithout = (): string => Buffer.from(unpack(packed)).toString();
    expect(outcome(unpackedWithout)).not.toBe(RECORD.toString());
  });

  it('leaves what would not become smaller, and what is larger than the limit', () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from('8f'), Buffer.alloc(UNPACKED_MAX_BYTES + 1, 'x')]) {
      expect(pack(bytes)).toEqual({ bytes, packing: 0 });
      expect(unpack({ bytes, packing: 0 })).toBe(bytes);
    }
    const largest = Buffer.alloc(UNPACKED_MAX_BYTES, 'x');
    expect(Buffer.from(unpack(pack(largest)))).toEqual(largest);
  });

  it('gives back ids and marks, wherever they stand', () => {
    const digest = sha256('a');
    const uuid = '01a2028f-a144-79e4-8231-eb420a29932a';
    const long = Array.from({ length: 2_000 }, (_, at) => sha256(String(at))).join('');
    for (const text of [
      digest,
      `${digest}${digest.slice(1)}`,
      `${digest} ${digest} ${uuid}`,
      `"${uuid}" and ${uuid.toUpperCase()} in \x01 text \x02`,
      `\x01${digest}`,
      `${sha256('b')}, ${uuid}é\u{1f600}`,
      'x'.repeat(100),
      long,
      `${long}${sha256('many')}`.repeat(2),
    ]) {
      const packed = pack(Buffer.from(text));
      expect(Buffer.from(unpack(packed)).toString()).toBe(text);
      const base = Buffer.from(uuid);
      expect(Buffer.from(unpack(pack(Buffer.from(text), base), base)).toString()).toBe(text);
    }
    const drawn = createHash('sha512').update('bytes').digest();
    const binary = Buffer.concat([Buffer.alloc(500, 1), drawn, Buffer.alloc(500, 2)]);
    expect(Buffer.from(unpack(pack(binary)))).toEqual(binary);
  });

  it('refuses ids that no mark asks for, and marks without an id', () => {
    const { bytes } = pack(Buffer.from(`"${sha256('a')}" ${'x'.repeat(100)}`));
    const ids = bytes.subarray(2, 34);
    expect(ids.length).toBe(Buffer.from(bytes).readUInt16BE());
    for (const wrong of [Buffer.concat([ids, ids]), ids.subarray(0, 30)]) {
      const damaged = Buffer.concat([Buffer.from([0, wrong.length]), wrong, bytes.subarray(34)]);
      expect(() => unpack({ bytes: damaged, packing: 1 })).toThrow(
        expect.objectContaining({ code: 'packing-damaged' }),
      );
    }
  });

  it('refuses bytes that would become too large', () => {
    const dictionary = Buffer.from(dictionary1);
    const deflated = deflateRawSync(Buffer.alloc(50_000_000), { dictionary });
    const bomb = Buffer.concat([Buffer.alloc(2), deflated]);
    expect(bomb.length).toBeLessThan(UNPACKED_MAX_BYTES);
    // The control: without the limit they inflate in full.
    expect(inflateRawSync(deflated, { dictionary }).length).toBe(50_000_000);
    expect(() => unpack({ bytes: bomb, packing: 1 })).toThrow(
      expect.objectContaining({ name: 'CorruptError', code: 'packing-damaged' }),
    );
  });

  it('refuses bytes that were cut, or never packed', () => {
    const { bytes } = pack(RECORD);
    for (const damaged of [bytes.subarray(0, bytes.length - 5), Buffer.from([0xff, 0xff, 0xff]), new Uint8Array()]) {
      expect(() => unpack({ bytes: damaged, packing: 1 })).toThrow(
        expect.objectContaining({ code: 'packing-damaged' }),
      );
    }
  });

  it('refuses a packing of a later version', () => {
    for (const packing of [2, 99, -1]) {
      expect(() => unpack({ bytes: RECORD, packing: packing as 1 })).toThrow(
        expect.objectContaining({ name: 'CorruptError', code: 'packing-unknown' }),
      );
    }
  });

  it('P1: dictionary 1 is what it was, and reads what was packed with it then', () => {
    expect(sha256(dictionary1)).toBe('b444ff6e3de8456881a2946556c5b432033d017d66ddb65314f8461e1aa90f98');
    const packed = Buffer.from(
      'ACieSCMetCCimTKgkJlV3nE7BUgfoNWZJucOjh0c7GDUGmLSmTloeSkwQ0nHBoaJRgZGFmm6iYYmJrrmTATTNUKDgYU5RANKOkdK4UZ4UziyQWYQg3DXD5bmBlh7hES0+JF9aAz1IaIOwdUDAAA=',
      'base64',
    );
    expect(Buffer.from(unpack({ bytes: packed, packing: 1 }))).toEqual(RECORD);
  });
});

function outcome(work: () => string): string {
  try {
    return work();
  } catch (error) {
    return String(error);
  }
}
