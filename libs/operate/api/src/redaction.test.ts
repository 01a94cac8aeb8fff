/** What is taken out of answers: what is marked, for whom, and whatever the schema doesn't name. */

import { ROLES } from '@tidemark/ports';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { content, redactionOf, redactorOf, token, words } from './redaction.ts';
import { allRoutes } from './routes.ts';

const schema = z.object({
  id: z.string(),
  input: content(z.object({ secret: z.string() })),
  said: words(),
  parts: z.array(z.union([z.object({ on: z.literal('tasks') }), z.object({ on: z.literal('call'), token: token() })])),
  byName: z.record(z.string(), z.object({ count: z.int() })),
  any: z.unknown(),
});
const value = {
  id: 'w',
  input: { secret: 's' },
  said: 'paid 5',
  parts: [
    { on: 'tasks', more: 1 },
    { on: 'call', token: 't' },
    { on: 'other', token: 't' },
  ],
  byName: { a: { count: 1, more: 1 } },
  any: { more: 1 },
  more: 1,
};
const shown = (seen: { content: boolean; tokens: boolean; words?: boolean }) => {
  const redaction = { words: seen.content, ...seen };
  const redact = redactorOf(schema, redaction);
  return redact === undefined ? value : JSON.parse(JSON.stringify(redact(value)));
};

it('leaves names and numbers to who may not see content, and nothing that the schema does not name', () => {
  expect(shown({ content: false, tokens: false })).toEqual({
    ...{ id: 'w', said: '', any: { more: 1 } },
    parts: [{ on: 'tasks' }, { on: 'call' }, null],
    byName: { a: { count: 1 } },
  });
});

it('leaves words to who may see content and asks for none', () => {
  expect(shown({ content: false, words: true, tokens: true })).toMatchObject({ said: 'paid 5' });
  expect(shown({ content: false, words: true, tokens: true })).not.toHaveProperty('input');
});

it('leaves tokens out for who may not confirm', () => {
  const { parts, input } = shown({ content: true, tokens: false });
  expect(parts).toEqual([{ on: 'tasks', more: 1 }, { on: 'call' }, null]);
  expect(input).toEqual({ secret: 's' });
  expect(shown({ content: true, tokens: true })).toBe(value);
});

it('knows by role who may see what', () => {
  expect(ROLES.filter((role) => redactionOf({ roles: [role] }).tokens)).toEqual(['worker', 'admin']);
  expect(ROLES.filter((role) => !redactionOf({ roles: [role] }).content)).toEqual(['viewer', 'scaler']);
});

const hidden = z.object({ input: content(z.string()) });

it.each([
  ['tuple', z.tuple([hidden])],
  ['default', hidden.default({ input: 'x' })],
  ['lazy', z.lazy(() => hidden)],
  ['pipe', hidden.transform((of) => of)],
  ['intersection', z.intersection(hidden, hidden)],
  ['map', z.map(z.string(), hidden)],
  ['promise', z.promise(hidden)],
])('refuses a schema that it can not look into: %s', (kind, inner) => {
  expect(() => redactorOf(z.object({ of: inner }), { content: false, words: false, tokens: false })).toThrow(
    `kind '${kind}'`,
  );
});

it.each([
  ['in a record', z.record(z.string(), content(z.string()))],
  ['in a list', z.array(content(z.string()))],
  ['in a union', z.union([z.number(), content(z.string())])],
  ['under another wrapping', content(z.string()).nullable()],
  ['of words', z.array(words())],
  ['of a token', token().readonly()],
])('refuses a mark that is on no field of an object: %s', (_, inner) => {
  expect(() => redactorOf(z.object({ of: inner }), { content: false, words: false, tokens: false })).toThrow(
    'mark a field of an object',
  );
});

it('knows how to redact the answers of every route', () => {
  const redactions = ROLES.map((role) => redactionOf({ roles: [role] }));
  for (const { answers } of allRoutes) {
    for (const schema of Object.values(answers)) {
      for (const redaction of redactions) expect(() => redactorOf(schema, redaction)).not.toThrow();
    }
  }
});
