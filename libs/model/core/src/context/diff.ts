/** Owns the comparison of two bundles: what was added, what was removed, what changed its state. Plain data. */

import type { Json } from '../belief.ts';
import { canonicalJson } from '../canonical.ts';
import type { AssembledBundle } from './assemble.ts';
import type { ItemState, ManifestItem } from './manifest.ts';
import type { BundleMessage } from './message.ts';
import { LANES, type Lane } from './policy.ts';

export type ItemChange = {
  readonly place: string;
  readonly type: string;
  readonly before: { readonly digest: string; readonly state: ItemState };
  readonly after: { readonly digest: string; readonly state: ItemState };
};

export type BundleDiff = {
  /** The hashes are equal, so nothing differs. */
  readonly identical: boolean;
  /** The settings that differ: bundle type, policy, tokenizer. */
  readonly settings: readonly { readonly field: string; readonly before: string; readonly after: string }[];
  readonly came: readonly ManifestItem[];
  readonly went: readonly ManifestItem[];
  readonly changed: readonly ItemChange[];
  readonly lanes: Readonly<
    Record<Lane | 'directives', { readonly before: number; readonly after: number; readonly change: number }>
  >;
  /** How many of `messages` are the same at the start and at the end; those in between were replaced. */
  readonly messages: {
    readonly sameAtStart: number;
    readonly sameAtEnd: number;
    readonly removed: readonly BundleMessage[];
    readonly added: readonly BundleMessage[];
  };
};

type Side = Pick<AssembledBundle, 'messages' | 'manifest' | 'hash'>;

/** Compares two bundles, from `before` to `after`. */
export function diffBundles(before: Side, after: Side): BundleDiff {
  const key = ({ type, place }: ManifestItem): string => `${type} ${place}`;
  const olds = new Map(before.manifest.items.map((item) => [key(item), item]));
  const news = new Map(after.manifest.items.map((item) => [key(item), item]));
  const changed = after.manifest.items.flatMap((item): ItemChange[] => {
    const old = olds.get(key(item));
    if (old === undefined || (old.state === item.state && old.digest === item.digest)) return [];
    const side = ({ digest, state }: ManifestItem) => ({ digest, state });
    return [{ place: item.place, type: item.type, before: side(old), after: side(item) }];
  });
  return {
    identical: before.hash === after.hash,
    settings: settingsChanged(before, after),
    came: after.manifest.items.filter((item) => !olds.has(key(item))),
    went: before.manifest.items.filter((item) => !news.has(key(item))),
    changed,
    lanes: laneChanges(before, after),
    messages: messageChanges(before.messages, after.messages),
  };
}

function settingsChanged({ manifest: a }: Side, { manifest: b }: Side): BundleDiff['settings'] {
  return (['bundle_type', 'policy', 'tokenizer'] as const).flatMap((field) =>
    a[field] === b[field] ? [] : [{ field, before: a[field], after: b[field] }],
  );
}

function laneChanges({ manifest: a }: Side, { manifest: b }: Side): BundleDiff['lanes'] {
  const change = (before: number, after: number) => ({ before, after, change: after - before });
  const lanes = LANES.map((lane) => [lane, change(a.lanes[lane].tokens, b.lanes[lane].tokens)] as const);
  const directives = ['directives', change(a.directives.tokens, b.directives.tokens)] as const;
  return Object.fromEntries([directives, ...lanes]) as BundleDiff['lanes'];
}

function messageChanges(before: readonly BundleMessage[], after: readonly BundleMessage[]): BundleDiff['messages'] {
  const olds = before.map((message) => canonicalJson(message as unknown as Json));
  const news = after.map((message) => canonicalJson(message as unknown as Json));
  const most = Math.min(olds.length, news.length);
  let start = 0;
  while (start < most && olds[start] === news[start]) start++;
  let end = 0;
  while (end < most - start && olds.at(-1 - end) === news.at(-1 - end)) end++;
  return {
    sameAtStart: start,
    sameAtEnd: end,
    removed: before.slice(start, before.length - end),
    added: after.slice(start, after.length - end),
  };
}
