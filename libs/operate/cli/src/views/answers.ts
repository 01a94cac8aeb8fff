/** Owns the commands that answer a parked workflow's question, and what each of them means. Pure. */

import { BUDGET_EXCEEDED, DEFAULT_TENANT, type Json, type Resolution } from '@tidemark/core';
import { EFFECT_DONE_BEFORE, EFFECT_NOT_RECORDED } from '@tidemark/runtime/names';
import { type At, atWords, commandLine } from '../text/shell.ts';

export interface Answer {
  /** Null: the command ends the wait, and the workflow resumes by itself. */
  readonly resolution: Resolution | null;
  readonly command: string;
  readonly means: string;
}

/** As operations return it; a caller who may not see content gets no evidence. */
export interface QuestionAsked {
  readonly code: string;
  readonly idempotency_key: string | null;
  readonly resolutions: readonly string[];
  readonly evidence?: Json | undefined;
}

/** `at`: the place of the question. */
export function answersOf(workflow: string, tenant: string, question: QuestionAsked, at: At): readonly Answer[] {
  if (question.resolutions.length === 0) return judgements(workflow, question, at);
  const answers = (question.resolutions as readonly Resolution[]).map((resolution) => ({
    resolution,
    command: `${answerCommand(workflow, resolution, question, at)} --why TEXT`,
    means: meaning(resolution, question),
  }));
  return [...budgetAnswers(workflow, tenant, question, at), ...answers];
}

/** For an unreadable record. */
function judgements(workflow: string, { evidence }: QuestionAsked, at: At): readonly Answer[] {
  const command = (verb: string): string => `${commandLine('tidemark', verb, workflow, ...atWords(at))} --why TEXT`;
  const take = {
    resolution: null,
    command: command('take'),
    means: 'it is read again: choose this when what was missing is back',
  };
  const skip = {
    resolution: null,
    command: command('skip'),
    means: 'it resumes without the record: choose this when no process that may wrote it',
  };
  const { type } = (evidence ?? {}) as { readonly type?: unknown };
  return type === 'WorkflowOpened' ? [take] : [skip, take];
}

/** Of a budget that left too little. */
interface Exceeded {
  readonly budget?: unknown;
  readonly unit?: unknown;
  readonly limits?: readonly unknown[];
}

/** More money or tokens for what ran out: the workflow itself, or all of a user or a tenant. */
function budgetAnswers(workflow: string, tenant: string, { code, evidence }: QuestionAsked, at: At): readonly Answer[] {
  const { budget, unit, limits = [unit] } = (evidence ?? {}) as Exceeded;
  if (code !== BUDGET_EXCEEDED || typeof budget !== 'string') return [];
  const there = atWords(at);
  const more = (units: readonly unknown[]): string =>
    units.map((each) => (each === 'tokens' ? '--tokens COUNT' : '--usd AMOUNT')).join(' ');
  const [, kind, name, period] = /^(user|tenant) (.*) \((\w+)\)$/s.exec(budget) ?? [];
  if (kind === undefined) {
    const command = `${commandLine('tidemark', 'budget', 'raise', workflow, ...there)} ${more([unit])} --why TEXT`;
    return [{ resolution: null, command, means: 'this workflow may spend that much more' }];
  }
  const whose = kind === 'user' ? ['--user', name] : [];
  const of = tenant === DEFAULT_TENANT ? [] : ['--tenant', tenant];
  const command = `${commandLine('tidemark', 'budget', 'set', ...whose, ...of, ...there)} ${more(limits)} --period ${period}`;
  return [
    { resolution: null, command, means: `${kind} ${name} may spend that much; everything that it had paused resumes` },
  ];
}

/** Whether a reset asks, and the response of what the old history did is recorded. */
const hasResponse = ({ code, evidence }: QuestionAsked): boolean =>
  code === EFFECT_DONE_BEFORE && (evidence as { readonly response?: unknown } | undefined)?.response !== undefined;

function answerCommand(workflow: string, resolution: Resolution, question: QuestionAsked, at: At): string {
  const there = atWords(at);
  if (resolution === 'fail') return commandLine('tidemark', 'reject', workflow, ...there);
  const command = commandLine('tidemark', 'approve', workflow, ...there, '--as', resolution);
  return resolution === 'done' && !hasResponse(question) ? `${command} --response JSON` : command;
}

function meaning(resolution: Resolution, question: QuestionAsked): string {
  const { idempotency_key: key, code } = question;
  const isReplay = code === EFFECT_NOT_RECORDED;
  const isReset = code === EFFECT_DONE_BEFORE;
  switch (resolution) {
    case 'retry':
      if (isReplay) return 'it checks again whether its base has recorded it by now';
      if (isReset) return 'it asks you again';
      return key === null
        ? 'it continues, as if nothing had failed'
        : 'it continues, as if nothing had failed: its probe determines what became of the call; without one it asks you again';
    case 'done':
      if (hasResponse(question)) return `${key} is answered as it was before the reset, and nothing is called`;
      return isReplay ? `${key} is answered with this, and nothing is called` : `${key} happened, and answered this`;
    case 'not-done':
      return isReset
        ? `it is called again, as ${key}`
        : `${key} certainly did not happen: it is called again, with the same key`;
    case 'compensate':
      return "what was done is compensated, newest first; what can't be compensated is listed";
    case 'fail':
      return 'it ends as failed; what was done stays';
  }
}
