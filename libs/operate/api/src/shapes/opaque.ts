/**
 * Owns showing by size alone what only a model's provider reads (signatures, encrypted reasoning, its options) and the bytes of files.
 * People have no use for them, and a reader could answer in a model's name with them. Pure.
 */

import type { Json } from '@tidemark/core';

type Given = { readonly [name: string]: Json };

const isText = (value: unknown): value is string => typeof value === 'string';
const bytesOf = (value: Json | undefined): number =>
  Buffer.byteLength(isText(value) ? value : JSON.stringify(value ?? null));

/** The value, with such parts of messages, answers, fragments and texts of prompts by their sizes. */
export function opaqueSizes(value: Json): Json {
  if (isText(value)) return value.startsWith('{"content":[{') ? sizedText(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map(opaqueSizes);
  const given = value as Given;
  if (given.type === 'opaque' && given.part !== undefined) {
    return { type: 'opaque', of: (given.part as Given | null)?.type ?? null, bytes: bytesOf(given.part) };
  }
  const isFile = given.type === 'file' || given.type === 'reasoning-file';
  return Object.fromEntries(
    Object.entries(given).map(([name, each]) => {
      if (name === 'providerMetadata' || name === 'providerOptions') return [name, { bytes: bytesOf(each) }];
      if (name === 'data' && isFile) return [name, { bytes: bytesOf(each) }];
      return [name, name === 'parts' ? sizedParts(each) : opaqueSizes(each)];
    }),
  );
}

/** Of an answer, and of a fragment as an event has it. */
function sizedParts(parts: Json): Json {
  const { provider, text, ...rest } = (parts ?? {}) as Given;
  return provider === undefined || !isText(text) ? opaqueSizes(parts) : { provider, ...rest, bytes: bytesOf(text) };
}

/** A message of a prompt, as an event stores it. */
function sizedText(text: string): string {
  try {
    return JSON.stringify(opaqueSizes(JSON.parse(text) as Json));
  } catch {
    return text;
  }
}
