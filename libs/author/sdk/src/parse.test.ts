import { InvalidError } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { kindOf, PROBLEM_MAX_CHARS, parser, pathText } from './parse.ts';
import type { Schema } from './schema.ts';

const border = { code: 'input-invalid', what: 'refund v2, input', remedy: 'Fix it.' };
const parse = (schema: Schema, value: unknown) => parser(schema, border)(value);

function refusal(schema: Schema, value: unknown): InvalidError {
  try {
    parse(schema, value);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidError);
    return error as InvalidError;
  }
  throw new Error('was not refused');
}

describe('parser', () => {
  it('gives what the schema makes of the value, as JSON', () => {
    const schema = z.object({ n: z.number().default(7), left: z.string().optional() });
    expect(parse(schema, { left: undefined, stray: 1 })).toEqual({ n: 7 });
  });

  it('takes schemas of zod/mini', () => {
    expect(parse(mini.object({ n: mini.number() }), { n: 1 })).toEqual({ n: 1 });
    expect(refusal(mini.object({ n: mini.number() }), { n: 'x' }).message).toContain(
      'n: expected number, got a string',
    );
  });

  it('names whose value it is, the path, what was expected and what to do', () => {
    const schema = z.object({ items: z.array(z.object({ price: z.number() })) });
    const value = { items: [{ price: 1 }, { price: 1 }, { price: 1 }, { price: 'secret' }] };
    const error = refusal(schema, value);
    expect(error.code).toBe('input-invalid');
    expect(error.message).toBe('refund v2, input: items[3].price: expected number, got a string. Fix it.');
    expect(error.details.problems).toEqual([{ path: 'items[3].price', problem: 'expected number, got a string' }]);
  });

  it('tells a missing member from a wrong one, and the value itself from a member', () => {
    expect(refusal(z.object({ orderId: z.string() }), {}).message).toContain('orderId: is missing (expected string)');
    expect(refusal(z.object({}), [1]).message).toContain('input: expected object, got an array.');
    expect(refusal(z.string(), null).message).toContain('input: expected string, got null.');
  });

  it('shows the first problems and counts the rest', () => {
    const error = refusal(z.array(z.number()), ['a', 'b', 'c', 'd', 'e']);
    expect(error.message).toContain('[2]: expected number, got a string; and 2 more. Fix it.');
    expect(error.details.problems).toHaveLength(5);
  });

  it('tells a problem of a union by the alternative that the value came closest to', () => {
    const schema = z.union([z.string(), z.object({ to: z.object({ n: z.number() }) })]);
    expect(refusal(schema, { to: { n: 'x' } }).message).toContain('to.n: expected number, got a string');
    expect(refusal(schema, 5).message).toContain('a number that fits none of 2 alternatives');
    const tagged = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a') }),
      z.object({ kind: z.literal('b') }),
    ]);
    expect(refusal(tagged, { kind: 'c' }).message).toMatch(/kind: .*'a' \| 'b'/);
  });

  it('never prints the value, however a check words its message', () => {
    const secret = 'hunter2'.repeat(100);
    expect(refusal(z.object({ n: z.number() }), { n: secret }).message).not.toContain('hunter2');
    expect(refusal(z.email(), secret).message).not.toContain('hunter2');
    const quoting = z.string().refine(() => false, { error: (issue) => `bad: ${String(issue.input)}` });
    expect(refusal(quoting, secret).message.length).toBeLessThan(PROBLEM_MAX_CHARS + 100);
  });

  it('refuses what passed a schema but JSON can not hold, with its path', () => {
    expect(() => parse(z.object({ at: z.unknown() }), { at: new Date(0) })).toThrow(
      expect.objectContaining({ code: 'not-serialisable', message: expect.stringContaining('at at: a Date') }),
    );
  });

  it('refuses a schema with an asynchronous check', () => {
    expect(
      refusal(
        z.string().refine(async () => true),
        'x',
      ).code,
    ).toBe('schema-async');
  });

  it('lets an error that a check throws pass, since it is a fault of the check', () => {
    const broken = z.string().refine(() => {
      throw new RangeError('broken check');
    });
    expect(() => parse(broken, 'x')).toThrow(RangeError);
  });
});

describe('pathText', () => {
  it.each([
    [['orderId'], 'orderId'],
    [['items', 3, 'price'], 'items[3].price'],
    [[0, 'a'], '[0].a'],
    [['prices', 'a b'], 'prices["a b"]'],
    [[], ''],
  ])('%j is %s', (path, text) => expect(pathText(path)).toBe(text));

  it('is bounded, since keys may be data', () => {
    expect(pathText(['k'.repeat(10_000)]).length).toBe(PROBLEM_MAX_CHARS);
  });
});

describe('kindOf', () => {
  it.each([
    [undefined, 'nothing'],
    [null, 'null'],
    [[], 'an array'],
    [{}, 'an object'],
    [Object.create(null), 'an object'],
    [new Date(0), 'a Date'],
    [new (class extends Map {})(), 'a class'],
    [Number.NaN, 'NaN'],
    [1, 'a number'],
    ['x', 'a string'],
    [() => {}, 'a function'],
  ])('%o is %s', (value, text) => expect(kindOf(value)).toBe(text));
});
