/** The mark of secret fields: invisible to a parser, another value for a writer; in any place of a schema, and never half. */

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { defineEffect } from './effect.ts';
import { parser } from './parse.ts';
import { hasSecrets, secret } from './secret.ts';
import { task } from './task.ts';
import { defineWorkflow } from './workflow.ts';

const BORDER = { code: 'input-invalid', what: 'input', remedy: 'Fix it.' };
const seal = (value: unknown): string => `<${JSON.stringify(value)}>`;

const card = z.object({ number: secret(z.string().min(4)), limit: z.number() });
const schema = z.object({
  cards: z.array(card),
  main: z.optional(secret(card)),
  byName: z.record(z.string(), z.union([secret(z.number()), z.boolean()])),
  note: z.nullable(secret(z.string())),
});
const value = {
  cards: [{ number: '4111', limit: 3 }],
  main: { number: '4222', limit: 4 },
  byName: { a: 1, b: true },
  note: null,
};

describe('secret()', () => {
  const parse = parser(schema, BORDER);

  it('is nothing to whoever parses, and the type stays', () => {
    const parsed: z.infer<typeof schema> = value;
    expect(parse(parsed)).toEqual(value);
  });

  it('seals each marked value, wherever it is', () => {
    expect(parse(value, seal)).toEqual({
      cards: [{ number: '<"4111">', limit: 3 }],
      // What is secret as a whole is sealed as a whole; what is within it was sealed before.
      main: seal({ number: '<"4222">', limit: 4 }),
      byName: { a: '<1>', b: true },
      note: null,
    });
  });

  it('checks what is given, not what is stored', () => {
    expect(() => parse({ ...value, cards: [{ number: '4', limit: 3 }] }, seal)).toThrow(/cards\[0\]\.number/);
    // The parser of another border is not concerned.
    expect(parse(value)).toEqual(value);
  });

  it('leaves out what is not there, and works with zod/mini', () => {
    const { main: _, ...without } = value;
    expect(parse(without, seal)).not.toHaveProperty('main');
    const small = parser(mini.object({ key: secret(mini.string()) }), BORDER);
    expect(small({ key: 'k' }, seal)).toEqual({ key: '<"k">' });
  });

  it('is found in any depth', () => {
    expect(hasSecrets(schema)).toBe(true);
    expect(hasSecrets(z.object({ a: z.lazy(() => z.array(secret(z.string()))) }))).toBe(true);
    expect(hasSecrets(z.object({ a: z.string().min(3) }))).toBe(false);
  });
});

describe('a definition', () => {
  const define = (input: z.ZodType<{ key: string }>, effects: Parameters<typeof defineWorkflow>[0]['effects'] = []) =>
    defineWorkflow({
      ...{ name: 'w', version: 1, input, belief: z.object({}), output: z.null(), effects },
      tasks: { one: z.object({}) },
      flow: { one: [] },
      begin: () => ({ belief: {}, next: [task('one', {})] }),
      steps: { one: () => ({ done: null }) },
    });

  it('says whether it has some, in its schemas or in an effect that it lists', () => {
    const plain = z.object({ key: z.string() });
    expect(define(z.object({ key: secret(z.string()) })).hasSecrets).toBe(true);
    expect(define(plain).hasSecrets).toBe(false);
    const pay = defineEffect({
      ...{ operation: 'pay', kind: 'idempotent', request: z.object({ card: secret(z.string()) }), response: z.null() },
      call: () => null,
    });
    expect(define(plain, [pay]).hasSecrets).toBe(true);
  });

  it('refuses a check after the mark, and a name that is secret', () => {
    expect(() => define(z.object({ key: secret(z.string()).min(8) }))).toThrow(/at key: a check after secret\(\)/);
    const names = z.object({ key: z.string(), by: z.record(secret(z.string()), z.number()) });
    expect(() => define(names)).toThrow(/a name can't be secret/);
  });
});
