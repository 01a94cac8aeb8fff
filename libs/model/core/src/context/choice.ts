/** Owns the choice of what is kept: first the newest turn, cut if it must be (newest.ts), then what lanes.ts deals out. Must not render. */

import type { Conversation } from './conversation.ts';
import { dealOut, type LaneUnits } from './lanes.ts';
import { JOIN_OVERHEAD_TOKENS } from './limits.ts';
import { type ChosenTurn, keepNewest, newestPairs } from './newest.ts';
import type { BundlePolicy, Lane } from './policy.ts';
import type { Tokenizer } from './tokenizer.ts';
import type { TrimmableSection } from './trimmable-sections.ts';
import { type Turn, turnTokens } from './turns.ts';

export interface ChosenSection {
  readonly section: TrimmableSection;
  /** Tokens of each piece, by its index; undefined where it was not counted. */
  readonly tokens: (number | undefined)[];
  kept: readonly number[];
  framed: boolean;
}

export interface Choice {
  readonly turns: readonly ChosenTurn[];
  readonly sections: readonly ChosenSection[];
  readonly laneTokens: Readonly<Partial<Record<Lane, number>>>;
  readonly tokens: number;
}

/** Chooses what is kept within `room` tokens. */
export function choose(
  conversation: Conversation,
  trimmable: readonly TrimmableSection[],
  policy: BundlePolicy,
  room: number,
  tokenizer: Tokenizer,
): Choice {
  const turn = (lane: ChosenTurn['lane'], what: Turn): ChosenTurn => ({
    turn: what,
    lane,
    tokens: undefined,
    kept: false,
  });
  const users = conversation.userMessages.toReversed().map((message) => turn('messages', { kind: 'user', message }));
  const agents = conversation.agentMessages.toReversed().map((message) => turn('messages', { kind: 'agent', message }));
  const pairs = conversation.pairs.toReversed().map((pair) => turn('tool_results', { kind: 'tool', pair }));
  const sections = trimmable.map((section): ChosenSection => ({ section, tokens: [], kept: [], framed: false }));
  const measureTurn = (chosen: ChosenTurn): number => {
    chosen.tokens ??= turnTokens(chosen.turn, tokenizer, room);
    return chosen.tokens.said + chosen.tokens.answered;
  };

  const laneTokens: Partial<Record<Lane, number>> = {};
  let left = room;
  const first = newestPairs(conversation);
  const newest = [...users.slice(0, 1), ...pairs.filter((_, at) => first.has(conversation.pairs.at(-1 - at)!))];
  for (const chosen of keepNewest(newest, policy, room, tokenizer)) {
    const tokens = measureTurn(chosen);
    laneTokens[chosen.lane] = (laneTokens[chosen.lane] ?? 0) + tokens;
    left -= tokens;
  }

  const turnsOf = {
    messages: [...users, ...agents].filter(({ kept }) => !kept),
    tool_results: pairs.filter(({ kept }) => !kept),
  };
  const lanes = policy.trimOrder.map((lane): LaneUnits => {
    const share = policy.lanes[lane];
    if (lane === 'messages' || lane === 'tool_results') {
      const units = turnsOf[lane];
      return { share, count: units.length, measure: (index) => measureTurn(units[index]!) };
    }
    const chosen = sections.find(({ section }) => section.lane === lane);
    if (chosen === undefined) return { share, count: 0, measure: () => 0 };
    return {
      share,
      count: chosen.section.pieces.length,
      measure: (at) => measurePiece(chosen, at, left, tokenizer),
    };
  });
  const dealt = dealOut(lanes, left);
  policy.trimOrder.forEach((lane, at) => {
    const { kept, tokens } = dealt[at]!;
    laneTokens[lane] = (laneTokens[lane] ?? 0) + tokens;
    if (lane === 'messages' || lane === 'tool_results') for (const index of kept) turnsOf[lane][index]!.kept = true;
    const chosen = sections.find(({ section }) => section.lane === lane);
    if (chosen !== undefined) chosen.kept = kept.map((index) => chosen.section.keepOrder[index]!);
  });
  const tokens = Object.values(laneTokens).reduce((sum, count) => sum + count, 0);
  return { turns: [...users, ...agents, ...pairs], sections, laneTokens, tokens };
}

/**
 * Tokens of the piece that is the `at`th to be kept. Call it with `at` = 0, 1, 2 …: the first piece that can be kept also pays for the
 * frame of the section.
 */
function measurePiece(chosen: ChosenSection, at: number, room: number, tokenizer: Tokenizer): number {
  const { pieces, keepOrder, open, close } = chosen.section;
  const index = keepOrder[at]!;
  const own = JOIN_OVERHEAD_TOKENS + tokenizer.count(pieces[index]!.text);
  const frame = chosen.framed ? 0 : 2 * JOIN_OVERHEAD_TOKENS + tokenizer.count(open) + tokenizer.count(close);
  if (own + frame <= room) chosen.framed = true;
  chosen.tokens[index] = own + frame;
  return own + frame;
}
