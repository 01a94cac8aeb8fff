/**
 * Owns the mapping of a fork's tasks to tasks of its base. The fork's first tasks map to the base's pending tasks. Each later task maps to
 * the task that its creator's counterpart added at the same index, whatever the order in which parallel tasks were committed. It never
 * writes.
 */

import type { ForkOrigin } from '@tidemark/codec';
import { type Sequence, type TaskId, taskId, taskOrder, type WorkflowId } from '@tidemark/core';
import { OUTPUTS_PAGE_COUNT } from './limits.ts';
import type { PageOf } from './lineage.ts';

export interface PlaceReads {
  /** Checkpoints of fork and base. */
  readonly pageOf: PageOf;
  /** The task of a checkpoint of the fork that rows may not have yet. */
  readonly newTaskOf: (sequence: Sequence) => TaskId | undefined;
}

/** The committed tasks of a workflow, by checkpoint. Pages are read only as far as a caller needs. */
class Committed {
  readonly #pageOf: PageOf;
  readonly #workflow: WorkflowId;
  readonly #sequences = new Map<TaskId, Sequence>();
  readonly #tasks = new Map<Sequence, TaskId>();
  #next: Sequence;
  #reading: Promise<void> = Promise.resolve();

  constructor(pageOf: PageOf, workflow: WorkflowId, after: Sequence) {
    this.#pageOf = pageOf;
    this.#workflow = workflow;
    this.#next = (after + 1) as Sequence;
  }

  async sequenceOf(task: TaskId): Promise<Sequence | undefined> {
    await this.#readUntil(() => this.#sequences.has(task));
    return this.#sequences.get(task);
  }

  async taskOf(sequence: Sequence): Promise<TaskId | undefined> {
    if (!this.#tasks.has(sequence)) await this.#readUntil(() => this.#tasks.has(sequence));
    return this.#tasks.get(sequence);
  }

  /** Only one caller reads at a time. */
  #readUntil(isKnown: () => boolean): Promise<void> {
    const read = async (): Promise<void> => {
      while (!isKnown()) {
        const page = await this.#pageOf(this.#workflow, { from: this.#next, limit: OUTPUTS_PAGE_COUNT });
        for (const { sequence, task } of page) {
          if (task === null) continue;
          this.#sequences.set(task, sequence);
          this.#tasks.set(sequence, task);
        }
        const last = page.at(-1);
        if (last === undefined) return;
        this.#next = (last.sequence + 1) as Sequence;
        if (page.length < OUTPUTS_PAGE_COUNT) return;
      }
    };
    this.#reading = this.#reading.then(read, read);
    return this.#reading;
  }
}

/** `task`: undefined where the base has no counterpart. */
interface MappedOrigin extends Pick<ForkOrigin, 'shares'> {
  readonly tasks: readonly { readonly task: TaskId | undefined }[];
}

export class ForkTaskMap {
  readonly #origin: MappedOrigin;
  readonly #newTaskOf: PlaceReads['newTaskOf'];
  readonly #own: Committed;
  readonly #base: Committed;

  constructor(own: WorkflowId, origin: MappedOrigin, { pageOf, newTaskOf }: PlaceReads) {
    const [base] = origin.shares;
    this.#origin = origin;
    this.#newTaskOf = newTaskOf;
    this.#own = new Committed(pageOf, own, 0 as Sequence);
    this.#base = new Committed(pageOf, base!.workflow, base!.upTo);
  }

  /** Undefined: the base has no such task (yet). */
  async taskOf(task: TaskId): Promise<TaskId | undefined> {
    const [sequence, index] = taskOrder(task);
    if (sequence === 0) return this.#origin.tasks[index]?.task;
    const creator = this.#newTaskOf(sequence as Sequence) ?? (await this.#own.taskOf(sequence as Sequence));
    const there = creator && (await this.taskOf(creator));
    const added = there && (await this.#base.sequenceOf(there));
    return added === undefined ? undefined : taskId(added, index);
  }
}
