/** Owns the tests of token counts: against the encodings themselves, of hostile texts, and of the cache. */

import { hash } from 'node:crypto';
import { assembleBundle, definePolicy, type Fragment, InvalidError, sequence } from '@tidemark/core';
import { leastCpuMs } from '@tidemark/testkit/cpu-time';
import fc from 'fast-check';
import { encode as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { afterEach, describe, expect, test } from 'vitest';
import { CountCache } from './count-cache.ts';
import { piecesOf, RUN_MAX_CHARS } from './runs.ts';
import { cachedTokenizer, registerTokenizer, tokenizerFor } from './tokenizer.ts';

/** Loading an encoding takes a while when other work has the machine. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };
const text = fc.oneof(fc.string({ maxLength: 400 }), fc.string({ unit: 'grapheme', maxLength: 400 }));

describe('which tokenizer counts', () => {
  const undo: (() => void)[] = [];
  afterEach(() => {
    for (const one of undo.splice(0)) one();
  });

  test.each([
    [undefined, 'o200k_base'],
    ['gpt-4o-mini', 'o200k_base'],
    ['gpt-4.1', 'o200k_base'],
    ['openai/gpt-5', 'o200k_base'],
    ['o3', 'o200k_base'],
    ['claude-sonnet', 'o200k_base'],
    ['gpt-4', 'cl100k_base'],
    ['openai/gpt-4-turbo-2024-04-09', 'cl100k_base'],
    ['gpt-3.5-turbo', 'cl100k_base'],
    ['text-embedding-3-small', 'cl100k_base'],
  ])('for %s: %s', (model, id) => {
    expect(tokenizerFor(model).id).toBe(id);
  });

  test('one that is registered, the newest first, until it is taken back', () => {
    const letters = { id: 'letters', count: (value: string) => value.length };
    undo.push(registerTokenizer(/^claude-/, letters), registerTokenizer('claude-mini', { ...letters, id: 'mini' }));
    expect(tokenizerFor('anthropic/claude-large').id).toBe('letters');
    expect(tokenizerFor('claude-mini').id).toBe('mini');
    undo.pop()?.();
    expect(tokenizerFor('claude-mini').id).toBe('letters');
  });

  test('a name that is none is refused', () => {
    expect(() => tokenizerFor('')).toThrow(InvalidError);
    expect(() => tokenizerFor('x'.repeat(201))).toThrow(InvalidError);
  });
});

describe('counts', () => {
  test.each([
    [tokenizerFor('gpt-4o'), o200k],
    [tokenizerFor('gpt-4'), cl100k],
  ])('are those of the encoding $id', (tokenizer, encode) => {
    fc.assert(
      fc.property(text, (value) => {
        fc.pre(piecesOf(value).length === 1);
        expect(tokenizer.count(value)).toBe(encode(value, AS_TEXT).length);
        expect(tokenizer.count(value)).toBe(encode(value, AS_TEXT).length);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([tokenizerFor('gpt-4o'), tokenizerFor('gpt-4')])(
    'joining two texts with line breaks costs at most two tokens, by $id',
    (tokenizer) => {
      fc.assert(
        fc.property(text, text, fc.constantFrom('\n', '\n\n'), (a, b, join) => {
          expect(tokenizer.count(a + join + b)).toBeLessThanOrEqual(tokenizer.count(a) + tokenizer.count(b) + 2);
        }),
        { numRuns: 2_000 },
      );
    },
  );

  test('names of special tokens are text', () => {
    expect(tokenizerFor().count('<|endoftext|>')).toBeGreaterThan(1);
  });

  test('lone surrogates count', () => {
    expect(tokenizerFor().count('\ud800 a \udc00')).toBeGreaterThan(0);
    expect(tokenizerFor().count('\udc00'.repeat(2_000))).toBeGreaterThan(0);
  });

  test.each([
    ['one letter', 'a'],
    ['one sign', '='],
    ['spaces', ' '],
    ['line breaks', '\r\n'],
    ['letters of two bytes', 'ж'],
    ['surrogate pairs', '😀'],
    ['marks', 'e\u0301'],
  ])('a megabyte of %s takes time with its length, not its square', (_, unit) => {
    const tokenizer = tokenizerFor();
    const [small, large] = [100_000, 1_000_000].map((chars) => unit.repeat(chars / unit.length)) as [string, string];
    expect(tokenizer.count(large)).toBeGreaterThan(1_000);
    // Quadratic time would make it a hundred times, not ten.
    const linearMs =
      40 *
      Math.max(
        leastCpuMs(() => tokenizer.count(small)),
        10,
      );
    expect(leastCpuMs(() => tokenizer.count(large), linearMs)).toBeLessThanOrEqual(linearMs);
  });
});

describe('pieces', () => {
  test('are the text, and no run in them is long', () => {
    const runs = fc.array(fc.tuple(fc.constantFrom('a', ' ', '=', '7', 'ж', '😀', '\n', 'b c'), fc.nat(700)), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(runs, (drawn) => {
        const value = drawn.map(([unit, count]) => unit.repeat(count)).join('');
        const pieces = piecesOf(value);
        expect(pieces.join('')).toBe(value);
        for (const piece of pieces) expect(piece).not.toMatch(new RegExp(`[\\p{L}\\p{M}]{${2 * RUN_MAX_CHARS}}`, 'u'));
      }),
    );
  });
});

describe('what is remembered', () => {
  test('a text is counted once, and the least recently used are forgotten first', () => {
    const counted: string[] = [];
    const count = (value: string): number => {
      counted.push(value);
      return value.length;
    };
    const tokenizer = cachedTokenizer('letters', count, new CountCache(1_000, 2));
    for (const value of ['a', 'b', 'a', 'c', 'a', 'b']) expect(tokenizer.count(value)).toBe(1);
    expect(counted).toEqual(['a', 'b', 'c', 'b']);
  });

  test('within its bytes and entries, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 60 }), { maxLength: 200 }), (values) => {
        const cache = new CountCache(400, 10);
        for (const value of values) {
          if (cache.get(value) === undefined) cache.set(value, 1);
          expect(cache.bytes).toBeLessThanOrEqual(400);
          expect(cache.entries).toBeLessThanOrEqual(10);
        }
      }),
    );
  });
});

test('a bundle counted by o200k stays within its budget, and its estimate covers what is sent', () => {
  const drawn = fc.array(fc.tuple(fc.constantFrom('user_message', 'agent_message', 'task_goal', 'summary'), text), {
    maxLength: 20,
  });
  const sha256 = (value: string): string => hash('sha256', value);
  const policy = definePolicy({ type: 'reply', budgetTokens: 4_000 });
  fc.assert(
    fc.property(drawn, text, text, (items, value, action) => {
      const fragments = items.map(
        ([type, said], n): Fragment => ({
          run: 0,
          sequence: sequence(n),
          index: 0,
          type: type as Fragment['type'],
          text: type === 'task_goal' ? said.slice(0, 100) : said,
          digest: sha256(said),
        }),
      );
      const workingMemory = { phase: 'p', entries: { [value]: action, b: value } };
      const trace = { recent: [{ sequence: 1, step: value, action }], earlier: { [value]: 3 } };
      const tokenizer = tokenizerFor();
      const { messages, bundle } = assembleBundle(
        { policy, fragments, workingMemory, trace, userContext: [value, action] },
        { tokenizer, sha256 },
      );
      const sent = messages.flatMap(({ content }) =>
        typeof content === 'string' ? [content] : content.map((part) => ('text' in part ? part.text : '')),
      );
      const counted = sent.reduce((sum, one) => sum + tokenizer.count(one), 0);
      expect(counted).toBeLessThanOrEqual(bundle.token_estimate);
      expect(bundle.token_estimate).toBeLessThanOrEqual(4_000);
    }),
    { numRuns: 300 },
  );
});
