/**
 * Owns what a thread keeps, as plain JSON: its newest checkpoint of each namespace as the stream's belief, so that a superstep writes what it
 * changed, and tasks' writes as entries of their own. Pure.
 */

import type { Json, Sequence } from '@tidemark/core';

/** A value as the framework's serializer gave it: JSON is kept as such, so that a list which grew is written as what was added. */
export type KeptValue = { readonly json: Json } | { readonly type: string; readonly base64: string };

export interface KeptCheckpoint {
  readonly id: string;
  readonly parent: string | null;
  /** The checkpoint without its channels' values. */
  readonly checkpoint: Json;
  readonly metadata: Json;
  /** By channel, with the version under which it was put. */
  readonly values: { readonly [channel: string]: { readonly version: number | string; readonly value: KeptValue } };
  /** The entry that put it, and the first one that may have writes of its tasks: the framework saves both at once, in any order. */
  readonly at: Sequence;
  readonly since: Sequence;
  /** Characters of its JSON, about. */
  readonly chars: number;
}

/** The newest checkpoint of each namespace. */
export type Heads = { readonly [namespace: string]: KeptCheckpoint };

/**
 * Namespaces besides the root's in the belief, and characters of their JSON: a subgraph takes one for each call. Those of the oldest leave, and
 * are found through an entry that names them.
 */
const HEADS_MAX_COUNT = 64;
const HEADS_MAX_CHARS = 131_072;

export interface NewCheckpoint {
  readonly kind: 'put';
  readonly namespace: string;
  readonly id: string;
  readonly parent: string | null;
  readonly checkpoint: Json;
  readonly metadata: Json;
  /** All channels that it has, with their versions. */
  readonly versions: { readonly [channel: string]: number | string };
  /** Values of the channels that are new in it; null: the channel is empty. */
  readonly changed: { readonly [channel: string]: KeptValue | null };
}

export interface PutEntry {
  readonly kind: 'put';
  readonly namespace: string;
  /** A checkpoint that was put again behind its successors: it is not the newest, so the belief does not have it. */
  readonly again?: KeptCheckpoint;
}

export interface WritesEntry {
  readonly kind: 'writes';
  readonly namespace: string;
  readonly task: string;
  readonly path: string;
  readonly writes: readonly { readonly index: number; readonly channel: string; readonly value: KeptValue }[];
}

/** The belief no longer has the namespace, whose newest checkpoint was put by this entry. */
export interface LeftEntry {
  readonly kind: 'left';
  readonly namespace: string;
  readonly at: Sequence;
}

export type Entry = PutEntry | WritesEntry | LeftEntry;

/** The checkpoint as it is kept. `base`: the values of its parent; what did not change comes from there. */
export function keptOf(
  given: NewCheckpoint,
  base: KeptCheckpoint['values'],
  { at, since }: Pick<KeptCheckpoint, 'at' | 'since'>,
): KeptCheckpoint {
  const { id, parent, checkpoint, metadata, versions, changed } = given;
  const values: [string, KeptCheckpoint['values'][string]][] = [];
  for (const [channel, version] of Object.entries(versions)) {
    const value = own(changed, channel);
    const before = own(base, channel);
    if (value !== undefined && value !== null) values.push([channel, { version, value }]);
    else if (value === undefined && before?.version === version) values.push([channel, before]);
  }
  const kept = { id, parent, checkpoint, metadata, values: Object.fromEntries(values), at, since };
  return { ...kept, chars: JSON.stringify(kept).length };
}

/** The heads without those that leave for one more of this namespace. The root stays, and the newest others. */
export function withRoom(
  heads: Heads,
  namespace: string,
): { readonly heads: Heads; readonly left: readonly LeftEntry[] } {
  const others = Object.entries(heads).filter(([name]) => name !== namespace && name !== '');
  let chars = others.reduce((sum, [, each]) => sum + each.chars, 0);
  const left: LeftEntry[] = [];
  for (const [name, { at, chars: freed }] of others.toSorted(([, a], [, b]) => a.at - b.at)) {
    if (others.length - left.length < HEADS_MAX_COUNT && chars <= HEADS_MAX_CHARS) break;
    left.push({ kind: 'left', namespace: name, at });
    chars -= freed;
  }
  const gone = new Set(left.map((entry) => entry.namespace));
  return { heads: Object.fromEntries(Object.entries(heads).filter(([name]) => !gone.has(name))), left };
}

/** The member of this name, whatever it is: names are the callers'. */
export const own = <T>(members: { readonly [name: string]: T }, name: string): T | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined;
