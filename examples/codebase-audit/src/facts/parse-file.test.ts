import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_EVIDENCE_CHARS, MAX_FINDINGS_PER_FILE, MAX_IMPORTS_PER_FILE } from '../limits.ts';
import { fileFactsSchema } from './facts.ts';
import { parseFile, readFacts } from './parse-file.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const facts = (text: string, path = 'file.ts') => parseFile(path, bytes(text));

describe('parseFile', () => {
  it('gives the digest and the sizes of the bytes as they are', () => {
    const text = '\uFEFFconst é = 1;\r\nx\r\n';
    expect(facts(text)).toMatchObject({
      sha256: createHash('sha256').update(bytes(text)).digest('hex'),
      bytes: bytes(text).length,
      lines: 2,
      status: 'parsed',
    });
    expect(facts('').lines).toBe(0);
    expect(facts('a').lines).toBe(1);
    expect(facts('a\n').lines).toBe(1);
  });

  it('places findings by line and column, counted from 1 in UTF-16 units', () => {
    expect(facts("const a = '😀';\n  '😀', eval(a);").findings).toMatchObject([{ line: 2, column: 9 }]);
  });

  it.each([
    ['plain.js', 'const a = <div/>;'],
    ['plain.js', 'return 1;'],
    ['plain.js', 'with (a) { b }'],
    ['plain.cjs', 'return 1;'],
    ['plain.js', '#!/usr/bin/env node\nawait 1;'],
    ['plain.mts', 'const f = <T,>(a: T) => a;'],
    ['plain.tsx', 'const f = <T,>(a: T) => <p>{a}</p>;'],
    ['plain.d.ts', 'declare module "x" { export const a: number }'],
    ['plain.ts', '@decorate() class A { accessor b = 1; constructor(private c: string) {} }'],
    ['plain.js', ''],
  ])('parses %s: %s', (path, text) => expect(facts(text, path).status).toBe('parsed'));

  it('keeps what it can of a file with an error, and says where the error is', () => {
    const partial = facts('import a from "./a.ts";\nreturn a;', 'file.mjs');
    expect(partial).toMatchObject({ status: 'partial', imports: [{ from: './a.ts' }], findings: [{ line: 2 }] });
    const broken = facts('const a = 1;\nfoo(');
    expect(broken).toMatchObject({
      status: 'unparsed',
      findings: [{ rule: 'parse-error', severity: 'info', line: 2 }],
    });
  });

  it('keeps evidence short and on one line', () => {
    const [finding] = facts(`eval(\n  a +\n\t\t${'b + '.repeat(200)} c)`).findings;
    expect(finding!.evidence.length).toBeLessThanOrEqual(MAX_EVIDENCE_CHARS);
    expect(finding!.evidence).toMatch(/^eval\( a \+ b \+/);
  });

  it('keeps the most severe findings and counts the others', () => {
    const found = facts(`${'eval("1");\n'.repeat(MAX_FINDINGS_PER_FILE)}eval(x);\n`);
    expect(found.findings).toHaveLength(MAX_FINDINGS_PER_FILE);
    expect(found.findings[0]).toMatchObject({ severity: 'high', line: MAX_FINDINGS_PER_FILE + 1 });
    expect(found.cut).toEqual({ findings: 1 });
  });

  it('keeps imports of the tree when it has to leave some out', () => {
    const packages = Array.from({ length: MAX_IMPORTS_PER_FILE }, (_, index) => `import 'package-${index}';`);
    const found = facts([...packages, "import './own.ts';"].join('\n'));
    expect(found.imports).toHaveLength(MAX_IMPORTS_PER_FILE);
    expect(found.imports[0]!.from).toBe('./own.ts');
    expect(found.cut).toEqual({ imports: 1 });
  });

  it('marks executables', () => {
    expect(facts('#!/usr/bin/env node\n').executable).toBe(true);
    expect(facts('a').executable).toBeUndefined();
  });

  it('answers for any bytes with valid facts, twice the same', () => {
    const words = [
      'import',
      'export',
      '{',
      '}',
      '(',
      ')',
      '`',
      '${',
      "'",
      '"',
      '/',
      '*',
      '=>',
      'eval',
      'x',
      ';',
      '\n',
      '<',
      '>',
      'class',
      '\\',
      '#',
      '@',
    ];
    const text = fc
      .array(fc.oneof(fc.constantFrom(...words), fc.string()), { maxLength: 40 })
      .map((parts) => bytes(parts.join(' ')));
    fc.assert(
      fc.property(
        fc.oneof(text, fc.uint8Array({ maxLength: 200 })),
        fc.constantFrom('a.js', 'a.tsx', 'a.cts', 'a.d.ts'),
        (input, path) => {
          const first = parseFile(path, input);
          fileFactsSchema.parse(first);
          expect(JSON.parse(JSON.stringify(parseFile(path, input)))).toEqual(first);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('readFacts', () => {
  it('records a file that is gone', async () => {
    const found = await readFacts('/nowhere-at-all', 'gone.ts');
    expect(found).toMatchObject({ path: 'gone.ts', status: 'unreadable', sha256: '' });
    fileFactsSchema.parse(found);
  });
});
