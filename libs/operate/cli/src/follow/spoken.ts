/**
 * Owns how a model's answer reads while it comes: whole lines once they are complete, and the current line as the terminal's status.
 * Nothing of it is stored here: the whole answer is in the log.
 */

import type { EventOf } from '@tidemark/client';
import type { Terminal } from '../terminal.ts';
import { progressBar } from '../text/progress.ts';
import { printable } from '../text/width.ts';

/** Characters after which a longer line is printed in parts. */
const LINE_MAX_CHARS = 2_000;

export type Delta = Extract<EventOf<'GET /v1/workflows/{workflow}/events'>, { name: 'delta' }>['data'];

export class Spoken {
  readonly #terminal: Pick<Terminal, 'note' | 'paintNote' | 'record' | 'status'>;
  /** The current line, by workflow and task. */
  readonly #lines = new Map<string, string>();

  constructor(terminal: Pick<Terminal, 'note' | 'paintNote' | 'record' | 'status'>) {
    this.#terminal = terminal;
  }

  /** Nobody needs to read deltas other than text. */
  hear(workflow: string, { kind, task, text = '' }: Delta): void {
    if (kind !== 'text') return;
    this.#terminal.record({ type: 'model_said', workflow_id: workflow, task_id: task, text });
    const key = `${workflow}\0${task}`;
    const lines = `${this.#lines.get(key) ?? ''}${text}`.split('\n');
    const open = lines.pop() ?? '';
    for (const line of lines) this.#report(line);
    this.#lines.set(key, open.length > LINE_MAX_CHARS ? '' : open);
    if (open.length > LINE_MAX_CHARS) this.#report(open);
    else if (open !== '') this.#terminal.status(`… ${printable(open)}`);
  }

  /** The step has committed: prints the rest of its last line. */
  end(workflow: string): void {
    for (const [key, line] of this.#lines) {
      if (!key.startsWith(`${workflow}\0`)) continue;
      this.#lines.delete(key);
      if (line !== '') this.#report(line);
    }
  }

  #report(line: string): void {
    this.#terminal.note(this.#terminal.paintNote('dim', `… ${printable(line)}`));
  }
}

/** Prints pieces of answers through `spoken`, the progress of steps as the terminal's status, and what it waits for. */
export const heardBy =
  (terminal: Pick<Terminal, 'status' | 'note'>, spoken: Spoken, workflow: string) =>
  (delta: Delta): void => {
    const { kind, step = '', done = 0, total = 0, text } = delta;
    if (kind === 'progress') terminal.status(progressBar({ step, done, total, text }));
    else if (kind === 'wait') terminal.note(`${printable(workflow)} ${printable(text ?? '')}`);
    else spoken.hear(workflow, delta);
  };
