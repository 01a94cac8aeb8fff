/**
 * Owns what is kept before anything else: the newest request of a person, and the calls of the model's newest answer with their results. What
 * is too long for the budget is cut, never dropped: an agent that doesn't see a result asks again, and pays again.
 *
 * Invariants: together they cost at most the room; each gets an equal share, and what one doesn't use goes to the others.
 */

import { LimitError } from '../errors.ts';
import type { Conversation, ToolPair } from './conversation.ts';
import { type CutStyle, type CutText, countUpTo, cutText } from './cut.ts';
import { comparePlaces, type Fragment, placeName } from './fragment.ts';
import type { BundlePolicy } from './policy.ts';
import type { Tokenizer } from './tokenizer.ts';
import { frameTokens, saidIn, saidTokens, type Turn, type TurnTokens } from './turns.ts';
import type { WholeMessages } from './whole-message.ts';

export interface ChosenTurn {
  readonly turn: Turn;
  readonly lane: 'messages' | 'tool_results';
  tokens: TurnTokens | undefined;
  kept: boolean;
  /** Of a newest turn that was cut: the fragments whose texts are shorter, by the whole ones. */
  cuts?: ReadonlyMap<Fragment, CutText>;
}

/** The pairs of the answer with the newest call, and of the one with the newest result. */
export function newestPairs({ pairs, sorted }: Conversation): ReadonlySet<ToolPair> {
  const last = pairs.at(-1);
  if (last === undefined) return new Set();
  let heard = last;
  for (const pair of pairs) if (comparePlaces(heard.result!, pair.result!) < 0) heard = pair;
  const found = new Set([last, heard]);
  const calls = [...found].flatMap(({ call }) => (call === undefined ? [] : callsBeside(sorted, call)));
  if (calls.length > found.size)
    for (const pair of pairs) if (pair.call !== undefined && calls.includes(pair.call)) found.add(pair);
  return found;
}

/** The calls of one answer stand side by side in one checkpoint. */
function callsBeside(sorted: readonly Fragment[], call: Fragment): readonly Fragment[] {
  const isBeside = (other: Fragment | undefined): boolean =>
    other?.type === 'tool_call' && other.run === call.run && other.sequence === call.sequence;
  const at = sorted.lastIndexOf(call);
  let [from, to] = [at, at];
  while (isBeside(sorted[from - 1])) from -= 1;
  while (isBeside(sorted[to + 1])) to += 1;
  return sorted.slice(from, to + 1);
}

/** A text of a newest turn, and what it costs. */
interface Unit {
  readonly chosen: ChosenTurn;
  readonly half: 'said' | 'answered';
  /** Undefined: a call that is written for a result without one. */
  readonly fragment: Fragment | undefined;
  readonly frame: number;
  readonly need: number;
  /** Undefined: it can't be cut, since its message has parts that belong to all of it. */
  readonly style: CutStyle | undefined;
}

const REQUEST: CutStyle = { remedy: 'Ask for the rest in parts.' };
const RESULT: CutStyle = {
  remedy: 'To see more, ask for less at once: a page, a range, a filter, or fewer fields.',
};
/** A call's input is an object: cut JSON is a text in one. */
const INPUT: CutStyle = { remedy: 'The call was made with all of it.', written: (text) => JSON.stringify({ text }) };

/** Keeps the turns, cut where they don't fit. Throws `LimitError` (`bundle-newest-too-large`) where not even the notes of cuts do. */
export function keepNewest(
  newest: readonly ChosenTurn[],
  { type, budgetTokens }: BundlePolicy,
  room: number,
  tokenizer: Tokenizer,
  wholes: WholeMessages,
): void {
  const units = newest
    .flatMap((chosen) => unitsOf(chosen, room, tokenizer, wholes))
    .sort((a, b) => Number(a.style !== undefined) - Number(b.style !== undefined) || a.need - b.need);
  let left = room;
  const cuts = new Map<Unit, CutText>();
  const costs = new Map<Unit, number>();
  for (const [at, unit] of units.entries()) {
    const { fragment, style } = unit;
    const share = style === undefined ? left : Math.floor(left / (units.length - at));
    if (unit.need > share) {
      const cut = fragment && style && cutText(fragment.text, share - unit.frame, tokenizer, style);
      if (cut === undefined) throw tooLarge(unit, type, budgetTokens, room, newest.length);
      cuts.set(unit, cut);
    }
    const cost = unit.frame + (cuts.get(unit)?.tokens ?? unit.need - unit.frame);
    costs.set(unit, cost);
    left -= cost;
  }
  for (const chosen of newest) {
    const own = units.filter((unit) => unit.chosen === chosen);
    const cost = (half: Unit['half']): number => costs.get(own.find((unit) => unit.half === half)!) ?? 0;
    chosen.tokens = { said: cost('said'), answered: cost('answered') };
    chosen.kept = true;
    const shortened = own.flatMap((unit) => (cuts.has(unit) ? [[unit.fragment!, cuts.get(unit)!] as const] : []));
    if (shortened.length > 0) chosen.cuts = new Map(shortened);
  }
}

function unitsOf(chosen: ChosenTurn, room: number, tokenizer: Tokenizer, wholes: WholeMessages): readonly Unit[] {
  const { turn } = chosen;
  const frame = frameTokens(turn, tokenizer);
  const isWhole = wholes.has(saidIn(turn));
  const said = frame + saidTokens(turn, tokenizer, wholes, room);
  const saying = { chosen, half: 'said' as const, frame, need: said };
  if (turn.kind !== 'tool') return [{ ...saying, fragment: turn.message, style: isWhole ? undefined : REQUEST }];
  const { call, result } = turn.pair;
  const need = frame + countUpTo(result?.text ?? '', tokenizer, room);
  return [
    { ...saying, fragment: call, style: isWhole ? undefined : INPUT },
    { chosen, half: 'answered', frame, need, fragment: result, style: RESULT },
  ];
}

/** The turn as it is shown. */
export function shownTurn({ turn, cuts }: ChosenTurn): Turn {
  if (cuts === undefined) return turn;
  const shown = <Given extends Fragment | undefined>(fragment: Given): Given => {
    const cut = fragment && cuts.get(fragment);
    return cut === undefined ? fragment : { ...fragment, text: cut.text };
  };
  if (turn.kind !== 'tool') return { ...turn, message: shown(turn.message) };
  return { kind: 'tool', pair: { call: shown(turn.pair.call), result: shown(turn.pair.result) } };
}

const WHAT = {
  user: 'the newest message of the user',
  agent: 'the newest answer',
  tool: 'a tool call of the newest answer, or its result,',
} as const;

function tooLarge(
  { fragment, need, chosen, style }: Unit,
  bundleType: string,
  budgetTokens: number,
  room: number,
  turns: number,
): LimitError {
  const what = WHAT[chosen.turn.kind];
  const why =
    style === undefined
      ? ', and is not cut: its provider wants back all that it signed, and a file is sent whole'
      : ' even when cut';
  const place = fragment === undefined ? undefined : placeName(fragment);
  return new LimitError(
    'bundle-newest-too-large',
    `The bundle '${bundleType}' has ${room} tokens left of its budget of ${budgetTokens} after its directives, for the ${turns} newest messages and calls: ${what} (${place === undefined ? 'without a call' : `at ${place}`}, ${need} tokens) does not fit${why}. Raise the budget, shorten the directives, or call fewer tools at once.`,
    { bundleType, budgetTokens, roomTokens: room, place, needTokens: need },
  );
}
