/** Owns what the user gives the fake receiver to answer, checked: rules, and the answers of a scripted model. Pure. */

import { InvalidError, type Json } from '@tidemark/core';
import { z } from 'zod';

/** Rules, or answers of a model, at most. */
const ANSWERS_MAX_COUNT = 1_000;

const rule = z.strictObject({
  method: z
    .string()
    .regex(/^[A-Z]+$/, 'give a method such as "POST"')
    .optional(),
  /** Without a query; a `*` at its end stands for any rest. */
  path: z.string().startsWith('/', 'give a path that begins with /').optional(),
  status: z.int().min(200).max(599).optional(),
  body: z.json().optional(),
});
const call = z.strictObject({ name: z.string(), arguments: z.json().optional() });
const answer = z.strictObject({ text: z.string().optional(), calls: z.array(call).default([]) });

/** The first rule that fits answers. Absent: any method, any path; 200; `{}`. */
export type AnswerRule = z.infer<typeof rule>;
export type ScriptedAnswer = z.infer<typeof answer>;

/** Throws `InvalidError` (`answers-invalid`), which names the place. */
export const answerRules = (given: Json): readonly AnswerRule[] => checked('--answers', rule, given);

/** Throws `InvalidError` (`answers-invalid`), which names the place. */
export const scriptedAnswers = (given: Json): readonly ScriptedAnswer[] =>
  checked(
    '--model',
    answer,
    Array.isArray(given) ? given.map((each) => (typeof each === 'string' ? { text: each } : each)) : given,
  );

function checked<T>(option: string, schema: z.ZodType<T>, given: Json): readonly T[] {
  const result = z.array(schema).min(1).max(ANSWERS_MAX_COUNT).safeParse(given);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  const place = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  throw new InvalidError('answers-invalid', `${option}${place}: ${message.slice(0, 200)}.`);
}
