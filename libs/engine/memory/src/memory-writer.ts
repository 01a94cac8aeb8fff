/** Owns the interface of a writer of memory, and the refusal of secrets in it, by place and kind. */

import { InvalidError } from '@tidemark/core';
import type { MemoryRow } from '@tidemark/ports';
import { findSecrets, secretPlaces } from '@tidemark/secrets';

export type MemoryWrite = Pick<
  MemoryRow,
  'tenant' | 'subject' | 'kind' | 'key' | 'value' | 'words' | 'source' | 'isForgotten'
>;

export interface MemoryWriter {
  /** Resolves once all of them are durable in the log; reads show them once the projection has caught up. */
  write(entries: readonly MemoryWrite[]): Promise<void>;
}

/** Throws `InvalidError` (`memory-secret`), which names places and kinds, never a value. */
export function refuseSecrets(what: string, value: unknown): void {
  const found = findSecrets(value);
  if (found.length === 0) return;
  throw new InvalidError('memory-secret', `${what} holds a secret and is not remembered: ${secretPlaces(found)}`, {
    found,
  });
}
