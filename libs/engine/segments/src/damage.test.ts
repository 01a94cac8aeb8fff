/**
 * Owns the tests of damage: whatever the bytes are, reading ends soon, with a segment or with a `CorruptError` that names the problem (S3).
 * The seal detects damage; when the seal was recomputed, the chain and the bounds of the format do. Each has its control.
 */

import { CorruptError, type Partition } from '@tidemark/core';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { CHAIN_START } from './chain.ts';
import { decodeSegment } from './decode-segment.ts';
import { encodeSegment } from './encode-segment.ts';
import { footerOf } from './footer.ts';
import { decodeManifest } from './manifest.ts';
import { sampleRecords } from './sample-records-fixture.ts';
import { textKeys } from './schema.ts';
import { NO_DIGEST, seal } from './seal.ts';

const { bytes } = encodeSegment({ partition: 3 as Partition, records: sampleRecords(), chainBefore: CHAIN_START });
const whole = Buffer.from(bytes);

function problemOf(file: Uint8Array): string {
  try {
    decodeSegment(file);
  } catch (error) {
    if (error instanceof CorruptError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'none';
}

/** The file with a change and a seal that matches it: only a forger can make this. */
function forged(change: (file: Buffer) => void): Buffer {
  const file = Buffer.from(whole);
  textIn(file, textKeys.digest).write(NO_DIGEST, 'latin1');
  change(file);
  seal(file);
  return file;
}

/** The value of a text in the footer: it follows the key, a type byte and a length byte. */
function textIn(file: Buffer, key: string): Buffer {
  const at = file.lastIndexOf(key) + key.length + 2;
  return file.subarray(at, at + file[at - 1]!);
}

describe('damage', () => {
  it('of any one byte, anywhere, is found', () => {
    for (let at = 0; at < whole.length; at++) {
      const file = Buffer.from(whole);
      file[at]! ^= 1 << (at % 8);
      expect(problemOf(file), `byte ${at}`).toMatch(/^segment-damaged: /);
    }
    // The control.
    expect(problemOf(whole)).toBe('none');
  });

  it('by being cut short anywhere, or by more at the end, is found', () => {
    for (let length = 0; length < whole.length; length++) {
      expect(problemOf(whole.subarray(0, length)), `${length} bytes`).toMatch(/^segment-damaged: /);
    }
    expect(problemOf(Buffer.concat([whole, Buffer.from([0])]))).toMatch(/^segment-damaged: /);
    expect(problemOf(Buffer.concat([whole, whole]))).toMatch(/^segment-damaged: /);
  });

  it('of the worst kind, any bytes at all, is found', () => {
    const any = fc.uint8Array({ maxLength: 400 });
    const framed = any.map((body) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(body.length);
      return Buffer.concat([Buffer.from('PAR1'), body, length, Buffer.from('PAR1')]);
    });
    fc.assert(
      fc.property(fc.oneof(any, framed), (file) => {
        expect(problemOf(file)).toMatch(/^segment-(damaged|foreign): /);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a forged seal', () => {
  it('alone changes nothing: the control', () => {
    expect(problemOf(forged(() => {}))).toBe('none');
    expect(forged(() => {})).toEqual(whole);
  });

  it('does not hide another payload, which the chain finds', () => {
    const records = sampleRecords().map((record) => ({ ...record }));
    const other = Buffer.from(records[3]!.value);
    other.write('0', other.lastIndexOf('Here'));
    records[3]!.value = other;
    const changed = encodeSegment({ partition: 3 as Partition, records, chainBefore: CHAIN_START });
    const file = Buffer.from(changed.bytes);
    expect(problemOf(file)).toBe('none');
    // The records are changed, and the chain is still the old one.
    textIn(file, textKeys.digest).write(NO_DIGEST, 'latin1');
    textIn(file, textKeys.chainAfter).set(textIn(whole, textKeys.chainAfter));
    seal(file);
    expect(problemOf(file)).toContain('its records are not those of its chain');
  });

  it('does not hide another place', () => {
    const changes: readonly (readonly [string, string])[] = [
      [textKeys.partition, '4'],
      [textKeys.to, '23'],
      [textKeys.to, '99'],
      [textKeys.from, '1'],
      [textKeys.to, 'ab'],
      [textKeys.chainBefore, `1${CHAIN_START.slice(1)}`],
      [textKeys.chainBefore, `X${CHAIN_START.slice(1)}`],
    ];
    for (const [key, value] of changes) {
      const file = forged((each) => textIn(each, key).write(value, 'latin1'));
      expect(problemOf(file), `${key} ${value}`).toMatch(/^segment-damaged: /);
    }
  });

  it('on any other damage ends in the same records or in a CorruptError', () => {
    const flip = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }));
    // Most of the file is footer: aim at the rest as often.
    const inPages = fc.tuple(fc.nat(footerOf(whole).at), fc.integer({ min: 1, max: 255 }));
    fc.assert(
      fc.property(fc.array(fc.oneof(flip, inPages), { minLength: 1, maxLength: 3 }), (flips) => {
        const file = Buffer.from(whole);
        for (const [at, by] of flips) file[at]! ^= by;
        try {
          textIn(file, textKeys.digest).write(NO_DIGEST, 'latin1');
          seal(file);
        } catch {
          // The footer is too damaged to be sealed.
        }
        const problem = problemOf(file);
        if (problem !== 'none') expect(problem).toMatch(/^segment-(damaged|newer): /);
        else
          expect(decodeSegment(file).records.map(({ value }) => value)).toEqual(
            sampleRecords().map(({ value }) => value),
          );
      }),
      { numRuns: 1_500 },
    );
  });
});

describe('other files', () => {
  it('foreign ones are told from damaged ones', () => {
    const columnData = [{ name: 'a', data: ['x', 'y'], type: 'STRING' as const }];
    const foreign = new Uint8Array(parquetWriteBuffer({ columnData }));
    expect(problemOf(foreign)).toMatch(/^segment-foreign: /);
    const many = Array.from({ length: 20_000 }, (_, index) => ({ ...columnData[0]!, name: `column-${index}` }));
    expect(problemOf(new Uint8Array(parquetWriteBuffer({ columnData: many })))).toMatch(/^segment-foreign: /);
    expect(problemOf(foreign.subarray(1))).toMatch(/^segment-damaged: /);
  });

  it('those of a newer version are told from damaged ones', () => {
    const newer = forged((file) => textIn(file, textKeys.version).write('2'));
    expect(problemOf(newer)).toMatch(/^segment-newer: .*version 2.*reads 1\./);
    // The control: without a matching seal the same is damage.
    const damaged = Buffer.from(whole);
    textIn(damaged, textKeys.version).write('3');
    expect(problemOf(damaged)).toMatch(/^segment-damaged: /);
    expect(problemOf(forged((file) => textIn(file, textKeys.version).write('0')))).toMatch(/^segment-damaged: /);
  });

  it('a manifest of a newer version, too, whatever else it holds', () => {
    const reads = (text: string) => () => decodeManifest('m', Buffer.from(text));
    expect(reads('{"v":2,"other":[]}')).toThrow(expect.objectContaining({ code: 'manifest-newer' }));
    expect(reads('{"v":1,"other":[]}')).toThrow(expect.objectContaining({ code: 'manifest-damaged' }));
  });
});
