/** What is packed with streams that are used again is what zstd packs and unpacks, value after value; without them it is the same. */

import { createZstdCompress, createZstdDecompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UNSEALED_MAX_BYTES } from './limits.ts';
import { type Again, packed, proven, unpacked, usedAgain } from './quick-zstd.ts';

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 3_000 }),
  fc.json({ maxDepth: 4 }).map((text) => Buffer.from(text.repeat(20))),
  fc.nat({ max: 200_000 }).map((length) => Buffer.alloc(length, 'said again, ')),
);

it('any zstd unpacks what is packed, and what any packed is unpacked', () => {
  fc.assert(
    fc.property(bytes, (given) => {
      const small = Buffer.from(packed(given));
      expect(Buffer.compare(zstdDecompressSync(small), given)).toBe(0);
      expect(Buffer.compare(unpacked(small), given)).toBe(0);
      expect(Buffer.compare(unpacked(zstdCompressSync(given)), given)).toBe(0);
    }),
  );
});

it('what is damaged, cut or too large fails, and what comes after it does not', () => {
  const given = Buffer.from('{"said":"this and that, that and this"}'.repeat(30));
  const small = Buffer.from(packed(given));
  const changed = Buffer.from(small);
  changed[0]! ^= 0xff;
  const bomb = zstdCompressSync(Buffer.alloc(UNSEALED_MAX_BYTES + 1));
  expect(bomb.length).toBeLessThan(16_384);
  for (const wrong of [changed, Buffer.from('none'), small.subarray(0, -1), Buffer.alloc(0), bomb]) {
    expect(() => unpacked(wrong)).toThrow();
    expect(Buffer.compare(unpacked(small), given)).toBe(0);
  }
});

describe('streams', () => {
  it('are used again by this Node: the quick way is the one that is taken', () => {
    const given = Buffer.from('abc'.repeat(100));
    let made = 0;
    const counted = <S>(stream: S): S => {
      made++;
      return stream;
    };
    const pack = usedAgain(() => counted(createZstdCompress()));
    const unpack = usedAgain(() => counted(createZstdDecompress()));
    for (let n = 0; n < 50; n++) expect(Buffer.compare(unpack(Buffer.from(pack(given)!))!, given)).toBe(0);
    expect(made).toBe(2);
    expect(unpack(given)).toBeUndefined();
    expect(Buffer.compare(unpack(zstdCompressSync(given))!, given)).toBe(0);
    expect(made).toBe(3);
  });

  it('that are not as they are known are not used', () => {
    expect(usedAgain(() => ({}) as ReturnType<typeof createZstdCompress>)(Buffer.from('x'))).toBeUndefined();
  });

  it('that give anything else than the documented call are not used', () => {
    let calls = 0;
    const wrong: readonly Again[] = [
      () => undefined,
      () => Buffer.from('else'),
      (given) => (calls++ === 0 ? Buffer.from(given) : Buffer.alloc(0)),
    ];
    const sample = Buffer.from(JSON.stringify({ said: 'What is packed is what is unpacked. '.repeat(20) }));
    for (const again of wrong) expect(proven(again, sample, (done) => done)).toBeUndefined();
    expect(
      proven(
        (given) => Buffer.from(given),
        sample,
        (done) => done,
      ),
    ).toBeDefined(); // the control
  });
});
