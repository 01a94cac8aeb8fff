/**
 * Owns which tokenizer counts for which model. OpenAI's encodings come with the library and are loaded at first use; others are registered.
 * An unknown model is counted with o200k, which is close enough for a budget.
 */

import { createRequire } from 'node:module';
import { InvalidError, type Tokenizer } from '@tidemark/core';
import { CountCache } from './count-cache.ts';
import { piecesOf } from './runs.ts';

/** Characters of a model's name. */
const MODEL_MAX_CHARS = 200;
/** Texts of about 60 tokens that are counted when an encoding is loaded. */
const WARM_UP_TEXTS = 100;

type Count = (text: string) => number;
type EncodingName = 'o200k_base' | 'cl100k_base';
type Encoding = Pick<typeof import('gpt-tokenizer/encoding/o200k_base'), 'countTokens'>;

const require = createRequire(import.meta.url);

/** Counts the names of special tokens as ordinary text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };

function loadEncoding(name: EncodingName): Count {
  // Loaded at first use, and synchronously: tables of some megabytes, for a function that returns at once.
  const { countTokens } = require(`gpt-tokenizer/encoding/${name}`) as Encoding;
  const count = (text: string): number => {
    let total = 0;
    for (const piece of piecesOf(text)) total += countTokens(piece, AS_TEXT);
    return total;
  };
  warmUp(count);
  return count;
}

/**
 * Makes the engine compile the search for pieces and the merging of bytes (ids are merged, words are found whole) while the encoding is
 * loaded, where it adds a tenth, rather than within the first model call, where it would take most of the time.
 */
function warmUp(count: Count): void {
  for (let n = 0; n < WARM_UP_TEXTS; n++) count(`the sample, ${n} of ref-${(n * 7_919).toString(16)}; `.repeat(8));
}

/** A tokenizer with a cache of counts. `id` names it in manifests: another id gives another manifest. */
export function cachedTokenizer(id: string, count: Count, cache: CountCache = new CountCache()): Tokenizer {
  return {
    id,
    count(text) {
      if (text === '') return 0;
      const known = cache.get(text);
      if (known !== undefined) return known;
      const counted = count(text);
      cache.set(text, counted);
      return counted;
    },
  };
}

const encodings = new Map<EncodingName, Tokenizer>();

function encodingTokenizer(name: EncodingName): Tokenizer {
  const made = encodings.get(name) ?? cachedTokenizer(name, loadEncoding(name));
  encodings.set(name, made);
  return made;
}

/**
 * Whose models an encoding counts exactly, and where and when that was read. o200k also stands in for the rest: a newer Claude counts some
 * 30 % more tokens of the same text; register its tokenizer where that matters.
 */
export const ENCODINGS = {
  cl100k_base: {
    models: /^(gpt-4(?!o|\.|-o)|gpt-3\.5|text-embedding-)/,
    source: 'https://github.com/openai/tiktoken/blob/main/tiktoken/model.py',
    asOf: '2026-11',
  },
  o200k_base: {
    models: /^(gpt-4o|gpt-4\.|gpt-5|o[134](?:-|$))/,
    source: 'https://github.com/openai/tiktoken/blob/main/tiktoken/model.py',
    asOf: '2026-11',
  },
} as const satisfies Record<EncodingName, { models: RegExp; source: string; asOf: string }>;

const registered: { readonly matches: (model: string) => boolean; readonly tokenizer: Tokenizer }[] = [];

/**
 * From now on this tokenizer counts for models that match; of several the newest registration wins. `models`: a whole name, or a test of
 * it. Names are given without the provider (`claude-…`, not `anthropic/claude-…`). Returns a function that removes the registration.
 */
export function registerTokenizer(models: string | RegExp, tokenizer: Tokenizer): () => void {
  const matches =
    typeof models === 'string' ? (model: string) => model === models : (model: string) => model.search(models) !== -1;
  const entry = { matches, tokenizer };
  registered.unshift(entry);
  return () => {
    const at = registered.indexOf(entry);
    if (at !== -1) registered.splice(at, 1);
  };
}

/** The tokenizer that a manifest names; undefined: unknown here. */
export function tokenizerById(id: string): Tokenizer | undefined {
  if (id === 'o200k_base' || id === 'cl100k_base') return encodingTokenizer(id);
  return registered.find(({ tokenizer }) => tokenizer.id === id)?.tokenizer;
}

/** The tokenizer of a model, by its name with or without `provider/`; without a name, o200k. */
export function tokenizerFor(model?: string): Tokenizer {
  if (model === undefined) return encodingTokenizer('o200k_base');
  if (model === '' || model.length > MODEL_MAX_CHARS)
    throw new InvalidError('invalid-model', `A model's name has 1 to ${MODEL_MAX_CHARS} characters.`, { model });
  const name = model.slice(model.lastIndexOf('/') + 1);
  const own = registered.find(({ matches }) => matches(name));
  if (own !== undefined) return own.tokenizer;
  return encodingTokenizer(ENCODINGS.cl100k_base.models.test(name) ? 'cl100k_base' : 'o200k_base');
}
