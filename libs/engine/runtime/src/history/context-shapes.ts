/**
 * Owns which parts of a payload the projector accepts as context. An event is durable whatever its payload, so a part of the wrong shape
 * yields nothing and never stops the projection. It must not throw.
 */

import type { MemoryWrite, Payloads, ScopeChange, StoredFragment } from '@tidemark/codec';
import { type CoveredRange, FRAGMENT_TYPES, type FragmentPlace } from '@tidemark/core';

type Given = { readonly [member: string]: unknown };

const asObject = (value: unknown): Given =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Given) : {};
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isText = (value: unknown): value is string => typeof value === 'string';
const isTextOrNone = (value: unknown): boolean => value === undefined || isText(value);

const isPlace = (value: unknown): value is FragmentPlace => {
  const { run, sequence, index } = asObject(value);
  return [run, sequence, index].every(Number.isSafeInteger);
};

export const isRange = (value: unknown): value is CoveredRange => {
  const { from, to } = asObject(value);
  return isPlace(from) && isPlace(to);
};

const arePartsStored = ({ provider, spans, text, digest }: Given): boolean =>
  (provider === null || isText(provider)) && Number.isSafeInteger(spans) && (isText(text) || isText(digest));

/** By index; a fragment of the wrong shape is undefined. */
export function fragmentsIn(payload: unknown): readonly (StoredFragment | undefined)[] {
  return asList(asObject(payload).fragments).map((value) => {
    const { type, text, digest, call, tool, covers, parts } = asObject(value);
    const isFit =
      (FRAGMENT_TYPES as readonly unknown[]).includes(type) &&
      (isText(text) || isText(digest)) &&
      [call, tool].every(isTextOrNone) &&
      (covers === undefined || isRange(covers)) &&
      (parts === undefined || arePartsStored(asObject(parts)));
    return isFit ? (value as StoredFragment) : undefined;
  });
}

export function scopeIn(payload: unknown): ScopeChange | undefined {
  const scope = asObject(asObject(payload).scope);
  const { phase, put, carried, left, removed = [] } = scope;
  if (!isText(phase)) return undefined;
  const isPut = typeof put === 'object' && put !== null && asList(removed).every(isText);
  const isHandOver = typeof carried === 'object' && carried !== null && Array.isArray(left);
  return isPut || isHandOver ? (scope as unknown as ScopeChange) : undefined;
}

export const MEMORY_KINDS: readonly unknown[] = [
  'summary',
  'fact',
  'state',
  'record',
] satisfies readonly MemoryWrite['kind'][];

/** By index; a memory of the wrong shape is undefined. */
export function memoriesIn(payload: unknown): readonly (MemoryWrite | undefined)[] {
  return asList(asObject(payload).memories).map((value) => {
    const { subject, kind, key, words, source } = asObject(value);
    const isFit = isText(subject) && isText(key) && MEMORY_KINDS.includes(kind) && [words, source].every(isTextOrNone);
    return isFit ? (value as MemoryWrite) : undefined;
  });
}

export const textsIn = (payload: unknown): readonly (readonly [string, string])[] =>
  Object.entries(asObject(asObject(payload).texts)).filter((entry): entry is [string, string] => isText(entry[1]));

/** The texts of a recorded answer that are long enough to be shared with fragments by their digests. */
export function answerTexts(payload: unknown, minChars: number): readonly string[] {
  const { text, parts } = asObject(asObject(payload as Payloads['EffectResolved']).response);
  return [text, asObject(parts).text].filter((one): one is string => isText(one) && one.length >= minChars);
}
