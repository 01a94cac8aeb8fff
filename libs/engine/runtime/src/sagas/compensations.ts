/**
 * Owns the compensation of frozen workflows: it starts the undo of each, and reports the undo's end to it. Ids derive from the workflow, so
 * any number of coordinators may do the same. It does not decide what is compensated (see undo-definition.ts).
 */

import { decodePayload } from '@tidemark/codec';
import {
  type ConflictError,
  continuationId,
  eventId,
  type Fork,
  isClosed,
  type Sequence,
  type StreamState,
  streamFromJson,
  TidemarkError,
  undoId,
  type WorkflowId,
} from '@tidemark/core';
import type { StreamRow, WorkflowListing, WorkflowSummary } from '@tidemark/ports';
import { supersedes } from '../history/index.ts';
import { idTaken, type Starter } from '../inbox/index.ts';
import { type Ports, UNDOING } from '../kernel/index.ts';
import { COMPENSATION_ALERT_DEPTH, compensatedBy, depthOf, type Inbox } from '../lease/index.ts';
import { COMPENSATING_MAX_COUNT } from './limits.ts';
import { type UndoInput, undoDefinition } from './undo-definition.ts';

/** A running undo is polled again after this many milliseconds, unless rows show its end before. */
const UNDO_POLL_PERIOD_MS = 10_000;

export interface CompensationsOptions {
  readonly ports: Pick<Ports, 'store' | 'clock' | 'telemetry'>;
  readonly inbox: Inbox;
  readonly starter: Pick<Starter, 'start'>;
  /** Receives each undo of an undo, and workflows that could not be served. */
  readonly onError: (error: unknown) => void;
}

export class Compensations {
  readonly #options: CompensationsOptions;
  /** Frozen workflows with a running undo, and when to poll them again (monotonic milliseconds). */
  #seen = new Map<WorkflowId, number>();
  readonly #alerted = new Set<WorkflowId>();

  constructor(options: CompensationsOptions) {
    this.#options = options;
  }

  /** Takes note of written rows. Returns true if there is something to do now. */
  applied(streams: readonly StreamRow[]): boolean {
    let isWanted = false;
    for (const row of streams) {
      const { workflow, status } = row;
      const compensated = compensatedBy(workflow);
      if (compensated !== undefined && hasEnded(status)) {
        this.#seen.delete(compensated);
        this.#seen.delete(continuationId(compensated));
        isWanted = true;
      }
      if (status === 'compensating' || isWaitingReset(row)) isWanted = true;
    }
    return isWanted;
  }

