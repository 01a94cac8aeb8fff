/** Owns how changes are printed for people: a line each. Pure. */

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
    const time = this.#paint('dim', clockTime(Date.parse(change.at)));
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
        return `started ${printable(change.definition)} v${change.definition_version}`;
      case 'resumed':
        return paint('cyan', resumeWords(change.sequence_number));
      case 'checkpoint':
        return `${paint('green', `#${change.sequence_number}`)} ${checkpointWords(change, paint)}`;
      case 'checkpoints':
        return `${paint('green', `#${change.from}–#${change.to}`)} ${counted(change.to - change.from + 1, 'checkpoint')}, the last: ${printable(change.last_action)}`;
      case 'step_failed':
        return `${paint('yellow', 'step failed')} ${failureWords(change)}`;
      case 'signal':
        return `signal ${printable(change.name)} came`;
      case 'lease_lost':
        return `${paint('yellow', 'lease revoked')} (${printable(change.reason)}): another worker resumes it`;
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
        return `${paint('yellow', 'is being compensated')} by ${printable(change.undo)} (${printable(change.reason)}): ${printable(change.message)}`;
      case 'compensated':
        return `${paint('yellow', endedWords(change))} in ${duration(change.took_ms)}${countWords(change, ': ')}`;
      case 'undo_parked':
        return `${paint('yellow', 'waits for a person before it is compensated further')}: ${printable(change.undo)} (${printable(change.reason)})`;
      case 'completed':
        return change.continued_as === undefined
          ? `${paint('green', 'completed')} in ${duration(change.took_ms)}`
          : `${paint('green', 'continues')} as ${printable(change.continued_as)}`;
      case 'failed':
        return `${paint('red', 'failed')} (${printable(change.reason)}): ${printable(change.message)}`;
    }
  }
}

const resumeWords = (sequence: number): string =>
  sequence === 0 ? 'resumes from its start' : `resumes from checkpoint #${sequence}`;

function checkpointWords(change: Extract<Change, { type: 'checkpoint' }>, paint: Painter): string {
  const { step, last_action: lastAction, took_ms: tookMs, tokens, cost_micros: costMicros } = change;
  // The action is the step's name where the step gave none.
  const action = lastAction === '' || lastAction === step ? '' : `: ${printable(lastAction)}`;
  const figures = [
    ...(tookMs === null ? [] : [duration(tookMs)]),
    ...(tokens === 0 ? [] : [counted(tokens, 'token')]),
    ...(costMicros === 0 ? [] : [cost(costMicros)]),
  ];
  return `${printable(step ?? '')}${action}${figures.length === 0 ? '' : `  ${paint('dim', figures.join(', '))}`}`;
}

function failureWords({ task, attempt, message, retry_ms: retryMs }: Extract<Change, { type: 'step_failed' }>): string {
  const again = retryMs === null ? 'no further attempt' : `again in ${duration(retryMs)}`;
  return `(task ${task}, attempt ${attempt}): ${printable(message)}; ${again}`;
}

const crowdWords = (crowd: Crowd): string =>
  `${counted(crowd.workflow_count, 'workflow')} moved on: ${counted(crowd.checkpoint_count, 'checkpoint')}, ${count(crowd.completed_count)} completed`;
