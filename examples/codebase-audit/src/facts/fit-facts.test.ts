import { expect, it } from 'vitest';
import { MAX_FACTS_BYTES } from '../limits.ts';
import { fitFacts } from './fit-facts.ts';
import { parseFile } from './parse-file.ts';

const factsOf = (text: string) => parseFile('file.ts', new TextEncoder().encode(text));
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

it('leaves what fits as it is', () => {
  const facts = factsOf(`import { a, b } from '../x'; export const c = a(b);`);
  expect(fitFacts(facts)).toBe(facts);
});

it('gives up names first: whoever takes many things takes all', () => {
  const names = (n: number) => Array.from({ length: 100 }, (_, i) => `a${n}_${'n'.repeat(50)}${i}`).join(', ');
  const facts = factsOf(Array.from({ length: 200 }, (_, n) => `import { ${names(n)} } from '../x${n}';`).join('\n'));
  expect(bytesOf(facts)).toBeGreaterThan(MAX_FACTS_BYTES);
  const fitting = fitFacts(facts);
  expect(bytesOf(fitting)).toBeLessThanOrEqual(MAX_FACTS_BYTES);
  expect(fitting.imports).toHaveLength(200);
  expect(fitting.imports.every((item) => item.names.join() === '*')).toBe(true);
  expect(fitting.cut).toEqual(facts.cut);
});

it('counts what else has to go', () => {
  const facts = factsOf(`import { a } from '../x'; export const c = a();`);
  const [first] = facts.imports as [(typeof facts.imports)[number]];
  const many = { ...facts, imports: Array.from({ length: 20_000 }, (_, n) => ({ ...first, from: `./x${n}` })) };
  const fitting = fitFacts(many);
  expect(bytesOf(fitting)).toBeLessThanOrEqual(MAX_FACTS_BYTES);
  expect(fitting.imports.length + fitting.cut!.imports!).toBe(20_000);
  expect(fitting.imports[0]).toEqual(many.imports[0]);
});
