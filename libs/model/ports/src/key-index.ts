/**
 * Owns the contracts of the two halves of a cluster's key store: the topic, which is the truth, and an index of it that finds a key by its
 * id. A lost or lagging index is filled again from the topic; the topic is never filled from an index.
 *
 * A destroyed id stays destroyed for ever, in whatever order the changes are read: otherwise a key that one process rewraps while another
 * destroys it would come back (K1). The topic keeps the destruction even when everything else about the key is gone.
 */

import type { Offset, Partition } from '@tidemark/core';
import type { KeyFilter, StoredKey } from './key-store.ts';

/** The next offset of each partition; for an absent one, the partition's start. */
export type KeyOffsets = ReadonlyMap<Partition, Offset>;

export type KeyChange =
  | { readonly kind: 'put'; readonly key: StoredKey }
  | { readonly kind: 'destroyed'; readonly id: string };

/** Some records of the topic; changes of one id are in the order in which they were written. */
export interface KeyPage {
  readonly changes: readonly KeyChange[];
  /** Where to continue after this page: offsets of every partition that advanced. */
  readonly next: KeyOffsets;
}

/** Every call throws `UnavailableError` (`keys-unavailable`); what is stored is then unknown, and repeating the call is harmless. */
export interface KeyTopic {
  /** As `KeyStore.place`. */
  readonly place: string;
  /** Resolves when they are durable. Stores all of them or none when the topic has one partition. */
  append(keys: readonly StoredKey[]): Promise<void>;
  /** Resolves when it is durable. */
  destroy(ids: readonly string[]): Promise<void>;
  /** Reads up to the ends at the time of the call, or further. Throws `CorruptError` when an offset doesn't exist. */
  readAll(from?: KeyOffsets): AsyncIterable<KeyPage>;
  close(): Promise<void>;
}

/** The net effect of a stretch of the topic. */
export interface KeyBatch {
  /** At most one for each id, the newest, and none that is destroyed in the batch. */
  readonly puts: readonly StoredKey[];
  readonly destroyed: readonly string[];
  /** Where the index must stand, for each partition that `next` names. */
  readonly from: KeyOffsets;
  readonly next: KeyOffsets;
}

export type AppliedBatch =
  /** Another process advanced the index meanwhile; nothing of the batch was stored. */
  | { readonly isApplied: false }
  /** `refused`: ids of puts that weren't stored, because they had been destroyed. */
  | { readonly isApplied: true; readonly refused: readonly string[] };

/** Throws `UnavailableError`. */
export interface KeyIndex {
  applied(): Promise<KeyOffsets>;
  /** In one transaction: compares and sets the offsets, records destroyed ids, writes the rows of the others. */
  apply(batch: KeyBatch): Promise<AppliedBatch>;
  /** Null: it was destroyed. An absent id has not been applied, so the topic may have it. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredKey | null>>;
  /** By id, in code unit order. */
  list(filter: KeyFilter): AsyncIterable<StoredKey>;
}
