/**
 * Owns making a provider's texts storable: NUL and halves of surrogate pairs become U+FFFD where they enter. Invariant: the result is the
 * same whether a text came whole or in pieces, also where a pair is cut between two of them.
 */

import type { LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { MODEL_BOUNDS, parseJson } from '@tidemark/core';
import { storableText } from '@tidemark/runtime';

/**
 * The value with storable texts and names; bytes, addresses and dates stay. So does what a provider signed: it is recorded as JSON text, in
 * which everything is storable.
 */
export function sound<T>(value: T): T {
  if (typeof value === 'string') return storableText(value) as T;
  if (Array.isArray(value)) return value.map(sound) as T;
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [storableText(name), name === 'providerMetadata' ? each : sound(each)]),
  ) as T;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A part of an answer, or of a stream. The input of a call is JSON, which may hold as an escape what a text must not. */
export function soundPart<P extends LanguageModelV4Content | LanguageModelV4StreamPart>(part: P): P {
  const clean = sound(part);
  return clean.type === 'tool-call' && typeof clean.input === 'string'
    ? { ...clean, input: soundInput(clean.input) }
    : clean;
}

function soundInput(input: string): string {
  if (!input.includes('\\u')) return input;
  try {
    const value = parseJson(input, 'The input of a tool', MODEL_BOUNDS);
    const clean = JSON.stringify(sound(value));
    return clean === JSON.stringify(value) ? input : clean;
  } catch {
    return input;
  }
}

type Delta = Extract<LanguageModelV4StreamPart, { readonly delta: string }>;

const isDelta = (part: LanguageModelV4StreamPart): part is Delta => 'delta' in part;

/** Makes the parts of one stream storable. */
export class SoundStream {
  /** By kind and id: a piece that ended in the first half of a pair, with that half alone. */
  readonly #pending = new Map<string, Delta>();

  take(part: LanguageModelV4StreamPart): readonly LanguageModelV4StreamPart[] {
    if (!isDelta(part)) return [...this.#release(part), soundPart(part)];
    const name = `${part.type} ${part.id}`;
    const before = this.#pending.get(name);
    const delta = (before?.delta ?? '') + part.delta;
    const whole = { ...before, ...part };
    this.#pending.delete(name);
    const isCut = /[\uD800-\uDBFF]$/.test(delta.slice(-1));
    if (isCut) this.#pending.set(name, { ...whole, delta: delta.slice(-1) });
    const given = isCut ? delta.slice(0, -1) : delta;
    return given === '' && isCut ? [] : [sound({ ...whole, delta: given })];
  }

  /** Adds the halves that stayed alone, before their block, or the stream, ends. */
  #release(end: LanguageModelV4StreamPart): readonly Delta[] {
    const released = [...this.#pending].filter(([, { id }]) => end.type === 'finish' || ('id' in end && end.id === id));
    for (const [name] of released) this.#pending.delete(name);
    return released.map(([, part]) => sound(part));
  }
}
