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
}

/** The newest checkpoint of each namespace. */
export type Heads = { readonly [namespace: string]: KeptCheckpoint };

/** Namespaces in the belief. A subgraph takes one for each call; that of the oldest is then found through an entry that names it. */
export const HEADS_MAX_COUNT = 64;

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
  return { id, parent, checkpoint, metadata, values: Object.fromEntries(values), at, since };
}

/** The heads after this one, and what left them for it. */
export function withHead(
  heads: Heads,
  namespace: string,
  head: KeptCheckpoint,
): readonly [Heads, LeftEntry | undefined] {
  const others = Object.entries(heads).filter(([name]) => name !== namespace && name !== '');
  if (Object.hasOwn(heads, namespace) || others.length < HEADS_MAX_COUNT - 1)
    return [{ ...heads, [namespace]: head }, undefined];
  const [oldest, { at }] = others.reduce((found, each) => (each[1].at < found[1].at ? each : found));
  const { [oldest]: _, ...left } = heads;
  return [
    { ...left, [namespace]: head },
    { kind: 'left', namespace: oldest, at },
  ];
}

/** The member of this name, whatever it is: names are the callers'. */
export const own = <T>(members: { readonly [name: string]: T }, name: string): T | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined;
