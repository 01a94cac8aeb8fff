/**
 * Owns how fragments are read: their order, which results belong to which calls, what a summary covers, what is superseded. Must not count
 * tokens, nor decide what is trimmed.
 *
 * Invariants: the order in which fragments are given changes nothing; a fragment given twice counts once.
 */

import { CorruptError, InvalidError } from '../errors.ts';
import type { Sequence } from '../ids.ts';
import { comparePlaces, FRAGMENT_TYPES, type Fragment, placeName } from './fragment.ts';
import { OpenCalls } from './open-calls.ts';
import { membersOf } from './whole-message.ts';

/** Why a fragment is excluded from a bundle before any budget applies. */
export type Absence = 'summarised' | 'superseded' | 'unanswered' | 'other-workflow' | 'other-phase';

/** A tool call and its result. The call is missing when no model made it; the result is missing while the call is unanswered. */
export interface ToolPair {
  readonly call: Fragment | undefined;
  readonly result: Fragment | undefined;
}

export interface Conversation {
  /** All fragments, each once, by place. */
  readonly sorted: readonly Fragment[];
  readonly goals: readonly Fragment[];
  readonly constraints: readonly Fragment[];
  /** The newest summary; undefined when there is none. */
  readonly summary: Fragment | undefined;
  readonly note: Fragment | undefined;
  /** The ones that may be shown, by place. */
  readonly userMessages: readonly Fragment[];
  readonly agentMessages: readonly Fragment[];
  /** The ones that may be shown, by the place of their call. Each has a result. */
  readonly pairs: readonly ToolPair[];
  /** The fragments that may not be shown, and why. */
  readonly absent: ReadonlyMap<Fragment, Absence>;
}

/** Fragments by place, each once. Throws `CorruptError` where two differ in one place, `InvalidError` at an unknown type. */
export function sortFragments(fragments: readonly Fragment[]): readonly Fragment[] {
  const sorted = [...fragments].sort(comparePlaces);
  return sorted.filter((fragment, at) => {
    checkType(fragment);
    const before = sorted[at - 1];
    if (before === undefined || comparePlaces(before, fragment) !== 0) return true;
    if (
      before.type !== fragment.type ||
      before.digest !== fragment.digest ||
      before.call !== fragment.call ||
      before.parts?.digest !== fragment.parts?.digest
    )
      throw new CorruptError('fragments-differ', `Two different fragments claim the place ${placeName(fragment)}.`, {
        place: placeName(fragment),
      });
    return false;
  });
}

const known: ReadonlySet<string> = new Set(FRAGMENT_TYPES);

function checkType(fragment: Fragment): void {
  if (known.has(fragment.type)) return;
  throw new InvalidError(
    'unknown-fragment-type',
    `The fragment at ${placeName(fragment)} has the type ${JSON.stringify(fragment.type)}: use ${FRAGMENT_TYPES.join(', ')}.`,
    { place: placeName(fragment), type: fragment.type },
  );
}

/** Whether the summary stands for this fragment. */
export const isCovered = (summary: Fragment | undefined, fragment: Fragment): boolean =>
  summary?.covers !== undefined &&
  comparePlaces(summary.covers.from, fragment) <= 0 &&
  comparePlaces(fragment, summary.covers.to) <= 0;

const pairKey = ({ run, call, tool }: Fragment): string =>
  call === undefined ? `${run}|tool|${tool ?? ''}` : `${run}|call|${call}`;

/** Pairs calls with their results, by place; of the calls of one id, or of one tool where the model gave none, as `OpenCalls` says. */
export function pairCalls(sorted: readonly Fragment[]): readonly ToolPair[] {
  const pairs: { call: Fragment | undefined; result: Fragment | undefined }[] = [];
  const open = new OpenCalls<(typeof pairs)[number]>();
  for (const fragment of sorted) {
    if (fragment.type === 'tool_call') {
      const pair = { call: fragment, result: undefined };
      pairs.push(pair);
      open.add(pairKey(fragment), fragment.sequence, fragment.tool, pair);
    } else if (fragment.type === 'tool_result') {
      const pair = open.take(pairKey(fragment), fragment.tool);
      if (pair === undefined) pairs.push({ call: undefined, result: fragment });
      else pair.result = fragment;
    }
  }
  return pairs;
}

const newest = (fragments: readonly Fragment[]): Fragment | undefined => fragments.at(-1);

