/**
 * Owns the assembly of a bundle: fragments, policy and tokenizer in, messages and manifest out. Pure, and without any model.
 *
 * I8: the same fragments, policy and tokenizer give byte-identical bundles, in whatever order the fragments are given. No directive is ever
 * trimmed. The estimate never exceeds the budget, and is at least what the tokenizer counts in the texts of the messages before
 * placeholders are resolved. lanes.ts states what is trimmed. Before any lane gets its share, the newest user message and the newest tool
 * results are kept, cut if they must be (newest.ts): without them an agent asks again for an answer that it already has.
 */

import type { Json } from '../belief.ts';
import { canonicalJson } from '../canonical.ts';
import type { Sha256 } from '../event.ts';
import type { Sequence } from '../ids.ts';
import { fragmentItems, lanesOf, sectionItems, systemItem } from './account.ts';
import { type Choice, choose } from './choice.ts';
import { type Conversation, isBefore, readConversation } from './conversation.ts';
import { checkDirectives, directivesOf, resolvePlaceholders } from './directives.ts';
import { comparePlaces, type Fragment, placeName } from './fragment.ts';
import { MANIFEST_VERSION, type Manifest } from './manifest.ts';
import { type BundleMessage, joinSections } from './message.ts';
import { shownTurn } from './newest.ts';
import type { BundlePolicy } from './policy.ts';
import type { Tokenizer } from './tokenizer.ts';
import {
  givenSections,
  memorySection,
  sectionText,
  type TraceInput,
  type TrimmableSection,
  traceSection,
  type WorkingMemoryInput,
} from './trimmable-sections.ts';
import { conversationMessages, inputOf } from './turns.ts';
import { wholeMessages } from './whole-message.ts';

export interface BundleInput {
  /** Must have passed `checkPolicy`. */
  readonly policy: BundlePolicy;
  /** In any order. Duplicates count once. */
  readonly fragments: readonly Fragment[];
  /** Read-only context, written by the workflow's author. */
  readonly system?: string | undefined;
  readonly workingMemory?: WorkingMemoryInput | undefined;
  /** The checkpoint whose hand-over began the present phase; undefined in the first one, and without phases. */
  readonly phaseSince?: Sequence | undefined;
  readonly trace?: TraceInput | undefined;
  /** Sections, the most useful first. */
  readonly continuation?: readonly string[] | undefined;
  readonly userContext?: readonly string[] | undefined;
  /** Values of `{{name}}` in system context, goals and constraints. Not counted. */
  readonly placeholders?: Readonly<Record<string, string>> | undefined;
  /** The provider that is asked, as `partsOwner` names it: it gets back the parts that it wants back, and no other's. */
  readonly provider?: string | undefined;
}

export interface BundleTools {
  readonly tokenizer: Tokenizer;
  /** SHA-256 of a text's UTF-8 bytes as 64 lower-case hex digits. */
  readonly sha256: (text: string) => Sha256;
}

/** What the model is given, as data. Placeholders are unresolved; their values are beside the text. */
export type Bundle = {
  readonly bundle_type: string;
  readonly thread_summary: string | null;
  readonly task_goal: string | null;
  readonly constraints: readonly string[];
  readonly checkpoint_note: string | null;
  readonly recent_messages: readonly {
    readonly place: string;
    readonly role: 'user' | 'agent';
    readonly text: string;
  }[];
  readonly tool_results: readonly {
    readonly place: string;
    readonly tool: string | null;
    readonly input: Json;
    readonly output: string;
  }[];
  readonly token_estimate: number;
  readonly token_budget: number;
  readonly metadata: { readonly placeholders: Readonly<Record<string, string>> };
};

export interface AssembledBundle {
  readonly messages: readonly BundleMessage[];
  readonly bundle: Bundle;
  readonly manifest: Manifest;
  /** SHA-256 of the manifest's canonical JSON. */
  readonly hash: Sha256;
  /** Kept messages, calls and results of phases before the present one, where the policy wants those of all. */
  readonly otherPhaseCount: number;
  /** Whether the messages have parts of the provider that is asked: for another one they would be different. */
  readonly isForProvider: boolean;
}