  /** Starts missing undos, and reports ended ones. Throws the first failure once all workflows were served. */
  async poll(): Promise<void> {
    const { ports, onError } = this.#options;
    const frozen = await ports.store.workflows({ status: 'compensating', limit: COMPENSATING_MAX_COUNT });
    const waiting = { status: 'open', reason: UNDOING, limit: COMPENSATING_MAX_COUNT } as const;
    const resets = (await ports.store.search(waiting)).filter(isWaitingReset);
    this.#watch(frozen, resets);
    const nowMs = ports.clock.monotonicMs();
    // One workflow whose undo can't be started must not keep the others waiting.
    const failures: unknown[] = [];
    for (const row of frozen) {
      if ((this.#seen.get(row.workflow) ?? 0) > nowMs) continue;
      await this.#serve(row).catch((error: unknown) => failures.push(error));
    }
    for (const row of resets) {
      if ((this.#seen.get(row.workflow) ?? 0) > nowMs) continue;
      await this.#serveReset(row).catch((error: unknown) => failures.push(error));
    }
    for (const failure of failures.slice(1)) onError(failure);
    // The loop reports this one, and retries sooner.
    if (failures.length > 0) throw failures[0];
  }

  /** Measures how deeply undos are nested, and reports those at `COMPENSATION_ALERT_DEPTH` or deeper. */
  #watch(frozen: readonly WorkflowSummary[], resets: readonly Reset[]): void {
    const { telemetry } = this.#options.ports;
    const live = new Set([...frozen, ...resets].map(({ workflow }) => workflow));
    this.#seen = new Map([...this.#seen].filter(([workflow]) => live.has(workflow)));
    for (const workflow of this.#alerted) if (!live.has(workflow)) this.#alerted.delete(workflow);
    let deepest = 0;
    for (const { workflow } of frozen) {
      const depth = depthOf(workflow) + 1;
      deepest = Math.max(deepest, depth);
      if (depth >= COMPENSATION_ALERT_DEPTH && !this.#alerted.has(workflow)) this.#alert(workflow, depth);
    }
    telemetry.gauge('compensation_depth_current', deepest);
  }

  #alert(workflow: WorkflowId, depth: number): void {
    this.#alerted.add(workflow);
    this.#options.onError(
      new TidemarkError(
        'compensation-deep',
        `An undo is itself compensated: ${undoId(workflow)} is at depth ${depth}.`,
        {
          workflow,
          depth,
        },
      ),
    );
  }

  async #serve(row: WorkflowSummary): Promise<void> {
    const { store, clock } = this.#options.ports;
    const undo = await store.workflow(undoId(row.workflow));
    if (undo === undefined) await this.#start(row);
    else if (undo.tenant !== row.tenant) throw this.#taken(undo.workflow);
    else if (hasEnded(undo.status)) await this.#finish(row, undo);
    else this.#seen.set(row.workflow, clock.monotonicMs() + UNDO_POLL_PERIOD_MS);
  }

  #taken(undo: WorkflowId): ConflictError {
    const message = `Workflow id ${undo} belongs to another tenant, so what that undo would compensate stays done.`;
    return idTaken(this.#options.ports.telemetry, undo, message);
  }

  /** Undoes what the base did after the checkpoint, and lets the reset begin after that. A person resumes it if its undo has failed. */
  async #serveReset(row: Reset): Promise<void> {
    const { ports, inbox } = this.#options;
    const { store, clock } = ports;
    const base = row.fork.workflow;
    const undo = undoId(base);
    const found = await store.workflow(undo);
    if (found?.status === 'completed') {
      const why = `What ${base} did from checkpoint ${row.fork.sequence} on was undone.`;
      await inbox.write(row, eventId(`undone:${undo}`), 'ResumeRequested', { by: undo }, { why });
    } else if (found === undefined) await this.#undoBase(row);
    else this.#seen.set(row.workflow, clock.monotonicMs() + UNDO_POLL_PERIOD_MS);
  }

  async #undoBase({ workflow, fork }: Reset): Promise<void> {
    const { store } = this.#options.ports;
    const base = await store.workflow(fork.workflow);
    const [opening] = await store.checkpoints(workflow, { from: 0 as Sequence, limit: 1 });
    const origin = opening && decodePayload('WorkflowOpened', opening.payload).fork;
    if (base === undefined || origin === undefined) return;
    const tasks = origin.tasks.map(({ task }) => task);
    await this.#start(base, { position: origin.shares[0]!.position, tasks });
  }

  /** Only the opening is built here: the workers that run the definition know what it did and how to compensate it. */
  async #start(
    { workflow, tenant, definition, version, pinned }: WorkflowSummary,
    after?: UndoInput['after'],
  ): Promise<void> {
    const { starter, ports } = this.#options;
    const [frozen] = await ports.store.loadStreams([workflow], { payloads: false });
    // The undo belongs to the same user, so that forgetting the user includes it.
    const user = frozen && streamFromJson(frozen.state, frozen.tasks).user;
    const opening = { name: definition, version, effects: [], steps: new Map(), upcasters: new Map() };
    await starter.start({
      definition: undoDefinition(opening, ports.store),
      input: { workflow, ...(after !== undefined && { after }) } satisfies UndoInput,
      workflow: undoId(workflow),
      tenant,
      user,
      pinned,
      compensates: { workflow, depth: depthOf(workflow) + 1 },
    });
  }

  async #finish(row: WorkflowSummary, undo: WorkflowSummary): Promise<void> {
    const isCompensated = undo.status === 'completed';
    const why = undo.status === 'failed' ? `failed (${undo.reason})` : 'was itself compensated';
    const error = { name: 'TidemarkError', code: 'compensation-failed', message: `The undo ${undo.workflow} ${why}.` };
    await this.#options.inbox.write(
      row,
      eventId(`undone:${undo.workflow}`),
      'CompensationFinished',
      { undo: undo.workflow, outcome: isCompensated ? 'compensated' : 'failed' },
      isCompensated ? {} : { error },
    );
  }
}

type Reset = WorkflowListing & { readonly fork: Fork };

const isWaitingReset = <T extends Pick<StreamRow, 'workflow' | 'status' | 'reason' | 'fork'>>(
  row: T,
): row is T & { readonly fork: Fork } =>
  row.status === 'open' && row.reason === UNDOING && supersedes(row) !== undefined;

const hasEnded = (status: StreamState['status']): boolean => isClosed({ status } as StreamState);
