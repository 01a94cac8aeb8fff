/** Owns how changes are told: a line for people, an object for programs. Pure. */

import { isoTime } from '@tidemark/core';
import type { Painter } from '../terminal.ts';
import { clockTime, cost, count, counted, duration } from '../text/units.ts';
import { padEnd, printable, widthOf } from '../text/width.ts';
import { countWords, endedWords } from '../views/undo.ts';
import type { Change, Crowd } from './change.ts';

/** Widest column, in columns of the terminal, for the names of workflows. */
const NAME_COLUMNS_MAX = 40;

/** Writes lines that stay aligned as names of different lengths come. */
export class Narrator {
  readonly #paint: Painter;
  readonly #showsWorkflow: boolean;
  #nameWidth = 0;

  constructor(paint: Painter, options: { readonly showsWorkflow: boolean }) {
    this.#paint = paint;
    this.#showsWorkflow = options.showsWorkflow;
  }

  line(change: Change | Crowd): string {
    const time = this.#paint('dim', clockTime(change.atMs));
    if (change.type === 'crowd') return `${time}  ${this.#paint('dim', crowdWords(change))}`;
    const words = this.#words(change);
    if (!this.#showsWorkflow) return `${time}  ${words}`;
    const name = printable(change.workflow);
    this.#nameWidth = Math.min(Math.max(this.#nameWidth, widthOf(name)), NAME_COLUMNS_MAX);
    return `${time}  ${this.#paint('bold', padEnd(name, this.#nameWidth))}  ${words}`;
  }

  #words(change: Change): string {
    const paint = this.#paint;
    switch (change.type) {
      case 'started':
        return `started ${printable(change.definition)} v${change.version}`;
      case 'resumed':
        return paint('cyan', resumeWords(change.sequence));
      case 'checkpoint':
        return `${paint('green', `#${change.sequence}`)} ${checkpointWords(change, paint)}`;
      case 'checkpoints':
        return `${paint('green', `#${change.from}–#${change.to}`)} ${counted(change.to - change.from + 1, 'checkpoint')}, the last: ${printable(change.lastAction)}`;
      case 'step_failed':
        return `${paint('yellow', 'step failed')} ${failureWords(change)}`;
      case 'signal':
        return `signal ${printable(change.name)} came`;
      case 'lease_lost':
        return `${paint('yellow', 'lease revoked')} (${printable(change.reason)}): another worker goes on`;
      case 'waiting':
        return `${paint('yellow', 'waiting')} ${change.tasks.map(printable).join('; ')}`;
      case 'parked':
        return `${paint('yellow', 'waits for a person')} (${printable(change.reason)}): ${printable(change.message)}`;
      case 'decided':
        return `${printable(change.by)} decided ${printable(change.resolution)}: ${printable(change.why)}`;
      case 'cancelling':
        return `${paint('yellow', 'is being cancelled')} by ${printable(change.by)}: ${printable(change.why)}`;
      case 'paused':
        return `${paint('yellow', 'paused')} by ${printable(change.by)}: ${printable(change.why)}`;
      case 'resumed_by':
        return `${paint('cyan', 'resumed')} by ${printable(change.by)}: ${printable(change.why)}`;
      case 'confirmed':
        return `confirmed as ${printable(change.outcome)} (token ${printable(change.token)})`;
      case 'compensating':
        return `${paint('yellow', 'is undone')} by ${printable(change.undo)} (${printable(change.reason)}): ${printable(change.message)}`;
      case 'compensated':
        return `${paint('yellow', endedWords(change.counts ?? undefined))} in ${duration(change.tookMs)}${change.counts === null ? '' : `: ${countWords(change.counts)}`}`;
      case 'undo_parked':
        return `${paint('yellow', 'waits for a person to go on being undone')}: ${printable(change.undo)} (${printable(change.reason)})`;
      case 'completed':
        return change.as === undefined
          ? `${paint('green', 'completed')} in ${duration(change.tookMs)}`
          : `${paint('green', 'goes on')} as ${printable(change.as)}`;
      case 'failed':
        return `${paint('red', 'failed')} (${printable(change.reason)}): ${printable(change.message)}`;
    }
  }
}

