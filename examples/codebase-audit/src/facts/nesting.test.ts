// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the templates are source text to be parsed.
import { describe, expect, it } from 'vitest';
import { MAX_CHAIN_TOKENS, MAX_NESTING_DEPTH } from '../limits.ts';
import { tooDeep } from './nesting.ts';
import { parseFile } from './parse-file.ts';

/** Shapes that nest in the parser, each `n` deep. Most end a process outright at some depth below 100,000. */
const SHAPES: Record<string, (n: number) => string> = {
  parentheses: (n) => `${'('.repeat(n)}1${')'.repeat(n)}`,
  brackets: (n) => `x = ${'['.repeat(n)}${']'.repeat(n)}`,
  objects: (n) => `x = ${'{a:'.repeat(n)}1${'}'.repeat(n)}`,
  templates: (n) => `x = ${'`${'.repeat(n)}1${'}`'.repeat(n)}`,
  'else if': (n) => `if (a) {}${' else if (a) {}'.repeat(n)}`,
  'additions over lines': (n) => `x = 1${' +\n a'.repeat(n)}`,
  negations: (n) => `x = ${'!'.repeat(n)}1`,
  arrows: (n) => `x = ${'a=>'.repeat(n)}1`,
  'empty calls': (n) => `x = a${'()'.repeat(n)}`,
  'array types': (n) => `x = a as T${'[]'.repeat(n)}`,
  'for heads': (n) => `${'for (;;) '.repeat(n)};`,
  'if heads': (n) => `${'if (a) '.repeat(n)}b`,
  elements: (n) => `x = ${'<a>'.repeat(n)}${'</a>'.repeat(n)}`,
};

describe('tooDeep', () => {
  it.each(Object.keys(SHAPES))('stops %s before the parser sees them', (shape) => {
    const text = SHAPES[shape]!(100_000);
    expect(tooDeep(text)).toBeDefined();
    expect(parseFile('deep.tsx', new TextEncoder().encode(text))).toMatchObject({
      status: 'unparsed',
      findings: [{ rule: 'parse-error', message: expect.stringContaining('not parsed') }],
    });
  });

  it.each(Object.keys(SHAPES))('lets %s of a usual depth pass', (shape) => {
    expect(tooDeep(SHAPES[shape]!(MAX_NESTING_DEPTH / 2))).toBeUndefined();
  });

  it('is not misled by brackets in strings, comments, templates and regular expressions', () => {
    const lines = [
      '"((((";',
      "'\\'((('",
      '// ((((',
      '/* (((( */',
      '`(((${1}(((`;',
      'x = /[(/]((\\//;',
      'return /((/',
      'a / b / c',
    ];
    expect(tooDeep(lines.join('\n').repeat(MAX_NESTING_DEPTH))).toBeUndefined();
  });

  it('does not take many statements for one', () => {
    const count = MAX_CHAIN_TOKENS;
    expect(tooDeep('a = b\n'.repeat(count))).toBeUndefined();
    expect(tooDeep('function f() {} '.repeat(count))).toBeUndefined();
    expect(tooDeep(`x = [${'1 + 1, '.repeat(count)}]`)).toBeUndefined();
    expect(tooDeep('if (a) { b } else { c }\n'.repeat(count))).toBeUndefined();
  });
});
