/**
 * Owns the contract of the store of wrapped data keys, which are never in the log: destroying a key here makes everything that it encrypted
 * unreadable, wherever copies are.
 *
 * K1 A key is durable before `put` resolves, and gone for good before `destroy` resolves: no reader gets it any more, and a later `put` of
 * its id (by a process that was rewrapping it meanwhile) stores nothing.
 * K2 An id names one data key for ever; a later `put` of the id holds the same data key, rewrapped.
 * K3 A destroyed key is distinguished from an unknown one: only the first reads as forgotten. The second means that keys were lost.
 */

import type { TenantId, WorkflowId } from '@tidemark/core';
import type { WrappedKey } from './key-provider.ts';

export interface StoredKey extends WrappedKey {
  /** A UUID that begins with its time; encrypted data names it. */
  readonly id: string;
  readonly tenant: TenantId;
  readonly workflow: WorkflowId;
  /** The user whose data it protects; null: it protects no particular user's data. */
  readonly user: string | null;
}

/** Which keys. An absent member doesn't filter. */
export interface KeyFilter {
  readonly tenant?: TenantId;
  /** One, or any of these. */
  readonly workflow?: WorkflowId | readonly WorkflowId[];
  readonly user?: string;
}

/** Every call throws `UnavailableError` (`keys-unavailable`) when the store is unreachable. */
export interface KeyStore {
  /** Where the keys are, for people who search for a copy; without credentials. */
  readonly place: string;
  /** Stores all of them or none. When it throws they may be stored all the same; putting them again is harmless. */
  put(keys: readonly StoredKey[]): Promise<void>;
  /** Null: it was destroyed. An absent id was never stored, or was lost (K3). */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredKey | null>>;
  /** Harmless when absent, and when repeated. */
  destroy(ids: readonly string[]): Promise<void>;
  /** By id, in code unit order. The caller may pause between two keys: the store holds nothing open. */
  list(filter: KeyFilter): AsyncIterable<StoredKey>;
  close(): Promise<void>;
}