const resumeWords = (sequence: number): string =>
  sequence === 0 ? 'goes on from its start' : `resumes from checkpoint #${sequence}`;

function checkpointWords(change: Extract<Change, { type: 'checkpoint' }>, paint: Painter): string {
  const { step, lastAction, tookMs, tokens, costMicros } = change;
  // The action is the step's name where the step gave none.
  const action = lastAction === '' || lastAction === step ? '' : `: ${printable(lastAction)}`;
  const figures = [
    ...(tookMs === null ? [] : [duration(tookMs)]),
    ...(tokens === 0 ? [] : [counted(tokens, 'token')]),
    ...(costMicros === 0 ? [] : [cost(costMicros)]),
  ];
  return `${printable(step ?? '')}${action}${figures.length === 0 ? '' : `  ${paint('dim', figures.join(', '))}`}`;
}

function failureWords({ task, attempt, message, retryMs }: Extract<Change, { type: 'step_failed' }>): string {
  const again = retryMs === null ? 'no further attempt' : `again in ${duration(retryMs)}`;
  return `(task ${task}, attempt ${attempt}): ${printable(message)}; ${again}`;
}

const crowdWords = ({ workflowCount, checkpointCount, completedCount }: Crowd): string =>
  `${counted(workflowCount, 'workflow')} moved on: ${counted(checkpointCount, 'checkpoint')}, ${count(completedCount)} completed`;

/** One object a line; names as in the checkpoint model. */
export function changeJson(change: Change | Crowd): Readonly<Record<string, unknown>> {
  const at = isoTime(change.atMs);
  if (change.type === 'crowd') {
    const { workflowCount, checkpointCount, completedCount } = change;
    return {
      type: 'crowd',
      at,
      workflow_count: workflowCount,
      checkpoint_count: checkpointCount,
      completed_count: completedCount,
    };
  }
  const about = { type: change.type, at, workflow: change.workflow, definition: change.definition };
  switch (change.type) {
    case 'started':
      return { ...about, definition_version: change.version };
    case 'resumed':
      return { ...about, sequence_number: change.sequence };
    case 'checkpoint':
      return {
        ...about,
        sequence_number: change.sequence,
        checkpoint_id: change.checkpoint,
        task: change.task,
        step: change.step,
        last_action: change.lastAction,
        tokens: change.tokens,
        cost_micros: change.costMicros,
        took_ms: change.tookMs,
      };
    case 'checkpoints':
      return { ...about, from: change.from, to: change.to, last_action: change.lastAction };
    case 'step_failed':
      return {
        ...about,
        task: change.task,
        attempt: change.attempt,
        code: change.code,
        message: change.message,
        retry_ms: change.retryMs,
      };
    case 'signal':
      return { ...about, name: change.name };
    case 'lease_lost':
      return { ...about, holder: change.holder, reason: change.reason };
    case 'waiting':
      return { ...about, tasks: change.tasks };
    case 'parked':
      return { ...about, reason: change.reason, message: change.message };
    case 'decided':
      return { ...about, by: change.by, resolution: change.resolution, why: change.why };
    case 'cancelling':
    case 'paused':
    case 'resumed_by':
      return { ...about, by: change.by, why: change.why };
    case 'confirmed':
      return { ...about, token: change.token, outcome: change.outcome };
    case 'compensating':
      return { ...about, reason: change.reason, undo: change.undo, message: change.message };
    case 'compensated':
      return {
        ...about,
        undo: change.undo,
        undone_count: change.counts?.undone ?? null,
        left_count: change.counts?.leftCount ?? null,
        took_ms: change.tookMs,
      };
    case 'undo_parked':
      return { ...about, undo: change.undo, reason: change.reason };
    case 'completed':
      return {
        ...about,
        output: change.output,
        took_ms: change.tookMs,
        ...(change.as !== undefined && { continued_as: change.as }),
      };
    case 'failed':
      return { ...about, reason: change.reason, message: change.message, took_ms: change.tookMs };
  }
}
