/**
 * Owns the contract of the store of wrapped data keys, which are never in the log: what is destroyed here makes everything that it
 * encrypted unreadable, wherever copies of that lie.
 *
 * K1 A key is durable before `put` resolves, and gone for good before `destroy` resolves: no reader gets it any more, and a `put` of
 *    its id that comes later (of one who was wrapping it anew meanwhile) stores nothing.
 * K2 An id is given to one data key and never to another; a later `put` of the id holds the same data key, wrapped anew.
 * K3 What was destroyed is told from what was never there: only the first reads as forgotten. The second means that keys were lost.
 */

import type { TenantId, WorkflowId } from '@tidemark/core';
import type { WrappedKey } from './key-provider.ts';

export interface StoredKey extends WrappedKey {
  /** A UUID of its own, which begins with its time; what is encrypted names it. */
  readonly id: string;
  readonly tenant: TenantId;
  readonly workflow: WorkflowId;
  /** Whose data it protects, besides the tenant's; null: nobody's in particular. */
  readonly user: string | null;
}

/** Which keys; members that are absent don't narrow it. */
export interface KeyFilter {
  readonly tenant?: TenantId;
  /** One, or any of these. */
  readonly workflow?: WorkflowId | readonly WorkflowId[];
  readonly user?: string;
}

/** Every call throws `UnavailableError` (`keys-unavailable`) when the store is away. */
export interface KeyStore {
  /** Where the keys are, for people who look for a copy of it; holds no credentials. */
  readonly place: string;
  /** All of them or none. When it throws they may be stored all the same; putting them again is harmless. */
  put(keys: readonly StoredKey[]): Promise<void>;
  /** Null: it was destroyed. One that is left out was never here, or was lost (K3). */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredKey | null>>;
  /** Harmless when absent, and when repeated. */
  destroy(ids: readonly string[]): Promise<void>;
  /** By id, as text in code unit order. May be slow between two of them: nothing is held open meanwhile. */
  list(filter: KeyFilter): AsyncIterable<StoredKey>;
  close(): Promise<void>;
}
