/** Owns the tests of names: parsing restores what they were made of, they sort as offsets do, and no other name is parsed. */

import { InvalidError, type Offset, type Partition } from '@tidemark/core';
import { checkObjectName } from '@tidemark/ports';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  manifestName,
  manifestPrefix,
  parseManifestName,
  parseSegmentName,
  segmentName,
  segmentPrefix,
} from './names.ts';

const DIGEST = '0123456789abcdef'.repeat(4);
const name = (partition: number, from: number, to: number, digest = DIGEST): string =>
  segmentName(partition as Partition, from as Offset, to as Offset, digest);
const manifest = (partition: number, from: number): string => manifestName(partition as Partition, from as Offset);

it('are as documented', () => {
  expect(name(12, 0, 512)).toBe(
    'segments/partition=00012/00000000000000000000-00000000000000000512-0123456789abcdef.parquet',
  );
  expect(manifest(12, 0)).toBe('manifests/partition=00012/00000000000000000000.json');
});

it('come back, and are names of objects', () => {
  const place = fc.tuple(fc.nat(2 ** 31 - 1), fc.nat(Number.MAX_SAFE_INTEGER - 1), fc.nat(2 ** 20));
  fc.assert(
    fc.property(place, ([partition, from, more]) => {
      const to = Math.min(from + 1 + more, Number.MAX_SAFE_INTEGER);
      const object = checkObjectName(name(partition, from, to));
      expect(parseSegmentName(object)).toEqual({ partition, from, to, digestStart: DIGEST.slice(0, 16) });
      expect(object.startsWith(segmentPrefix(partition as Partition))).toBe(true);
      expect(object.startsWith(segmentPrefix(partition as Partition, from as Offset))).toBe(true);
      expect(object.startsWith(segmentPrefix(partition as Partition, to as Offset))).toBe(false);
      const beside = checkObjectName(manifest(partition, from));
      expect(parseManifestName(beside)).toEqual({ partition, from });
      expect(beside.startsWith(manifestPrefix(partition as Partition))).toBe(true);
      expect(parseSegmentName(beside)).toBeUndefined();
      expect(parseManifestName(object)).toBeUndefined();
    }),
  );
});

it('sort as offsets do', () => {
  const offsets = [0, 9, 10, 99, 2 ** 32, 2 ** 53 - 1];
  const names = offsets.map((from) => manifest(1, from));
  expect(names.toSorted()).toEqual(names);
});

it.each([
  '',
  name(12, 0, 512).slice(1),
  `${name(12, 0, 512)}x`,
  `/${name(12, 0, 512)}`,
  name(12, 0, 512).replace('00012', '12'),
  name(12, 0, 512).replace('00012', '000012'),
  name(12, 0, 512).replace('512', '000'),
  name(12, 0, 512).replace('abcdef', 'ABCDEF'),
  name(12, 0, 512).replace('00000000000000000512', '99999999999999999999'),
  name(12, 0, 512).replace('00012', '9999999999'),
  manifest(12, 0).replace('json', 'JSON'),
  manifest(12, 0).replace('00000000000000000000', '99999999999999999999'),
  `${manifest(12, 0)}\n`,
])('%j is none', (text) => {
  expect(parseSegmentName(text)).toBeUndefined();
  expect(parseManifestName(text)).toBeUndefined();
});

it.each([
  () => name(-1, 0, 1),
  () => name(2 ** 31, 0, 1),
  () => name(0.5, 0, 1),
  () => name(0, 1, 1),
  () => name(0, -1, 1),
  () => name(0, 0, 2 ** 53),
  () => name(0, 0, 1, 'abc'),
  () => manifest(0, Number.NaN),
])('refuses what can not be named: %s', (act) => {
  expect(act).toThrow(InvalidError);
});
