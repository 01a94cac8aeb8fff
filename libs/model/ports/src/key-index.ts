/**
 * Owns the contracts of the two halves of a cluster's key store: the topic, which is the truth, and an index of it that finds a key
 * by its id. An index that was lost or lags is filled again from the topic; the topic is never filled from an index.
 *
 * An id that was destroyed stays so for ever, in whatever order the changes are seen: a key that is wrapped anew by one process while
 * another destroys it would else come back (K1). The topic keeps the destruction itself when everything else of the key is gone.
 */

import type { Offset, Partition } from '@tidemark/core';
import type { KeyFilter, StoredKey } from './key-store.ts';

/** The next offset of each partition; one that is absent stands at the partition's start. */
export type KeyOffsets = ReadonlyMap<Partition, Offset>;

export type KeyChange =
  | { readonly kind: 'put'; readonly key: StoredKey }
  | { readonly kind: 'destroyed'; readonly id: string };

/** Some records of the topic; changes of one id come in the order in which they were written. */
export interface KeyPage {
  readonly changes: readonly KeyChange[];
  /** Where to go on after this page: offsets of every partition that moved. */
  readonly next: KeyOffsets;
}

/** Throws `UnavailableError` (`keys-unavailable`); then nobody knows what is stored, and the same call again is harmless. */
export interface KeyTopic {
  /** As `KeyStore.place`. */
  readonly place: string;
  /** Resolves when they are durable. All of them or none where the topic has one partition. */
  append(keys: readonly StoredKey[]): Promise<void>;
  /** Resolves when it is durable. */
  destroy(ids: readonly string[]): Promise<void>;
  /** Up to the ends as they were when it was called, or further. Throws `CorruptError` when there is no such offset. */
  readAll(from?: KeyOffsets): AsyncIterable<KeyPage>;
  close(): Promise<void>;
}

/** What a stretch of the topic comes to. */
export interface KeyBatch {
  /** One for each id at most, the newest, and none that is destroyed in the batch. */
  readonly puts: readonly StoredKey[];
  readonly destroyed: readonly string[];
  /** Where the index must stand, in each partition that `next` names. */
  readonly from: KeyOffsets;
  readonly next: KeyOffsets;
}

export type AppliedBatch =
  /** Another process has moved the index meanwhile; nothing of the batch was stored. */
  | { readonly isApplied: false }
  /** `refused`: ids of puts that weren't stored, since they were destroyed before. */
  | { readonly isApplied: true; readonly refused: readonly string[] };

/** Throws `UnavailableError`. */
export interface KeyIndex {
  applied(): Promise<KeyOffsets>;
  /** In one transaction: the offsets are compared and set, ids are remembered as destroyed, the others' rows written. */
  apply(batch: KeyBatch): Promise<AppliedBatch>;
  /** Null: it was destroyed. One that is left out has not been applied, so the topic may have it. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredKey | null>>;
  /** By id, as text in code unit order. */
  list(filter: KeyFilter): AsyncIterable<StoredKey>;
}
