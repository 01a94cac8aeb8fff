/** Owns a user's standing preferences (B8): small JSON values by key, kept until they are changed or forgotten. */

import { InvalidError, type TenantId } from '@tidemark/core';
import type { MemoryRow, MemoryStore } from '@tidemark/ports';
import { LIST_MAX } from './limits.ts';
import { type MemoryWriter, refuseSecrets } from './memory-writer.ts';
import { userSubject } from './recall.ts';

/** Characters of the key of a preference. */
const STATE_KEY_MAX_CHARS = 200;
/** Bytes of the JSON of one preference. */
const STATE_VALUE_MAX_BYTES = 16 * 1024;

export interface StateEntry {
  readonly key: string;
  readonly value: unknown;
  readonly source: string;
  readonly atMs: number;
}

export interface UserState {
  /** Undefined: not set. */
  get(key: string): Promise<unknown>;
  /**
   * Resolves once it is durable. Throws `InvalidError`: `memory-secret`, `state-key` (1 to 200 characters), `state-value` (JSON of at
   * most 16 KB).
   */
  set(key: string, value: unknown, options?: { readonly source?: string }): Promise<void>;
  /** By key, at most 1,000. */
  list(prefix?: string): Promise<readonly StateEntry[]>;
  forget(key: string): Promise<void>;
}

export function userState(
  store: Pick<MemoryStore, 'memories'>,
  writer: MemoryWriter,
  tenant: TenantId,
  user: string,
): UserState {
  const subject = userSubject(user);
  const named = { tenant, subject, kind: 'state' as const };
  return {
    async get(key) {
      const [row] = await store.memories({ ...named, key, limit: 1 });
      return row === undefined ? undefined : entryOf(row).value;
    },
    async set(key, value, { source = 'user' } = {}) {
      const json = checked(key, value);
      refuseSecrets('This preference', { [key]: value });
      // Without words: preferences are read by key, and recall must not find them.
      await writer.write([{ ...named, key, value: json, words: '', source, isForgotten: false }]);
    },
    async list(prefix = '') {
      return (await store.memories({ ...named, prefix, limit: LIST_MAX })).map(entryOf);
    },
    forget: (key) => writer.write([{ ...named, key, value: 'null', words: '', source: 'user', isForgotten: true }]),
  };
}

function checked(key: string, value: unknown): string {
  if (key === '' || key.length > STATE_KEY_MAX_CHARS) {
    const message = `The key of a preference has 1 to ${STATE_KEY_MAX_CHARS} characters, this one ${key.length}`;
    throw new InvalidError('state-key', message, { chars: key.length });
  }
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined || Buffer.byteLength(json) > STATE_VALUE_MAX_BYTES) {
    const message = `The value of ${key} must be JSON of at most ${STATE_VALUE_MAX_BYTES} bytes; keep larger values as artifacts`;
    throw new InvalidError('state-value', message, { key });
  }
  return json;
}

const entryOf = ({ key, value, source, atMs }: MemoryRow): StateEntry => ({
  key,
  value: JSON.parse(value) as unknown,
  source,
  atMs,
});