/** Throws `LimitError` (`bundle-directives-too-large`, `bundle-newest-too-large`), `InvalidError` (`unknown-fragment-type`), `CorruptError` (`fragments-differ`). */
export function assembleBundle(input: BundleInput, tools: BundleTools): AssembledBundle {
  const { policy } = input;
  const since = policy.phases === 'own' ? input.phaseSince : undefined;
  const conversation = readConversation(input.fragments, { session: policy.session, since });
  const directives = directivesOf(input.system, conversation, tools.tokenizer);
  const fixedTokens = checkDirectives(directives, policy.budgetTokens, policy.type);
  const { userMessages, agentMessages, pairs } = conversation;
  const calls = pairs.flatMap(({ call }) => call ?? []);
  const wholes = wholeMessages(
    [...userMessages, ...agentMessages, ...calls],
    (provider) => provider === null || provider === input.provider,
  );
  const choice = choose(
    conversation,
    trimmableSections(input),
    policy,
    policy.budgetTokens - fixedTokens,
    tools.tokenizer,
    wholes,
  );

  const authored = directives.filter((directive) => directive.authored).map((directive) => directive.text);
  const resolved = resolvePlaceholders(authored, input.placeholders ?? {});
  const changing = [
    ...directives.filter((directive) => !directive.authored).map((directive) => directive.text),
    ...choice.sections.flatMap(({ section, kept }) => sectionText(section, kept) ?? []),
  ];
  const messages = [
    ...[resolved.texts, changing].flatMap(systemMessage),
    ...conversationMessages(choice.turns.filter(({ kept }) => kept).map(shownTurn), wholes),
  ];
  const tokenEstimate = fixedTokens + choice.tokens;
  const items = [
    ...directives
      .filter(({ fragment }) => fragment === undefined)
      .map((directive) => systemItem(directive, tools.sha256)),
    ...fragmentItems(conversation, directives, choice),
    ...sectionItems(choice, tools.sha256),
  ];
  const manifest: Manifest = {
    bundle_type: policy.type,
    directives: { kept: directives.length, tokens: fixedTokens },
    items,
    lanes: lanesOf(policy, choice, items),
    messages: tools.sha256(canonicalJson(messages as unknown as Json)),
    placeholders: { resolved: Object.keys(resolved.values), unknown: resolved.unknown },
    policy: tools.sha256(canonicalJson(policy as unknown as Json)),
    tokenizer: tools.tokenizer.id,
    totals: {
      items: items.length,
      kept: items.filter(({ state }) => state === 'kept').length,
      token_budget: policy.budgetTokens,
      token_estimate: tokenEstimate,
    },
    version: MANIFEST_VERSION,
  };
  const bundle = bundleOf(policy, conversation, choice, tokenEstimate, resolved.values);
  const isShared = policy.phases !== 'own' && input.phaseSince !== undefined;
  const otherPhaseCount = isShared ? keptBefore(choice, input.phaseSince) : 0;
  const isForProvider = [...wholes.values()].some(({ provider }) => provider !== null);
  return { messages, bundle, manifest, hash: tools.sha256(canonicalJson(manifest)), otherPhaseCount, isForProvider };
}

const keptBefore = ({ turns }: Choice, since: Sequence): number =>
  turns
    .filter(({ kept }) => kept)
    .flatMap(({ turn }) => (turn.kind === 'tool' ? [turn.pair.call, turn.pair.result] : [turn.message]))
    .filter((fragment) => fragment !== undefined && isBefore(fragment, since)).length;

const systemMessage = (sections: readonly string[]): readonly BundleMessage[] =>
  sections.length === 0 ? [] : [{ content: joinSections(sections), role: 'system' }];

/** The sections in the order in which they are written: what changes least comes first. */
function trimmableSections({
  policy,
  userContext,
  continuation,
  workingMemory,
  trace,
}: BundleInput): readonly TrimmableSection[] {
  return [
    ...(userContext === undefined ? [] : [givenSections('user_context', userContext)]),
    ...(continuation === undefined ? [] : [givenSections('continuation', continuation)]),
    ...(workingMemory === undefined ? [] : [memorySection(workingMemory)]),
    ...(trace === undefined ? [] : [traceSection(trace, policy.traceEntries)]),
  ];
}

function bundleOf(
  policy: BundlePolicy,
  { goals, constraints, summary, note }: Conversation,
  { turns }: Choice,
  tokenEstimate: number,
  placeholders: Readonly<Record<string, string>>,
): Bundle {
  const kept = turns.filter((chosen) => chosen.kept).map(shownTurn);
  const messages = kept
    .flatMap((turn) => (turn.kind === 'tool' ? [] : [turn]))
    .sort((a, b) => comparePlaces(a.message, b.message));
  const pairs = kept.flatMap((turn) => (turn.kind === 'tool' ? [turn.pair] : [])).reverse();
  return {
    bundle_type: policy.type,
    thread_summary: summary?.text ?? null,
    task_goal: goals.length === 0 ? null : goals.map((goal) => goal.text).join('\n'),
    constraints: constraints.map((constraint) => constraint.text),
    checkpoint_note: note?.text ?? null,
    recent_messages: messages.map(({ kind, message }) => ({
      place: placeName(message),
      role: kind,
      text: message.text,
    })),
    tool_results: pairs.map((pair) => ({
      place: placeName((pair.result ?? pair.call)!),
      tool: pair.call?.tool ?? pair.result?.tool ?? null,
      input: inputOf(pair.call),
      output: pair.result?.text ?? '',
    })),
    token_estimate: tokenEstimate,
    token_budget: policy.budgetTokens,
    metadata: { placeholders },
  };
}
