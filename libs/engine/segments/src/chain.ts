/**
 * Owns the chain over the records of a partition: one digest of all of them, in their order. Removing, changing, adding or moving a record
 * changes every later digest. It needs the records' bytes alone, so an auditor can recompute it in any language:
 *
 *     h = 32 zero bytes # or chain_before of a later segment, from hex
 *     for value in records of the partition, by offset:
 *         h = sha256(h + sha256(value)) # digests as bytes, not as hex
 *     hex(h) == chain_after
 */

import { hash } from 'node:crypto';
import { InvalidError, type Sha256 } from '@tidemark/core';

/** The chain before a partition's first record. */
export const CHAIN_START: Sha256 = '0'.repeat(64);

const DIGEST_BYTES = 32;
const DIGEST = /^[0-9a-f]{64}$/;

/** The chain after the records; `before` is the chain before the first of them. Throws `InvalidError` (`chain-invalid`). */
export function chainOver(before: Sha256, records: readonly { readonly value: Uint8Array }[]): Sha256 {
  const link = Buffer.alloc(2 * DIGEST_BYTES);
  link.write(checkChain(before), 0, 'hex');
  for (const { value } of records) {
    // Digests as Latin-1 strings: a third faster than hex, and half the memory of buffers.
    link.write(hash('sha256', value, 'binary'), DIGEST_BYTES, 'latin1');
    link.write(hash('sha256', link, 'binary'), 0, 'latin1');
  }
  return link.toString('hex', 0, DIGEST_BYTES);
}

export function checkChain(chain: Sha256): Sha256 {
  if (DIGEST.test(chain)) return chain;
  throw new InvalidError('chain-invalid', `A chain is 64 lower-case hex digits, not '${chain.slice(0, 100)}'.`);
}
