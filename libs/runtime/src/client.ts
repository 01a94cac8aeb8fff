/**
 * Owns what a caller does with workflows: start, wait for the result, signal, look. Speaks to the log and the rows; what it
 * writes are inbox events, which the fold judges like any other.
 */

import { decodePayload } from '@tidemark/codec';
import {
  InvalidError,
  type Json,
  type Partition,
  type Sequence,
  type TenantId,
  TidemarkError,
  tenantId,
  uuidv7,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import type { CheckpointRow, WorkflowSummary } from '@tidemark/ports';
import { whileUnavailable } from './backoff.ts';
import type { Definition } from './definition.ts';
import type { LamportClock, Ports } from './ports.ts';
import { Starter } from './starter.ts';

/** Period, in milliseconds, of a look at a run that no hint told of. */
const RESULT_LOOK_PERIOD_MS = 250;
/** A reason that is at hand: by default each abort would make an error with a stack. */
const WOKEN = 'woken';
/** Tenant where none is named. */
export const DEFAULT_TENANT = tenantId('default');
/** Longest id of a workflow, in characters. */
export const WORKFLOW_ID_MAX_CHARS = 200;

export interface StartOptions {
  /** The same id answers the same run; generated when absent. */
  readonly id?: string | undefined;
  readonly tenant?: TenantId | undefined;
}

/** The workflow ended with an error. */
export class WorkflowFailedError extends TidemarkError {
  override readonly name = 'WorkflowFailedError';
}

export interface ClientOptions {
  readonly ports: Ports;
  readonly lamport: LamportClock;
  readonly partitionsMax?: number | undefined;
}

export class Client {
  readonly #options: ClientOptions;
  readonly #starter: Starter;
  readonly #closing = new AbortController();

  constructor(options: ClientOptions) {
    this.#options = options;
    const { ports, lamport, partitionsMax } = options;
    this.#starter = new Starter({ ports, lamport, ...(partitionsMax === undefined ? {} : { partitionsMax }) });
  }

  /** Starts a workflow, or answers the run that has this id. Waits while servers are away; see `Starter.start` for errors. */
  async start<Input, Output>(
    definition: Definition<Input, Output>,
    input: NoInfer<Input>,
    options: StartOptions = {},
  ): Promise<Run<Output>> {
    const { clock, prng } = this.#options.ports;
    const id = options.id ?? uuidv7(clock.nowMs(), prng.bytes(10));
    if (id === '' || id.length > WORKFLOW_ID_MAX_CHARS || hasControlCharacters(id)) {
      throw new InvalidError(
        'workflow-id-invalid',
        `id: 1 to ${WORKFLOW_ID_MAX_CHARS} characters without control characters are allowed, not ${id.length}.`,
      );
    }
    const started = await whileUnavailable(clock, this.#closing.signal, () =>
      this.#starter.start({
        definition: definition as Definition,
        input,
        workflow: workflowId(id),
        tenant: options.tenant ?? DEFAULT_TENANT,
      }),
    );
    return this.run<Output>(started.workflow, started.created);
  }

  /** A run by its id; whether it exists shows when it is asked. */
  run<Output = Json>(id: string, created = false): Run<Output> {
    return new Run<Output>(workflowId(id), created, this.#options.ports, this.#closing.signal);
  }

  /** Ends all waiting. */
  close(): void {
    this.#closing.abort(new TidemarkError('client-closed', 'The client was closed.'));
  }
}

const hasControlCharacters = (text: string): boolean => /\p{Cc}/u.test(text);

export class Run<Output = Json> {
  readonly id: WorkflowId;
  /** True when the call that made this handle started the run. */
  readonly created: boolean;
  readonly #ports: Ports;
  readonly #closing: AbortSignal;

  constructor(id: WorkflowId, created: boolean, ports: Ports, closing: AbortSignal) {
    this.id = id;
    this.created = created;
    this.#ports = ports;
    this.#closing = closing;
  }

  /** What the rows say of it now; undefined while (or when) they know nothing of it. */
  async summary(): Promise<WorkflowSummary | undefined> {
    return whileUnavailable(this.#ports.clock, this.#closing, () => this.#ports.store.workflow(this.id));
  }

  async checkpoints(from = 1, limit = 1_000): Promise<readonly CheckpointRow[]> {
    return this.#ports.store.checkpoints(this.id, { from: from as Sequence, limit });
  }

  /**
   * The output, once the workflow has ended. Throws `WorkflowFailedError` with the stored error when it failed or waits for a
   * person, and the signal's reason when that aborts first.
   */
  async result(options: { readonly signal?: AbortSignal } = {}): Promise<Output> {
    const signal = options.signal === undefined ? this.#closing : AbortSignal.any([this.#closing, options.signal]);
    let wake = new AbortController();
    let partition: Partition | undefined;
    // Once its partition is known, only hints of that one are worth a look: with many that wait, each hint would be one each.
    const unsubscribe = await this.#ports.hints.subscribe('applied', (applied) => {
      if (partition === undefined || applied.includes(partition)) wake.abort(WOKEN);
    });
    const giveUp = (): void => wake.abort(WOKEN);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      for (;;) {
        wake = new AbortController();
        const summary = await this.summary();
        partition = summary?.partition;
        const outcome = summary === undefined ? undefined : outcomeOf(summary);
        if (outcome !== undefined) return outcome.output as Output;
        signal.throwIfAborted();
        await this.#ports.clock.sleep(RESULT_LOOK_PERIOD_MS, wake.signal);
        signal.throwIfAborted();
      }
    } finally {
      signal.removeEventListener('abort', giveUp);
      await unsubscribe();
    }
  }
}

function outcomeOf(summary: WorkflowSummary): { readonly output: Json } | undefined {
  const { workflow, status, reason, result } = summary;
  if (status === 'completed' && result !== null) return decodePayload('WorkflowCompleted', result);
  if (status === 'failed' && result !== null) {
    const { error } = decodePayload('WorkflowFailed', result);
    throw new WorkflowFailedError('workflow-failed', `Workflow ${workflow} failed (${reason}): ${error.message}`, {
      workflow,
      reason,
      error,
    });
  }
  if (status === 'parked') {
    throw new WorkflowFailedError('workflow-parked', `Workflow ${workflow} waits for a person (${reason}).`, {
      workflow,
      reason,
    });
  }
  return undefined;
}
