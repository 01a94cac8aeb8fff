/**
 * Owns the parts of a bundle that are never trimmed (I8): system context, goal, constraints, newest summary, newest checkpoint note. It
 * writes them, resolves their placeholders, counts them, and throws when they alone exceed the budget.
 */

import { LimitError } from '../errors.ts';
import type { Conversation } from './conversation.ts';
import { type Fragment, placeName } from './fragment.ts';
import { JOIN_OVERHEAD_TOKENS, MESSAGE_OVERHEAD_TOKENS } from './limits.ts';
import { contained, section, type Tag } from './message.ts';
import type { Tokenizer } from './tokenizer.ts';

/** What a provider spends once, on the start of the answer. */
const ANSWER_OVERHEAD_TOKENS = 3;

/** Two system messages, and the start of the answer. */
const FRAME_TOKENS = 2 * MESSAGE_OVERHEAD_TOKENS + ANSWER_OVERHEAD_TOKENS;

export interface Directive {
  readonly fragment: Fragment | undefined;
  /** The text that is counted: placeholders are unresolved. */
  readonly text: string;
  readonly tokens: number;
  /** Whether the workflow's author wrote it. Such text comes first, and its placeholders are resolved. */
  readonly authored: boolean;
}

const SECTION_TAGS: Partial<Record<Fragment['type'], Tag>> = {
  task_goal: 'task_goal',
  constraint: 'constraint',
  summary: 'thread_summary',
  checkpoint_note: 'checkpoint_note',
};

/** The directives in the order in which they are written. The system context is not escaped: only the author writes it. */
export function directivesOf(
  system: string | undefined,
  { goals, constraints, summary, note }: Conversation,
  tokenizer: Tokenizer,
): readonly Directive[] {
  const directive = (fragment: Fragment | undefined, text: string, authored: boolean): Directive => {
    const tokens = JOIN_OVERHEAD_TOKENS + tokenizer.count(text);
    return { fragment, text, tokens, authored };
  };
  const ofFragment = (fragment: Fragment): Directive => {
    const authored = fragment.type === 'task_goal' || fragment.type === 'constraint';
    return directive(fragment, section(SECTION_TAGS[fragment.type] as Tag, fragment.text), authored);
  };
  const changing = [summary, note].filter((fragment) => fragment !== undefined);
  return [
    ...(system === undefined || system === '' ? [] : [directive(undefined, system, true)]),
    ...[...goals, ...constraints, ...changing].map(ofFragment),
  ];
}

/** Throws `LimitError` (`bundle-directives-too-large`) when the directives exceed the budget. */
export function checkDirectives(directives: readonly Directive[], budgetTokens: number, type: string): number {
  const tokens = directives.reduce((sum, directive) => sum + directive.tokens, FRAME_TOKENS);
  const overTokens = tokens - budgetTokens;
  if (overTokens <= 0) return tokens;
  const parts = directives.map(({ fragment, tokens: counted }) => ({
    type: fragment?.type ?? 'system',
    place: fragment === undefined ? 'system' : placeName(fragment),
    tokens: counted,
  }));
  const named = parts.map(({ type: kind, place, tokens: n }) =>
    kind === place ? `${kind} ${n}` : `${kind} at ${place} ${n}`,
  );
  throw new LimitError(
    'bundle-directives-too-large',
    `The directives of the bundle '${type}' are ${overTokens} tokens over its budget of ${budgetTokens}: ${[...named, `message frames ${FRAME_TOKENS}`].join(', ')}. ` +
      'Directives are never trimmed: shorten them, or raise the budget.',
    { bundleType: type, overTokens, budgetTokens, parts, frameTokens: FRAME_TOKENS },
  );
}

export interface Resolved {
  readonly texts: readonly string[];
  /** The placeholders that occur and have a value, sorted. */
  readonly values: Readonly<Record<string, string>>;
  /** The placeholders that occur and have no value, sorted. They stay as they are. */
  readonly unknown: readonly string[];
}

const placeholder = /\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}/g;

/**
 * Replaces `{{name}}` by its value in text that the workflow's author wrote, and nowhere else: text of a user, a tool or a model must not
 * fetch values. A value is escaped like any other text: it can't fake a section, and placeholders in it are not resolved.
 */
export function resolvePlaceholders(texts: readonly string[], given: Readonly<Record<string, string>>): Resolved {
  const found = new Map<string, string>();
  const unknown = new Set<string>();
  const resolved = texts.map((text) =>
    text.replace(placeholder, (whole, name: string) => {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      if (value === undefined) {
        unknown.add(name);
        return whole;
      }
      found.set(name, value);
      return contained(value);
    }),
  );
  const values = Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
  return { texts: resolved, values, unknown: [...unknown].sort() };
}
