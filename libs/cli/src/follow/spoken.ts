/**
 * Owns how a model's answer reads while it comes: whole lines once they are whole, and the line that is being said as the
 * terminal's status. Nothing of it is stored here: the whole answer is in the log.
 */

import type { News } from '../state/desk.ts';
import type { Terminal } from '../terminal.ts';
import { printable } from '../text/width.ts';

/** A line that goes on for longer is told in parts, in characters. */
const LINE_MAX_CHARS = 2_000;

export class Spoken {
  readonly #terminal: Pick<Terminal, 'note' | 'paintNote' | 'record' | 'status'>;
  /** What was said of the line under way, by workflow and task. */
  readonly #lines = new Map<string, string>();

  constructor(terminal: Pick<Terminal, 'note' | 'paintNote' | 'record' | 'status'>) {
    this.#terminal = terminal;
  }

  hear({ workflow, task, text }: Extract<News, { type: 'said' }>): void {
    this.#terminal.record({ type: 'model_said', workflow_id: workflow, task_id: task, text });
    const key = `${workflow}\0${task}`;
    const lines = `${this.#lines.get(key) ?? ''}${text}`.split('\n');
    const open = lines.pop() ?? '';
    for (const line of lines) this.#tell(line);
    this.#lines.set(key, open.length > LINE_MAX_CHARS ? '' : open);
    if (open.length > LINE_MAX_CHARS) this.#tell(open);
    else if (open !== '') this.#terminal.status(`… ${printable(open)}`);
  }

  /** The step has committed: what is left of its last line is told. */
  end(workflow: string): void {
    for (const [key, line] of this.#lines) {
      if (!key.startsWith(`${workflow}\0`)) continue;
      this.#lines.delete(key);
      if (line !== '') this.#tell(line);
    }
  }

  #tell(line: string): void {
    this.#terminal.note(this.#terminal.paintNote('dim', `… ${printable(line)}`));
  }
}
