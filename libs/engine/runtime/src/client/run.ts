/** Owns a handle on one workflow: its row, and waiting for its result. */

import type { Json, Partition, Sequence, WorkflowId } from '@tidemark/core';
import type { CheckpointRow, WorkflowSummary } from '@tidemark/ports';
import { shownSecrets } from '../encryption/index.ts';
import { currentOf, parkedQuestion, type RowChanges } from '../history/index.ts';
import type { Started } from '../inbox/index.ts';
import { type Ports, WOKEN, whileUnavailable } from '../kernel/index.ts';
import { outcomeOf } from '../run/index.ts';

/** Period of the poll for a result, in milliseconds, in case hints are lost. */
export const RESULT_POLL_PERIOD_MS = 250;

export interface RunDependencies {
  readonly ports: Ports;
  readonly changes: RowChanges;
  readonly closing: AbortSignal;
}

export class Run<Output = Json> {
  readonly id: WorkflowId;
  /** True when the call that made this handle started the run. */
  readonly created: boolean;
  readonly #ports: Ports;
  readonly #changes: RowChanges;
  readonly #closing: AbortSignal;
  /** Where it was started; undefined: this handle didn't. */
  readonly #partition: Partition | undefined;

  constructor(id: WorkflowId, { ports, changes, closing }: RunDependencies, started?: Omit<Started, 'workflow'>) {
    this.id = id;
    this.created = started?.created ?? false;
    this.#partition = started?.partition;
    this.#ports = ports;
    this.#changes = changes;
    this.#closing = closing;
  }

  /** The row of the last run that continues this one, or its own; undefined while rows don't know that run (yet). */
  async current(): Promise<WorkflowSummary | undefined> {
    return whileUnavailable(this.#ports.clock, this.#closing, () => currentOf(this.#ports.store, this.id));
  }

  /** The workflow's own row; undefined while rows don't know it (any more). */
  async summary(): Promise<WorkflowSummary | undefined> {
    return whileUnavailable(this.#ports.clock, this.#closing, () => this.#ports.store.workflow(this.id));
  }

  async checkpoints(from = 1, limit = 1_000): Promise<readonly CheckpointRow[]> {
    return this.#ports.store.checkpoints(this.id, { from: from as Sequence, limit });
  }

  /**
   * The output, once the workflow has ended; of a continued workflow, that of the last run. Throws `WorkflowFailedError` (`workflow-failed`
   * with the stored error, `workflow-compensated` when it was compensated, `workflow-parked` when it needs a person), `InvalidError`
   * (`history-forgotten`: its key was destroyed), and the signal's reason when that aborts first.
   */
  async result(options: { readonly signal?: AbortSignal } = {}): Promise<Output> {
    const signal = options.signal === undefined ? this.#closing : AbortSignal.any([this.#closing, options.signal]);
    let wake = new AbortController();
    const wakeUp = (): void => wake.abort(WOKEN);
    // Once its partition is known, changes elsewhere cause no read.
    let watched = this.#partition;
    let unwatch = await this.#changes.watch(watched, wakeUp);
    signal.addEventListener('abort', wakeUp, { once: true });
    try {
      for (;;) {
        wake = new AbortController();
        const summary = await this.current();
        const outcome = summary === undefined ? undefined : outcomeOf(summary, await this.#question(summary));
        if (outcome !== undefined) return (await this.#shown(summary!.workflow, outcome.output)) as Output;
        signal.throwIfAborted();
        if (summary !== undefined && summary.partition !== watched) {
          unwatch();
          watched = summary.partition;
          unwatch = await this.#changes.watch(watched, wakeUp);
          // What changed before it was watched is read at once.
          continue;
        }
        await this.#ports.clock.sleep(RESULT_POLL_PERIOD_MS, wake.signal);
        signal.throwIfAborted();
      }
    } finally {
      signal.removeEventListener('abort', wakeUp);
      unwatch();
    }
  }

  /** The text of the question; undefined: there is none. */
  async #question({ workflow, question }: WorkflowSummary): Promise<string | undefined> {
    if (question === null) return undefined;
    const { clock, store } = this.#ports;
    const asked = await whileUnavailable(clock, this.#closing, () => parkedQuestion(store, workflow, question.id));
    return asked?.error?.message;
  }

  /** The output with secret fields as this process may see them. */
  #shown(workflow: WorkflowId, output: Json): Promise<Json> {
    const { clock } = this.#ports;
    return whileUnavailable(clock, this.#closing, () => shownSecrets(output, this.#ports, workflow));
  }
}
