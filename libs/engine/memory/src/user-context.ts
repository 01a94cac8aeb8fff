/**
 * Owns the text that describes the user (B8) and known facts to a session: standing preferences, then facts with source and date.
 * Deterministic, with a limit on its characters: facts are cut before preferences, the last fact first.
 */

import { isoDay } from '@tidemark/core';
import type { StateEntry } from './user-state.ts';

/** Characters of the user context of a session: its user, domains and tenant. Overridden by `maxChars`. */
const USER_CONTEXT_MAX_CHARS = 2_000;

/** A fact as the text shows it. */
export interface KnownFact {
  /** `user:ana`, `domain:food`, `tenant:acme`. */
  readonly subject: string;
  readonly text: string;
  readonly source: string;
  readonly atMs: number;
}

/** Pieces, the most useful first: all preferences, then each fact by itself. Empty when nothing is known. */
export function buildUserContext(
  { state, facts }: { readonly state: readonly StateEntry[]; readonly facts: readonly KnownFact[] },
  { maxChars = USER_CONTEXT_MAX_CHARS }: { readonly maxChars?: number } = {},
): readonly string[] {
  const preferences = preferencesIn(state, maxChars);
  const pieces = preferences === '' ? [] : [preferences];
  let charsLeft = maxChars - preferences.length;
  let heading = '# Known\n';
  for (const fact of facts) {
    const piece = `${heading}${factLine(fact)}`;
    if (piece.length + 1 > charsLeft) continue;
    pieces.push(piece);
    charsLeft -= piece.length + 1;
    heading = '';
  }
  return pieces;
}

function preferencesIn(state: readonly StateEntry[], maxChars: number): string {
  const lines = state.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(preferenceLine);
  const text = (count: number): string => {
    const left = lines.length - count;
    const more = left === 0 ? [] : [`(${left} more)`];
    return count === 0 ? '' : ['# Preferences of the user', ...lines.slice(0, count), ...more].join('\n');
  };
  let count = lines.length;
  while (count > 0 && text(count).length >= maxChars) count -= 1;
  return text(count);
}

const preferenceLine = ({ key, value }: StateEntry): string =>
  `- ${key}: ${onOneLine(typeof value === 'string' ? value : JSON.stringify(value))}`;

/** A fact about the user needs no name: a session has one user. */
function factLine({ subject, text, source, atMs }: KnownFact): string {
  const domain = subject.startsWith('domain:') ? [onOneLine(subject.slice('domain:'.length))] : [];
  const from = source === '' ? [] : [onOneLine(source)];
  return `- ${onOneLine(text)} (${[...domain, ...from, isoDay(atMs)].join(', ')})`;
}

const onOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
