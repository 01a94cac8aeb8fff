/**
 * Owns the items and lanes of a manifest, computed from the choice. Must not choose.
 * Members are written in canonical order, because a manifest is hashed before every model call.
 */

import type { Sha256 } from '../event.ts';
import type { Choice } from './choice.ts';
import type { Conversation } from './conversation.ts';
import type { CutText } from './cut.ts';
import type { Directive } from './directives.ts';
import { type Fragment, placeName } from './fragment.ts';
import type { ItemState, Manifest, ManifestItem, ManifestLane } from './manifest.ts';
import { type BundlePolicy, LANES, type Lane } from './policy.ts';

export const systemItem = ({ text, tokens }: Directive, sha256: (text: string) => Sha256): ManifestItem => ({
  digest: sha256(text),
  place: 'system',
  state: 'kept',
  tokens,
  type: 'system',
});

export function fragmentItems(
  { sorted, absent }: Conversation,
  directives: readonly Directive[],
  { turns }: Choice,
): readonly ManifestItem[] {
  const found = new Map<Fragment, { readonly state: ItemState; readonly tokens: number | null }>();
  const cuts = new Map<Fragment, CutText>();
  for (const { fragment, tokens } of directives)
    if (fragment !== undefined) found.set(fragment, { state: 'kept', tokens });
  for (const { turn, tokens: counted, kept, cuts: ofTurn } of turns) {
    for (const [fragment, cut] of ofTurn ?? []) cuts.set(fragment, cut);
    const tokens = counted?.isPartial === true ? undefined : counted;
    const state = kept ? 'kept' : 'over-budget';
    const said = turn.kind === 'tool' ? turn.pair.call : turn.message;
    const result = turn.kind === 'tool' ? turn.pair.result : undefined;
    if (said !== undefined) found.set(said, { state, tokens: tokens?.said ?? null });
    // A result without a call also pays for the call that is written for it.
    const answered = tokens === undefined ? null : said === undefined ? tokens.said + tokens.answered : tokens.answered;
    if (result !== undefined) found.set(result, { state, tokens: answered });
  }
  return sorted.map((fragment): ManifestItem => {
    const { state, tokens } = found.get(fragment) ?? { state: absent.get(fragment) ?? 'over-budget', tokens: null };
    const item = { digest: fragment.digest, place: placeName(fragment), state, tokens, type: fragment.type };
    const cut = cuts.get(fragment);
    if (cut === undefined) return item;
    const sizes = { chars: cut.keptChars, missing_tokens: cut.missingTokens, of_chars: fragment.text.length };
    return { cut: sizes, ...item };
  });
}

export function sectionItems({ sections }: Choice, sha256: (text: string) => Sha256): readonly ManifestItem[] {
  return sections.flatMap(({ section, tokens, kept }) =>
    section.pieces.map(
      ({ name, text }, index): ManifestItem => ({
        digest: sha256(text),
        place: name,
        state: kept.includes(index) ? 'kept' : 'over-budget',
        tokens: tokens[index] ?? null,
        type: section.lane,
      }),
    ),
  );
}

const LANE_OF_TYPE: Readonly<Record<string, Lane>> = {
  user_message: 'messages',
  agent_message: 'messages',
  tool_call: 'tool_results',
  tool_result: 'tool_results',
};

export function lanesOf(policy: BundlePolicy, choice: Choice, items: readonly ManifestItem[]): Manifest['lanes'] {
  const kept: Record<string, number> = {};
  const trimmed: Record<string, number> = {};
  for (const { state, type } of items) {
    const lane = LANE_OF_TYPE[type] ?? type;
    if (state === 'kept') kept[lane] = (kept[lane] ?? 0) + 1;
    else if (state === 'over-budget') trimmed[lane] = (trimmed[lane] ?? 0) + 1;
  }
  const lanes = LANES.toSorted().map((lane): [Lane, ManifestLane] => [
    lane,
    {
      kept: kept[lane] ?? 0,
      share: policy.lanes[lane],
      tokens: choice.laneTokens[lane] ?? 0,
      trimmed: trimmed[lane] ?? 0,
    },
  ]);
  return Object.fromEntries(lanes) as Record<Lane, ManifestLane>;
}
