import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TidemarkError } from './errors.ts';
import {
  ANSWER_BOUNDS,
  checkJson,
  JSON_BOUNDS,
  JSON_DEPTH_MAX,
  JSON_KEY_MAX_CHARS,
  JSON_MEMBERS_MAX_COUNT,
  JSON_VALUES_MAX_COUNT,
  JsonScanner,
  parseJson,
} from './json-bounds.ts';

const codeOf = (run: () => void): string | undefined => {
  try {
    run();
  } catch (error) {
    if (error instanceof TidemarkError) return error.code;
    throw error;
  }
  return undefined;
};

const refusal = (text: string): string | undefined => codeOf(() => checkJson(text, 'The value'));

/** Counts by parsing, the slow way. */
const valuesIn = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 1
    : 1 + Object.values(value).reduce<number>((sum, each) => sum + valuesIn(each), 0);

const utf8 = new TextEncoder();

describe('bounds of JSON', () => {
  it('are counted as the parsed value has them, however the text comes in pieces', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6 }),
        fc.array(fc.nat(9), { minLength: 1 }),
        fc.boolean(),
        (value, cuts, isSpaced) => {
          const text = JSON.stringify(value, null, isSpaced ? 1 : undefined);
          for (const whole of [text, utf8.encode(text)]) {
            const scanner = new JsonScanner('The value');
            for (let at = 0, turn = 0; at < whole.length; turn++) {
              const next = at + 1 + cuts[turn % cuts.length]!;
              scanner.push(whole.slice(at, next));
              at = next;
            }
            scanner.end();
            expect(scanner.values).toBe(valuesIn(value));
          }
        },
      ),
    );
  });

  it('refuse a key that an object has twice, however it is written and in whatever pieces', () => {
    const twice = [
      '{"a":1,"a":2}',
      '{"a":1,"\\u0061":2}',
      '{"é":1,"\\u00e9":2}',
      '[{"b":{"x":{"a":0},"y":[{}],"b":1,"x":2}}]',
    ];
    const once = [
      '{"a":{"a":{"a":1}},"b":{"a":1}}',
      '[{"a":1},{"a":1}]',
      '{"\\\\u0061":1,"a":2,"A":3}',
      '{"Ã©":1,"é":2,"%c3":3}',
    ];
    for (const [texts, expected] of [
      [[...twice, '{"\\ud83d\\ude00":1,"😀":2}'], 'json-key-twice'],
      [once, undefined],
    ] as const) {
      for (const text of texts) {
        for (const whole of [text, utf8.encode(text)]) {
          for (const size of [1, 3, whole.length]) {
            const scanner = new JsonScanner('The value');
            const run = () => {
              for (let at = 0; at < whole.length; at += size) scanner.push(whole.slice(at, at + size));
              scanner.end();
            };
            expect([text, size, codeOf(run)]).toEqual([text, size, expected]);
          }
        }
      }
    }
    expect(() => parseJson('{"token":1,"token":2}', 'The body')).toThrow('The body: the key of 5 characters (at 12)');
    // A foreign server can't be asked for another answer, and what is stored passed here once.
    expect(parseJson('{"a":1,"a":2}', 'The answer', ANSWER_BOUNDS)).toEqual({ a: 2 });
  });

  it('know a key again, escaped or not', () => {
    const key = fc.string({
      unit: fc.constantFrom('a', '\\', '"', 'é', '😀', '\ud800', '%', '\n', '\u00c3'),
      maxLength: 2,
    });
    const json = fc.array(fc.tuple(key, fc.boolean()), { maxLength: 6 });
    fc.assert(
      fc.property(json, (keys) => {
        const written = keys.map(([key, isEscaped]) => {
          const plain = JSON.stringify(key);
          const units = key.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
          const codes = units.map((unit) => `\\u${unit}`).join('');
          return `${isEscaped ? `"${codes}"` : plain}:0`;
        });
        const text = `{${written.join(',')}}`;
        const isTwice = new Set(keys.map(([key]) => key)).size < keys.length;
        for (const whole of [text, utf8.encode(text)]) {
          expect(codeOf(() => checkJson(whole, 'The value'))).toBe(isTwice ? 'json-key-twice' : undefined);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('let pass what is just within them, and refuse the next', () => {
    const list = (count: number) => `[${Array(count).fill('{}').join(',')}]`;
    expect(refusal(list(JSON_VALUES_MAX_COUNT - 1))).toBeUndefined();
    expect(refusal(list(JSON_VALUES_MAX_COUNT))).toBe('json-too-many-values');
    const deep = (levels: number) => `${'{"a":['.repeat(levels / 2)}${']}'.repeat(levels / 2)}`;
    expect(refusal(deep(JSON_DEPTH_MAX))).toBeUndefined();
    expect(refusal(deep(JSON_DEPTH_MAX + 2))).toBe('json-too-deep');
    const key = (chars: number) => `{"a":"${'v'.repeat(chars)}","${'k'.repeat(chars)}":1}`;
    expect(refusal(key(JSON_KEY_MAX_CHARS))).toBeUndefined();
    expect(refusal(key(JSON_KEY_MAX_CHARS + 1))).toBe('json-key-too-long');
    const object = (count: number) =>
      `{"a":{"b":1},"o":{${Array.from({ length: count }, (_, at) => `"${at}":[{}]`).join(', ')}}}`;
    expect(refusal(object(JSON_MEMBERS_MAX_COUNT))).toBeUndefined();
    expect(refusal(object(JSON_MEMBERS_MAX_COUNT + 1))).toBe('json-too-many-members');
    expect(refusal(`[${'1'.repeat(65)}]`)).toBe('json-number-too-long');
  });

  it('are passed at the first byte beyond them: the rest of a text need not come', () => {
    const scanner = new JsonScanner('The body');
    scanner.push('['.repeat(JSON_DEPTH_MAX));
    expect(codeOf(() => scanner.push('['))).toBe('json-too-deep');
    const endless = new JsonScanner('The body');
    endless.push('{"a":1,');
    endless.push('"');
    expect(codeOf(() => endless.push('k'.repeat(JSON_KEY_MAX_CHARS + 1)))).toBe('json-key-too-long');
  });

  it('know quotes, backslashes and brackets in texts for what they are', () => {
    for (const text of ['{"\\\\":"\\"[{,"}', '["\\\\","\\\\\\"",","]', '{"a\\"b":[1,"x"]}', '["\\u005b\\u007b"]']) {
      const scanner = new JsonScanner('The value');
      for (const character of text) scanner.push(character);
      scanner.end();
      expect(scanner.values).toBe(valuesIn(JSON.parse(text)));
    }
  });

  it.each([
    '9007199254740993',
    '-9007199254740993',
    '12345678901234567890',
    '9007199254740993.0',
    '9007199254740993e0',
    '12345678901234567890e2',
    '-90071992547409930e-1',
    '1e-400',
    '1e400',
    '[1,2,-1e999]',
    '{"n":9007199254740993 }',
  ])('refuse a number that would change: %s', (text) => {
    expect(refusal(text)).toBe('json-number-inexact');
    expect(codeOf(() => checkJson(text, 'The answer', ANSWER_BOUNDS))).toBeUndefined();
  });

  it.each([
    '9007199254740992',
    '-9007199254740991',
    '1152921504606847000',
    '0.1',
    '1e21',
    '-0',
    '3.141592653589793238',
    '0.0e-5',
    '2.50e30',
    '9007199254740992.000',
  ])('let pass a number that stays: %s', (text) => expect(refusal(text)).toBeUndefined());

  it('refuse no number that JSON.stringify wrote', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        (value) => refusal(JSON.stringify(value)) === undefined,
      ),
    );
  });

  it('name what was given, the bound and the place, and no word of the value', () => {
    expect(() => checkJson('{"a":[123456789012345678901]}', 'The signal go')).toThrow(
      "The signal go: a number of 21 characters (at 6) can't be kept as it is written.",
    );
    expect(() => parseJson('{"password": hunter2}', 'The file')).toThrow(
      /^The file is no JSON( at position \d+.*)?\.$/,
    );
    expect(() => parseJson(' ', 'The file')).toThrow('The file is no JSON: it is empty.');
    expect(parseJson('{"a":[1]}', 'The file')).toEqual({ a: [1] });
  });

  it('bound a text that is no JSON as well', () => {
    for (const text of [']'.repeat(1_000), '}}}{{{', '"'.repeat(999), '1-1-1', '{"a" "b" 1 2}', ',,,,']) {
      expect(refusal(text)).toBeUndefined();
      expect(codeOf(() => parseJson(text, 'It', JSON_BOUNDS))).toBe('json-invalid');
    }
  });
});
