/** Owns what was learned about a user, a domain or a tenant: sentences with source and time, which `recall` finds under the kind `fact`. */

import { createHash } from 'node:crypto';
import { InvalidError, type TenantId } from '@tidemark/core';
import type { MemoryRow, MemoryStore } from '@tidemark/ports';
import { LIST_MAX } from './limits.ts';
import { type MemoryWriter, refuseSecrets } from './memory-writer.ts';

/** Characters of one fact. */
const FACT_MAX_CHARS = 4_000;

export interface Fact {
  readonly key: string;
  readonly text: string;
  readonly source: string;
  readonly atMs: number;
}

export interface Facts {
  /**
   * Resolves to the fact's key once it is durable. The same text is the same fact: remembering it again updates source and time. Throws
   * `InvalidError`: `memory-secret`, `fact-text` (1 to 4,000 characters).
   */
  remember(text: string, options: { readonly source: string }): Promise<string>;
  /** The newest first. */
  list(limit?: number): Promise<readonly Fact[]>;
  forget(key: string): Promise<void>;
}

/** Facts about one subject. */
export function factsAbout(
  subject: string,
  store: Pick<MemoryStore, 'memories'>,
  writer: MemoryWriter,
  tenant: TenantId,
): Facts {
  const named = { tenant, subject, kind: 'fact' as const };
  return {
    async remember(given, { source }) {
      const text = given.trim();
      if (text === '' || text.length > FACT_MAX_CHARS) {
        const message = `A fact has 1 to ${FACT_MAX_CHARS} characters, this one ${text.length}`;
        throw new InvalidError('fact-text', message, { chars: text.length });
      }
      refuseSecrets('This fact', { text, source });
      const key = keyOf(text);
      await writer.write([{ ...named, key, value: JSON.stringify({ text }), words: text, source, isForgotten: false }]);
      return key;
    },
    async list(limit = LIST_MAX) {
      return (await store.memories({ ...named, order: 'newest', limit })).map(factOf);
    },
    forget: (key) => writer.write([{ ...named, key, value: 'null', words: '', source: '', isForgotten: true }]),
  };
}

/** Texts that differ only in case and spaces are the same. */
const keyOf = (text: string): string =>
  createHash('sha256').update(text.toLowerCase().replaceAll(/\s+/g, ' ')).digest('hex').slice(0, 32);

/** A fact from a row of that kind, as `recall` and `memories` return it. */
export function factOf({ key, value, source, atMs }: MemoryRow): Fact {
  return { key, text: (JSON.parse(value) as { readonly text: string }).text, source, atMs };
}
