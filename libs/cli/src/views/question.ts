/** Owns what a parked workflow asks a person: why, on what evidence, and which commands answer it. Pure. */

import {
  BUDGET_EXCEEDED,
  DEFAULT_TENANT,
  type EventId,
  type Json,
  type Question,
  type Resolution,
  type StreamState,
  streamFromJson,
} from '@tidemark/core';
import type { StreamSnapshot } from '@tidemark/ports';
import { askedBy, EFFECT_NOT_RECORDED, fittingResolutions, PLAIN_REFUSED } from '@tidemark/runtime';
import type { Reads } from '../state/desk.ts';
import { commandLine, stateWords } from '../text/shell.ts';

export interface Answer {
  /** Null: the command ends what it waits for, and it goes on by itself. */
  readonly resolution: Resolution | null;
  readonly command: string;
  readonly means: string;
}

export interface Asked {
  readonly question: Question;
  readonly message: string;
  readonly evidence: Json;
  readonly answers: readonly Answer[];
}

/** Undefined: it asks nothing. `state`: the folder as the user named it. Reads the one event that asks. */
export async function askedOf(
  reads: Pick<Reads, 'events'>,
  snapshot: StreamSnapshot | undefined,
  state: string | undefined,
): Promise<Asked | undefined> {
  const stream = snapshot === undefined ? undefined : streamFromJson(snapshot.state, snapshot.tasks);
  if (stream?.unreadable?.problem !== undefined) return stoppedAt(stream, stream.unreadable, state);
  if (stream === undefined || stream.question === null) return undefined;
  const { question } = stream;
  const payload = await askedBy(reads, stream.workflow, question.id);
  const evidence = payload?.evidence ?? null;
  return {
    question,
    message: payload?.error.message ?? '',
    evidence,
    answers: [...budgetAnswers(stream, question, evidence, state), ...answersTo(stream, question, state)],
  };
}

/** What a workflow asks that stands at a record that can't be read. */
function stoppedAt(
  { workflow }: Pick<StreamState, 'workflow'>,
  { offset, type, problem = '' }: NonNullable<StreamState['unreadable']>,
  state: string | undefined,
): Asked {
  const command = (verb: string): string =>
    `${commandLine('tidemark', verb, workflow, ...stateWords(state))} --by NAME --why TEXT`;
  const take = {
    resolution: null,
    command: command('take'),
    means: 'it is read once more: do it when what was lacking is there',
  };
  const skip = {
    resolution: null,
    command: command('skip'),
    means: 'it goes on as if the record were not there; do it when nobody who may has written it',
  };
  return {
    question: { id: '' as EventId, code: problem, task: null, key: null },
    message: `the ${type} at offset ${offset} can't be read, and nothing after it counts until somebody has judged it: ${PROBLEMS[problem] ?? PROBLEMS[OVER_BOUNDS]}`,
    evidence: { offset, type },
    answers: type === 'WorkflowOpened' ? [take] : [skip, take],
  };
}

const OVER_BOUNDS = 'over-bounds';
const PROBLEMS: Readonly<Record<string, string>> = {
  'sealed-wrong':
    'it is not encrypted, or not with the key of this workflow that it names. Somebody who has no keys has written or changed it.',
  'key-missing':
    'the store of keys has never had the key that it names, or has lost it. Put a copy of the store back before you skip anything.',
  [PLAIN_REFUSED]:
    'the workflow begins unencrypted, where all are to be encrypted. Take it if it is from before encryption was turned on.',
  'blob-missing': 'its large payload is not in the blob store. Put it back from a copy.',
  'blob-damaged': 'its large payload was changed. Put it back from a copy.',
  [OVER_BOUNDS]: 'its payload has more values, levels or longer keys than Tidemark writes.',
};

/** The same, read from the rows. */
export async function askedIn(
  reads: Reads,
  workflow: StreamState['workflow'],
  state: string | undefined,
): Promise<Asked | undefined> {
  const [snapshot] = await reads.loadStreams([workflow]);
  return askedOf(reads, snapshot, state);
}

const answersTo = (stream: StreamState, question: Question, state: string | undefined): readonly Answer[] =>
  fittingResolutions(stream, question).map((resolution) => ({
    resolution,
    command: `${answerCommand(stream.workflow, resolution, state)} --by NAME --why TEXT`,
    means: meaning(resolution, question),
  }));

/** Of a budget that left too little; an older release wrote less of it. */
interface Exceeded {
  readonly budget?: unknown;
  readonly unit?: unknown;
  readonly limits?: readonly unknown[];
}

/** More money or tokens for whoever has too little: the workflow itself, or all of a user or a tenant. */
export function budgetAnswers(
  { workflow, tenant }: Pick<StreamState, 'workflow' | 'tenant'>,
  { code }: Pick<Question, 'code'>,
  evidence: Json,
  state: string | undefined,
): readonly Answer[] {
  const { budget, unit, limits = [unit] } = (evidence ?? {}) as Exceeded;
  if (code !== BUDGET_EXCEEDED || typeof budget !== 'string') return [];
  const at = stateWords(state);
  const more = (units: readonly unknown[]): string =>
    units.map((each) => (each === 'tokens' ? '--tokens COUNT' : '--usd AMOUNT')).join(' ');
  const [, kind, name, period] = /^(user|tenant) (.*) \((\w+)\)$/s.exec(budget) ?? [];
  if (kind === undefined) {
    const command = `${commandLine('tidemark', 'budget', 'raise', workflow, ...at)} ${more([unit])} --by NAME --why TEXT`;
    return [{ resolution: null, command, means: 'this workflow may spend that much more' }];
  }
  const whose = kind === 'user' ? ['--user', name] : [];
  const of = tenant === DEFAULT_TENANT ? [] : ['--tenant', tenant];
  const command = `${commandLine('tidemark', 'budget', 'set', ...whose, ...of, ...at)} ${more(limits)} --period ${period}`;
  return [{ resolution: null, command, means: `${kind} ${name} may spend that much; all that it had paused goes on` }];
}

function answerCommand(workflow: string, resolution: Resolution, state: string | undefined): string {
  const at = stateWords(state);
  if (resolution === 'fail') return commandLine('tidemark', 'reject', workflow, ...at);
  const command = commandLine('tidemark', 'approve', workflow, ...at, '--as', resolution);
  return resolution === 'done' ? `${command} --response JSON` : command;
}

function meaning(resolution: Resolution, { key, code }: Question): string {
  const isReplay = code === EFFECT_NOT_RECORDED;
  switch (resolution) {
    case 'retry':
      if (isReplay) return 'it looks again whether its base has recorded it by now';
      return key === null
        ? 'it goes on, as if nothing had failed yet'
        : 'it goes on, as if nothing had failed yet: its probe tells what became of the call; without one you are asked again';
    case 'done':
      return isReplay ? `${key} is answered with this, and nothing is called` : `${key} happened, and answered this`;
    case 'not-done':
      return `${key} certainly did not happen: it is called again, with the same key`;
    case 'compensate':
      return 'what was done is undone, newest first; what has no undo is left and listed';
    case 'fail':
      return 'it ends as failed; what was done stays';
  }
}

export const askedJson = ({ question, message, evidence, answers }: Asked) => ({
  question_id: question.id,
  code: question.code,
  task: question.task,
  idempotency_key: question.key,
  message,
  evidence,
  answers: answers.map(({ resolution, command, means }) => ({ resolution, command, means })),
});
