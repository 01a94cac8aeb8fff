/** Owns the timeline as the page keeps it: everything that happened, and where each checkpoint stands in it. Must not draw. */

import { type Entry, Timeline as Fold, type Moment } from '@tidemark/core/timeline';

export class Timeline extends Fold {
  readonly rows: Entry[] = [];
  /** Grows with every event. */
  version = 0;
  readonly #bySequence = new Map<number, number>();
  readonly #byTask = new Map<string, number>();

  /** True: the event was new. */
  add(event: Moment): boolean {
    // The history was read without content, so live events are shown without it too.
    const entries = this.take({ ...event, payload: undefined });
    if (entries === undefined) return false;
    this.version++;
    for (const entry of entries) {
      if (entry.kind === 'checkpoint') {
        this.#bySequence.set(entry.sequence, this.rows.length);
        this.#byTask.set(entry.task, entry.sequence);
      }
      this.rows.push(entry);
    }
    return true;
  }

  /** Index of a checkpoint's row; undefined: it is not here (yet). */
  rowOf(sequence: number): number | undefined {
    return this.#bySequence.get(sequence);
  }

  /** The checkpoint that committed a task; undefined: none has yet. */
  sequenceOf(task: string): number | undefined {
    return this.#byTask.get(task);
  }
}
