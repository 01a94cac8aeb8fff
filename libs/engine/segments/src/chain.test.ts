/** Owns the tests of the chain: it equals its description, and removing, changing, adding or moving a record changes it. */

import { createHash } from 'node:crypto';
import { InvalidError } from '@tidemark/core';
import { expect, it } from 'vitest';
import { CHAIN_START, chainOver } from './chain.ts';
import { sampleRecords } from './sample-records-fixture.ts';

const records = sampleRecords();
const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/** An independent implementation, as an auditor would write it from the description. */
const audited = (values: readonly Uint8Array[]): string =>
  values
    .reduce<Buffer>((chain, value) => sha256(Buffer.concat([chain, sha256(value)])), Buffer.alloc(32))
    .toString('hex');

it('is what an auditor computes', () => {
  expect(chainOver(CHAIN_START, [])).toBe(CHAIN_START);
  expect(chainOver(CHAIN_START, records)).toBe(audited(records.map(({ value }) => value)));
});

it('goes on from any place', () => {
  const before = chainOver(CHAIN_START, records.slice(0, 7));
  expect(chainOver(before, records.slice(7))).toBe(chainOver(CHAIN_START, records));
});

it('shows each removal, change, addition and move', () => {
  const chains = new Set([chainOver(CHAIN_START, records)]);
  let histories = 1;
  const add = (history: readonly { readonly value: Uint8Array }[]): void => {
    chains.add(chainOver(CHAIN_START, history));
    histories++;
  };
  for (const [index, { value }] of records.entries()) {
    add(records.toSpliced(index, 1));
    add(records.toSpliced(index, 0, { ...records[index]! }));
    add(records.with(index, { ...records[index]!, value: Buffer.concat([value, Buffer.from('\n')]) }));
    if (index > 0) add(records.with(index, records[index - 1]!).with(index - 1, records[index]!));
  }
  expect(chains.size).toBe(histories);
});

it.each(['', 'A'.repeat(64), 'a'.repeat(63), `${'a'.repeat(63)}g`])('refuses %j', (before) => {
  expect(() => chainOver(before, records)).toThrow(InvalidError);
});
