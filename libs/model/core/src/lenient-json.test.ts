/** Owns the tests of reading damaged JSON: what is still read, and that any input ends and never throws. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseLenient } from './lenient-json.ts';

const STATE = { workflow: 'audit', stages: [{ id: 'scan', status: 'done' }, { id: 'fix' }], notes: ['a "b" \\ \n ü'] };

describe('reading damaged JSON', () => {
  it.each([
    ['a byte order mark', `\ufeff${JSON.stringify(STATE)}`],
    ['a trailing comma', JSON.stringify(STATE).replaceAll(']', ',]').replaceAll('}', ',}')],
    ['comments', `// mine\n${JSON.stringify(STATE, undefined, 1).replace('{', '{ /* all\n of it */')} // end`],
    ['a missing comma', JSON.stringify(STATE, undefined, 1).replaceAll(',\n', '\n')],
    ['keys without quotes', JSON.stringify(STATE).replaceAll(/"(\w+)":/g, '$1:')],
    ['something behind its end', `${JSON.stringify(STATE)}}\n{"other":1}`],
  ])('reads all of it through %s', (problem, text) => {
    const { value, problems } = parseLenient(text);
    expect(value).toEqual(STATE);
    expect(problems).toContain(problem);
  });

  it('reads single quotes', () => {
    expect(parseLenient(`{'a': 'it\\'s "b"'}`)).toEqual({
      value: { a: 'it\'s "b"' },
      problems: ['single quotes'],
      isWhole: true,
    });
  });

  it('keeps what is whole of a text that was cut off, and guesses nothing', () => {
    expect(parseLenient('{"a":1,"stages":[{"id":"x","status":"do').value).toEqual({ a: 1, stages: [{ id: 'x' }] });
    expect(parseLenient('{"a":1,"b":12').value).toEqual({ a: 1 });
    expect(parseLenient('{"a":1,"b":tru').value).toEqual({ a: 1 });
    expect(parseLenient('{"a":1,"b').value).toEqual({ a: 1 });
  });

  it('finds nothing where nothing is', () => {
    for (const text of ['', '  \n', '\0\0\0', 'hello', '"text"', '12']) {
      expect(parseLenient(text)).toEqual({ value: undefined, problems: [expect.any(String)], isWhole: false });
    }
  });

  it('is not led astray by depth or by names', () => {
    expect(parseLenient('['.repeat(100_000)).problems).toContain('too deep nesting, or too many values');
    const { value } = parseLenient('{"__proto__":{"x":1},}');
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it('reads what is sound as JSON does', () => {
    fc.assert(
      fc.property(fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())), (value) => {
        const text = JSON.stringify(value);
        expect(parseLenient(text)).toEqual({ value: JSON.parse(text), problems: [], isWhole: true });
      }),
    );
  });

  it('ends on any prefix and on any text', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      "'",
      '\\',
      '/',
      '*',
      '\n',
      'a',
      '1',
      '-',
      '\ufeff',
      ';',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
        parseLenient(`{${parts.join('')}`);
      }),
      { numRuns: 2_000 },
    );
    const text = JSON.stringify(STATE);
    for (let cut = 1; cut < text.length; cut += 1) expect(parseLenient(text.slice(0, cut)).problems).not.toEqual([]);
  });
});
