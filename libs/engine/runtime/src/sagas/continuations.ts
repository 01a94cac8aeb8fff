/**
 * Owns the start of the next run of a workflow that closed to continue as new, once for each. Work derives from rows and the next id from
 * the previous one, so any number of coordinators may do the same, repeatedly. It does not build the next opening's content: the worker
 * has.
 */

import { decodePayload, type NextOpening } from '@tidemark/codec';
import {
  ConflictError,
  CorruptError,
  continuationId,
  INBOX_DEDUPE_MAX,
  type StreamState,
  streamFromJson,
  type WorkflowId,
} from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import { inheritedSignals, isContinued } from '../history/index.ts';
import type { OpenRequest, Starter } from '../inbox/index.ts';
import { type LamportClock, ownContent, type Ports, Reconcilers } from '../kernel/index.ts';
import { completed, completedReset, type Opening } from '../run/index.ts';

/** Workflows to continue: how many one page has, how many pages one poll reads, and how many are served at once. */
const CONTINUATIONS_PAGE_COUNT = 500;
const CONTINUATION_PAGES_MAX = 20;
const CONTINUATIONS_AT_ONCE = 16;
/** First and longest delay before a failed continuation is retried, in milliseconds. */
const CONTINUATION_RETRY_MS = 1_000;
const CONTINUATION_RETRY_MAX_MS = 60_000;

export interface ContinuationsOptions {
  readonly ports: Pick<Ports, 'log' | 'store' | 'clock' | 'telemetry'>;
  readonly starter: Pick<Starter, 'open'>;
  readonly lamport: LamportClock;
  readonly onError: (error: unknown) => void;
}

export class Continuations {
  readonly #options: ContinuationsOptions;
  /** Workflows that closed a moment ago. They are served before those that rebuilt rows show again. */
  readonly #reported = new Set<WorkflowId>();
  readonly #reconcilers: Reconcilers;

  constructor(options: ContinuationsOptions) {
    this.#options = options;
    this.#reconcilers = new Reconcilers({
      clock: options.ports.clock,
      atOnce: CONTINUATIONS_AT_ONCE,
      retryMs: CONTINUATION_RETRY_MS,
      retryMaxMs: CONTINUATION_RETRY_MAX_MS,
      restMs: 0,
      onError: options.onError,
    });
  }

  /** Whether any of the streams must be continued. */
  applied(streams: readonly { readonly workflow: WorkflowId; readonly state: string }[]): boolean {
    for (const { workflow, state } of streams) if (state.includes('"continued":{')) this.#reported.add(workflow);
    return this.#reported.size > 0;
  }

  async poll(): Promise<void> {
    const due = await this.#due();
    const begun: WorkflowId[] = [];
    await this.#reconcilers.serve(due, String, async (workflow) => {
      if (await this.#serve(workflow)) begun.push(workflow);
    });
    if (begun.length > 0) await this.#options.ports.store.continuationsBegun(begun);
  }

  /** Skips those that have failed and are not due for another try yet, however many there are. */
  async #due(): Promise<WorkflowId[]> {
    const { store } = this.#options.ports;
    const pending = new Set(this.#reported);
    this.#reported.clear();
    for (let page = 0, after: WorkflowId | null = null; page < CONTINUATION_PAGES_MAX; page++) {
      const more: readonly WorkflowId[] = await store.pendingContinuations(after, CONTINUATIONS_PAGE_COUNT);
      for (const workflow of more) pending.add(workflow);
      if (more.length < CONTINUATIONS_PAGE_COUNT) break;
      after = more.at(-1)!;
    }
    return [...pending].filter((workflow) => this.#reconcilers.isDue(workflow));
  }

  /** Whether the continuation is done, or will never be needed. */
  async #serve(workflow: WorkflowId): Promise<boolean> {
    const { ports, starter, lamport } = this.#options;
    const row = await ports.store.workflow(workflow);
    if (row === undefined) return false;
    if (!isContinued(row)) return true;
    const as = continuationId(workflow);
    if ((await ports.store.workflow(as)) !== undefined) return this.#mustGoOnFor(workflow, as);
    const next = row.result === null ? undefined : decodePayload('WorkflowCompleted', row.result).next;
    // The workflow's key was destroyed before it could continue, so it must not continue.
    if (next === undefined) return true;
    const [rows] = await ports.store.loadStreams([workflow]);
    if (rows === undefined) return false;
    if (rows.state === '') throw archived(row);
    const state: StreamState = streamFromJson(rows.state, rows.tasks);
    lamport.witness(row.lamport);
    const opening =
      next.fork === undefined
        ? completed(next, state, rows, ports.clock.nowMs())
        : await openingOfReset(ports, row, next, state);
    await starter.open(nextRequest(row, next, { lamport: lamport.stamp(), ...opening }));
    return true;
  }

  /**
   * Checks that the workflow with the next id continues this one. Callers could once choose such ids, so it may have been started by
   * itself. An archived one is trusted. Throws `ConflictError` (`continuation-taken`).
   */
  async #mustGoOnFor(workflow: WorkflowId, as: WorkflowId): Promise<true> {
    const { ports } = this.#options;
    const [found] = await ports.store.loadStreams([as], { payloads: false });
    if (found === undefined || found.state === '') return true;
    if (streamFromJson(found.state, found.tasks).continues === workflow) return true;
    ports.telemetry.count('workflow_ids_taken_total', 1, { form: 'continuation' });
    throw taken(as, workflow);
  }
}

/** The request for the run that continues or supersedes this one. */
export const nextRequest = (row: WorkflowSummary, next: NextOpening, opening: Opening): OpenRequest => ({
  workflow: continuationId(row.workflow),
  tenant: row.tenant,
  session: opening.control.session,
  mode: next.mode,
  besideParent: next.besideParent,
  name: opening.control.definition,
  isPlain: true,
  opening: ownContent('stored', opening),
});

/** The opening of a reset, whose base has ended, with the signals that it inherits. Throws what reads of the history throw. */
export async function openingOfReset(
  { log, store, clock }: Pick<Ports, 'log' | 'store' | 'clock'>,
  row: WorkflowSummary,
  next: NextOpening,
  state: StreamState,
): Promise<Omit<Opening, 'lamport'>> {
  const { continues } = next.control as unknown as Opening['control'];
  const unread = { signals: continues?.signals ?? [], values: next.signals ?? {} };
  // Ids of what it received: while none was forgotten, they say whether there is anything to look for.
  const hasNone =
    state.inbox.length < INBOX_DEDUPE_MAX && !state.inbox.some((id) => /^(?:signal|amend|discard):/.test(id));
  const signals = hasNone
    ? unread
    : await inheritedSignals({ log, store }, row, next.fork!.shares[0]!.position, unread);
  return completedReset(next, state, signals, clock.nowMs());
}

const taken = (as: WorkflowId, workflow: WorkflowId): ConflictError =>
  new ConflictError(
    'continuation-taken',
    `Workflow ${workflow} must continue as ${as}, but another workflow has that id: it was started before such ids were reserved. Start the rest of ${workflow} under another id.`,
    { workflow, as },
  );

const archived = ({ workflow }: WorkflowSummary): CorruptError =>
  new CorruptError(
    'continuation-archived',
    `Workflow ${workflow} was archived before it could continue: no coordinator could start its next run meanwhile.`,
    { workflow },
  );
