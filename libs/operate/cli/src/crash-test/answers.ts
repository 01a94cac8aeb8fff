/** Owns what the user gives the fake receiver to answer, checked: rules, and the answers of a scripted model. Pure. */

import { InvalidError, type Json } from '@tidemark/core';
import type { ScriptedAnswer } from './scripted-model.ts';

/** Rules, or answers of a model, at most. */
const ANSWERS_MAX_COUNT = 1_000;

/** The first rule that fits answers. Absent: any method, any path; 200; `{}`. */
export interface AnswerRule {
  readonly method?: string;
  /** Without a query; a `*` at its end stands for any rest. */
  readonly path?: string;
  readonly status?: number;
  readonly body?: Json;
}

type Checks = Readonly<Record<string, readonly [isFine: (value: Json) => boolean, what: string]>>;

const isText = (value: Json): boolean => typeof value === 'string';
const isObject = (value: Json): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const RULE: Checks = {
  method: [(value) => typeof value === 'string' && /^[A-Z]+$/.test(value), 'a method such as "POST"'],
  path: [(value) => typeof value === 'string' && value.startsWith('/'), 'a path that begins with /'],
  status: [(value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) < 600, 'a status of 200 to 599'],
  body: [() => true, 'any JSON'],
};
const ANSWER: Checks = {
  text: [isText, 'a text'],
  calls: [
    (value) => Array.isArray(value) && value.every((call) => isObject(call) && isText(call.name ?? null)),
    'a list of {"name", "arguments"}',
  ],
};

/** Throws `InvalidError` (`answers-invalid`), which names the place. */
export const answerRules = (given: Json): readonly AnswerRule[] =>
  listOf('--answers', given).map((rule, at) => checked(`--answers[${at}]`, rule, RULE) as AnswerRule);

/** Throws `InvalidError` (`answers-invalid`), which names the place. */
export const scriptedAnswers = (given: Json): readonly ScriptedAnswer[] =>
  listOf('--model', given).map((answer, at) =>
    isText(answer)
      ? { text: answer as string, calls: [] }
      : { calls: [], ...(checked(`--model[${at}]`, answer, ANSWER) as Partial<ScriptedAnswer>) },
  );

function listOf(option: string, given: Json): readonly Json[] {
  if (Array.isArray(given) && given.length > 0 && given.length <= ANSWERS_MAX_COUNT) return given;
  throw invalid(`${option}: give a list of 1 to ${ANSWERS_MAX_COUNT} answers.`);
}

function checked(place: string, given: Json, checks: Checks): object {
  const members = Object.keys(checks).join(', ');
  if (!isObject(given)) throw invalid(`${place}: give an object of ${members}.`);
  for (const [name, value] of Object.entries(given)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) throw invalid(`${place}: '${name.slice(0, 100)}' is none of ${members}.`);
    if (!check[0](value)) throw invalid(`${place}.${name}: give ${check[1]}.`);
  }
  return given;
}

const invalid = (message: string): InvalidError => new InvalidError('answers-invalid', message);
