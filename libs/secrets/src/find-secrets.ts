/**
 * Owns the search for secrets in plain data (JSON) and in text. Finds are named by place and kind. Must never return,
 * print or throw a secret's value, nor a place that holds one: a key that is itself a secret is left out of the pointer.
 * Pure.
 */

import { randomTokens } from './entropy.ts';
import { DEPTH_MAX, PLACES_TOLD_MAX } from './limits.ts';
import { isNamedSecret, PATTERNS } from './patterns.ts';

export interface FoundSecret {
  /** JSON pointer (RFC 6901); empty: the value itself. A key that is a secret reads `(a key)`. */
  readonly place: string;
  /** `github-token`, `private-key`, `password`, `high-entropy`, … */
  readonly kind: string;
}

/** Every secret in the value, in the order of its places; each place and kind once. */
export function findSecrets(value: unknown): FoundSecret[] {
  const found: FoundSecret[] = [];
  search(value, '', undefined, 0, found);
  return found;
}

/** The text with each secret replaced by `[masked kind]`. */
export function maskSecrets(text: string): string {
  let masked = '';
  let at = 0;
  for (const { start, end, kind } of spansIn(text)) {
    if (end <= at) continue;
    masked += `${text.slice(at, Math.max(start, at))}[masked ${kind}]`;
    at = end;
  }
  return masked + text.slice(at);
}

/** `/notes/2/text (github-token), /artifacts/env (password) and 3 more`. */
export function secretsTold(found: readonly FoundSecret[]): string {
  const told = found.slice(0, PLACES_TOLD_MAX).map(({ place, kind }) => `${place || 'the value itself'} (${kind})`);
  const more = found.length - told.length;
  return told.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function search(value: unknown, place: string, name: string | undefined, depth: number, found: FoundSecret[]): void {
  if (typeof value === 'string') {
    for (const kind of kindsIn(value, name)) found.push({ place, kind });
    return;
  }
  if (typeof value === 'number' && name !== undefined && isNamedSecret(name, value)) {
    found.push({ place, kind: 'password' });
  }
  if (typeof value !== 'object' || value === null) return;
  if (depth >= DEPTH_MAX) {
    found.push({ place, kind: 'too-deep-to-search' });
    return;
  }
  if (Array.isArray(value)) {
    for (const [at, each] of value.entries()) search(each, `${place}/${at}`, name, depth + 1, found);
    return;
  }
  for (const [key, each] of Object.entries(value)) {
    const kinds = kindsIn(key, undefined);
    for (const kind of kinds) found.push({ place: `${place}/(a key)`, kind });
    search(each, `${place}/${kinds.size > 0 ? '(a key)' : escaped(key)}`, key, depth + 1, found);
  }
}

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

function kindsIn(text: string, name: string | undefined): ReadonlySet<string> {
  const kinds = new Set(spansIn(text).map(({ kind }) => kind));
  if (kinds.size === 0 && name !== undefined && isNamedSecret(name, text)) kinds.add('password');
  return kinds;
}

interface Span {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

/** By start; what a pattern has found is not told again for its entropy. */
function spansIn(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const { kind, form, counts } of PATTERNS) {
    for (const match of text.matchAll(form)) {
      const secret = match.slice(1).find((group) => group !== undefined) ?? match[0];
      if (counts && !counts(secret)) continue;
      const start = match.index + match[0].lastIndexOf(secret);
      const end = kind === 'private-key' ? endOfKey(text, start) : start + secret.length;
      if (!spans.some((other) => other.start < end && start < other.end)) spans.push({ start, end, kind });
    }
  }
  for (const [start, end] of randomTokens(text)) {
    if (!spans.some((other) => other.start < end && start < other.end))
      spans.push({ start, end, kind: 'high-entropy' });
  }
  return spans.sort((a, b) => a.start - b.start);
}

/** All of a private key is masked, not its first line alone. */
function endOfKey(text: string, start: number): number {
  const end = /-----END [A-Z0-9 ]{1,60}-----/.exec(text.slice(start));
  return end === null ? text.length : start + end.index + end[0].length;
}