/** Which fragments a bundle may show. */
export interface Scope {
  /** Whether earlier workflows of the session count. */
  readonly session: boolean;
  /** The checkpoint whose hand-over began the phase that counts; undefined: all phases count. */
  readonly since?: Sequence | undefined;
}

/**
 * What a bundle may show. Of a phase it is what was said and done since the hand-over, and of what was said before, directives. The user's
 * newest message is always shown, whatever phase it is of and whatever a summary says of it: a model must know whom it answers.
 */
export function readConversation(fragments: readonly Fragment[], { session, since }: Scope): Conversation {
  const sorted = sortFragments(fragments);
  const absent = new Map<Fragment, Absence>();
  const visible = session ? sorted : sorted.filter((fragment) => fragment.run === 0);
  if (!session) for (const fragment of sorted) if (fragment.run !== 0) absent.set(fragment, 'other-workflow');
  const ofType = (type: Fragment['type']): Fragment[] => visible.filter((fragment) => fragment.type === type);
  const summary = newest(ofType('summary'));
  const note = newest(ofType('checkpoint_note'));
  for (const type of ['summary', 'checkpoint_note'] as const)
    for (const fragment of ofType(type))
      if (fragment !== summary && fragment !== note) absent.set(fragment, 'superseded');

  const request = newest(ofType('user_message'));
  const ownAbsence = (fragment: Fragment): Absence | undefined => {
    if (fragment === request) return undefined;
    if (isCovered(summary, fragment)) return 'summarised';
    return since !== undefined && isBefore(fragment, since) ? 'other-phase' : undefined;
  };
  const pairs = pairCalls(visible);
  const bound = boundFragments(visible, pairs);
  const absenceOf = (fragment: Fragment): Absence | undefined =>
    bound.get(fragment)?.some((other) => ownAbsence(other) === undefined) ? undefined : ownAbsence(fragment);
  const isPresent = (fragment: Fragment): boolean => {
    const reason = absenceOf(fragment);
    if (reason !== undefined) absent.set(fragment, reason);
    return reason === undefined;
  };
  return {
    sorted,
    goals: currentGoals(ofType('task_goal'), absent),
    constraints: ofType('constraint'),
    summary,
    note,
    userMessages: ofType('user_message').filter(isPresent),
    agentMessages: ofType('agent_message').filter(isPresent),
    pairs: visiblePairs(pairs, absenceOf, absent),
    absent,
  };
}

/** What the checkpoint that hands over adds belongs to the phase that it ends. */
export const isBefore = ({ run, sequence }: Fragment, since: Sequence): boolean => run < 0 || sequence <= since;

/** A new task of the session supersedes the goals of those before it; their constraints stay. */
function currentGoals(goals: readonly Fragment[], absent: Map<Fragment, Absence>): readonly Fragment[] {
  const latest = newest(goals)?.run;
  return goals.filter((goal) => {
    if (goal.run === latest) return true;
    absent.set(goal, 'superseded');
    return false;
  });
}

/** By each fragment of a message with parts: what is shown with it, results included. */
function boundFragments(
  visible: readonly Fragment[],
  pairs: readonly ToolPair[],
): ReadonlyMap<Fragment, readonly Fragment[]> {
  const bound = new Map<Fragment, readonly Fragment[]>();
  const firsts = visible.filter(({ parts }) => parts !== undefined);
  const resultOf = firsts.length === 0 ? new Map() : new Map(pairs.map(({ call, result }) => [call, result]));
  for (const members of membersOf(firsts, visible)) {
    const all: Fragment[] = [...members, ...members.flatMap((member) => resultOf.get(member) ?? [])];
    for (const one of all) bound.set(one, all);
  }
  return bound;
}

function visiblePairs(
  all: readonly ToolPair[],
  absenceOf: (fragment: Fragment) => Absence | undefined,
  absent: Map<Fragment, Absence>,
): readonly ToolPair[] {
  return all.filter((pair) => {
    const halves = [pair.call, pair.result].filter((half) => half !== undefined);
    const reasons = halves.map(absenceOf);
    // When only one half of a pair is absent, the whole pair is shown: a result means nothing without its call.
    const reason = reasons.every((each) => each !== undefined)
      ? reasons.at(-1)
      : pair.result === undefined
        ? 'unanswered'
        : undefined;
    if (reason !== undefined) for (const half of halves) absent.set(half, reason);
    return reason === undefined;
  });
}
