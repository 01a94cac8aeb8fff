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

export type Said = EventOf<'GET /v1/workflows/{workflow}/stream'>;
type Delta = Extract<Said, { name: 'delta' }>['data'];

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

  /** Another attempt at the call: its line begins anew, and what was printed stands above it. */
  reset(workflow: string, { task }: Pick<Delta, 'task'>): void {
    this.#terminal.record({ type: 'model_reset', workflow_id: workflow, task_id: task });
    this.#lines.delete(`${workflow}\0${task}`);
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
  ({ name, data }: Said): void => {
    if (name === 'progress') terminal.status(progressBar(data));
    else if (name === 'wait') terminal.note(`${printable(workflow)} ${printable(data.text)}`);
    else if (name === 'reset') spoken.reset(workflow, data);
    else if (name === 'delta') spoken.hear(workflow, data);
  };
