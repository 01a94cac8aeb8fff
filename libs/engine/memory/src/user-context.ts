/**
 * Owns the text that tells a session of its user (B8): standing preferences, then facts with source and date. Deterministic; at most
 * so many characters: preferences stay before facts, newer facts before older ones.
 */

import { isoDay } from '@tidemark/core';
import type { Fact } from './facts.ts';
import { USER_CONTEXT_MAX_CHARS } from './limits.ts';
import type { StateEntry } from './user-state.ts';

/** Empty when nothing is known. */
export function buildUserContext(
  { state, facts }: { readonly state: readonly StateEntry[]; readonly facts: readonly Fact[] },
  { maxChars = USER_CONTEXT_MAX_CHARS }: { readonly maxChars?: number } = {},
): string {
  const preferences = state.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(preferenceLine);
  const newest = facts.toSorted((a, b) => b.atMs - a.atMs || (a.key < b.key ? -1 : 1)).map(factLine);
  const shown = { preferences: 0, facts: 0 };
  const text = (): string =>
    [
      ...part('# Preferences of the user', preferences, shown.preferences),
      ...part('# Known about the user', newest, shown.facts),
    ].join('\n\n');
  const fill = (name: keyof typeof shown, count: number): void => {
    for (; shown[name] < count; ) {
      shown[name] += 1;
      if (text().length <= maxChars) continue;
      shown[name] -= 1;
      return;
    }
  };
  fill('preferences', preferences.length);
  fill('facts', newest.length);
  return text();
}

const preferenceLine = ({ key, value }: StateEntry): string =>
  `- ${key}: ${onOneLine(typeof value === 'string' ? value : JSON.stringify(value))}`;

const factLine = ({ text, source, atMs }: Fact): string =>
  `- ${onOneLine(text)} (${source === '' ? '' : `${onOneLine(source)}, `}${isoDay(atMs)})`;

const onOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

function part(title: string, lines: readonly string[], count: number): string[] {
  if (count === 0) return [];
  const left = lines.length - count;
  return [[title, ...lines.slice(0, count), ...(left === 0 ? [] : [`(${left} more)`])].join('\n')];
}
