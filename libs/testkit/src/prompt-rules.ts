/**
 * Owns the check of a prompt by the rules of docs/prompts.md, each by its name. It is written from what providers refuse, not from the code
 * that makes prompts, and shares nothing with it. A rule that a single family has is checked for that family alone.
 */

import type { BundleMessage } from '@tidemark/core';

export const PROMPT_RULES = [
  'system-first',
  'user-begins',
  'roles-alternate',
  'results-follow',
  'answer-after-results',
  'user-ends',
  'no-empty-text',
  'calls-last',
  'object-input',
  'portable-ids',
  'portable-names',
] as const;
export type PromptRule = (typeof PROMPT_RULES)[number];

export interface BrokenRule {
  readonly rule: PromptRule;
  /** Index of the message. */
  readonly at: number;
  readonly why: string;
}

interface Part {
  readonly type: string;
  readonly text?: unknown;
  readonly output?: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly input?: unknown;
}
interface Message {
  readonly role: string;
  readonly parts: readonly Part[];
}

const ID = { any: /^[A-Za-z0-9_-]{1,40}$/, mistral: /^[A-Za-z0-9]{9}$/ } as const;
const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Every rule that the prompt breaks; none: each provider of the family takes it. */
export function brokenRules(
  messages: readonly BundleMessage[],
  family: 'any' | 'mistral' = 'any',
): readonly BrokenRule[] {
  const broken: BrokenRule[] = [];
  const list = messages.map(
    ({ role, content }): Message => ({
      role,
      parts: typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly Part[]),
    }),
  );
  const report = (rule: PromptRule, at: number, why: string): void => void broken.push({ rule, at, why });
  checkOrder(list, family, report);
  const ids = new Set<unknown>();
  list.forEach(({ role, parts }, at) => {
    if (parts.length === 0) report('no-empty-text', at, `${role} says nothing`);
    for (const part of parts) checkPart(part, at, report);
    for (const { id, type } of parts) {
      if (type !== 'tool-call' && type !== 'tool-result') continue;
      if (typeof id !== 'string' || !ID[family].test(id)) report('portable-ids', at, `id ${JSON.stringify(id)}`);
    }
    const calls = parts.filter(({ type }) => type === 'tool-call');
    for (const { id } of calls) {
      if (ids.has(id)) report('portable-ids', at, `a second call ${JSON.stringify(id)}`);
      ids.add(id);
    }
    const first = parts.findIndex(({ type }) => type === 'tool-call');
    if (first >= 0 && parts.slice(first).some(({ type }) => type === 'text'))
      report('calls-last', at, 'text after a call');
    const next = list[at + 1];
    const results = next?.role === 'tool' ? next.parts.map(nameAndId) : [];
    if (calls.map(nameAndId).join('\n') !== results.join('\n'))
      report('results-follow', at, `calls [${calls.map(nameAndId).join(', ')}], results [${results.join(', ')}]`);
  });
  return broken;
}

const nameAndId = ({ id, name }: Part): string => `${String(name)} ${String(id)}`;

function checkOrder(
  list: readonly Message[],
  family: 'any' | 'mistral',
  report: (rule: PromptRule, at: number, why: string) => void,
): void {
  const roles = list.map(({ role }) => role);
  roles.forEach((role, at) => {
    if (role === 'system' && at > 0) report('system-first', at, `system after ${roles[at - 1]}`);
    if (role !== 'system' && role === roles[at - 1]) report('roles-alternate', at, `${role} after ${role}`);
    if (role === 'tool' && roles[at - 1] !== 'assistant')
      report('results-follow', at, `results after ${roles[at - 1]}`);
    if (family === 'mistral' && role === 'user' && roles[at - 1] === 'tool')
      report('answer-after-results', at, 'user after tool');
  });
  const begins = roles.findIndex((role) => role !== 'system');
  if (roles[begins] !== 'user') report('user-begins', Math.max(begins, 0), `${roles[begins] ?? 'nothing'} begins`);
  const end = roles.at(-1);
  if (end !== 'user' && end !== 'tool') report('user-ends', roles.length - 1, `${end ?? 'nothing'} ends`);
}

function checkPart(
  { type, text, output, name, input }: Part,
  at: number,
  report: (rule: PromptRule, at: number, why: string) => void,
): void {
  const said = type === 'text' ? text : type === 'tool-result' ? output : 'something else';
  if (typeof said === 'string' && said.trim() === '') report('no-empty-text', at, `${type} is empty`);
  if (type !== 'tool-call' && type !== 'tool-result') return;
  if (typeof name !== 'string' || !NAME.test(name)) report('portable-names', at, `name ${JSON.stringify(name)}`);
  if (type === 'tool-call' && (typeof input !== 'object' || input === null || Array.isArray(input)))
    report('object-input', at, `input ${JSON.stringify(input)}`);
}
