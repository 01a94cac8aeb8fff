/**
 * Owns the way of a caller's event to a workflow: it finds the workflow in rows, writes the event, and waits until the fold has judged it,
 * so the sender knows whether it counts. It does not decide what the fold decides.
 */

import { decodeRecord, type Payloads } from '@tidemark/codec';
import {
  ConflictError,
  type Controls,
  type EventId,
  foldRecord,
  type InboxEventType,
  isClosed,
  type Offset,
  type Partition,
  type StreamState,
  streamFromJson,
  UnavailableError,
  uuidv7,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import type { StreamSnapshot, WorkflowSummary } from '@tidemark/ports';
import { batchedByKey } from '@tidemark/ports/batched';
import type { Definition } from '../definition/index.ts';
import { Applied, continuedAs, currentOf, isContinued, lastOf } from '../history/index.ts';
import {
  type Guarded,
  guardOf,
  type LamportClock,
  type Ports,
  type SecretGuard,
  type SecretPorts,
  whileUnavailable,
  workflowStarting,
  workflowUnknown,
} from '../kernel/index.ts';
import { Inbox, type Written } from '../lease/index.ts';
import { isRunnable, isWokenByWriter, jobOf } from '../projection/index.ts';
import { WORKFLOW_GRACE_MS } from './limits.ts';

/** How long a request to a continued workflow waits for the next run to begin, in milliseconds. */
const CONTINUATION_GRACE_MS = 5_000;

export interface WorkflowInboxOptions {
  readonly ports: Pick<Ports, 'log' | 'store' | 'hints' | 'queue' | 'telemetry' | 'clock' | 'prng'> & SecretPorts;
  readonly lamport: LamportClock;
  /** Ends all waiting. */
  readonly closing: AbortSignal;
}

export interface Found {
  readonly row: WorkflowSummary;
  readonly state: StreamState;
}

type CallerEventType = Exclude<InboxEventType, 'WorkflowOpened'>;

/** The clear part of a caller's event: its names and keys stand there. */
export interface EventHead<T extends CallerEventType> {
  readonly id: EventId;
  readonly control: Controls[T];
}

/** Period of polls of rows for something that should appear in a moment, in milliseconds. */
const POLL_PERIOD_MS = 50;
/** Workflows in one read of rows. */
const WAKE_BATCH_MAX = 128;

export class WorkflowInbox {
  readonly #options: WorkflowInboxOptions;
  readonly #inbox: Inbox;
  readonly #applied: Applied;
  readonly #snapshot: (workflow: WorkflowId) => Promise<StreamSnapshot | undefined>;

  constructor(options: WorkflowInboxOptions) {
    const { ports } = options;
    this.#options = options;
    this.#snapshot = batchedByKey(WAKE_BATCH_MAX, async (workflows) => {
      const snapshots = await ports.store.loadStreams(workflows, { payloads: false });
      return new Map(snapshots.map((snapshot) => [snapshot.workflow, snapshot]));
    });
    this.#inbox = new Inbox(options.ports, options.lamport);
    this.#applied = new Applied(options.ports);
  }

  uuid(): string {
    const { clock, prng } = this.#options.ports;
    return uuidv7(clock.nowMs(), prng.bytes(10));
  }

  /** The policy on secrets for what callers send to the workflow: the deployment's where its definition isn't known here. */
  guard({ definition }: Pick<WorkflowSummary, 'definition'>, known: readonly Definition[] = []): SecretGuard {
    return guardOf(definition, known, this.#options.ports);
  }

  /**
   * Whether the fold accepted the event. Resolves once rows have it. The job of a workflow that it wakes is sent as soon as the log has the
   * event, if it wakes the workflow as it was found, `woken`, and otherwise if rows then show work; coordinators send none for what was woken
   * by such an event.
   */
  async write<T extends CallerEventType>(
    row: WorkflowSummary,
    type: T,
    head: Guarded<EventHead<T>>,
    payload: Guarded<Payloads[T]>,
    woken?: StreamState,
  ): Promise<boolean> {
    const { closing, ports } = this.#options;
    const { id, control } = head.value;
    // The event's Lamport time must follow everything that its writer could know.
    this.#options.lamport.witness(row.lamport);
    const written = await whileUnavailable(ports.clock, closing, () =>
      this.#inbox.write(row, id, type, control, payload.value),
    );
    const next = (written.offset + 1) as Offset;
    const isSent = woken !== undefined && this.#send(wokenBy(woken, written), row.partition, next);
    await this.#applied.wait(row.partition, next, closing);
    const state = (await this.#shown(row.workflow)) ?? (await this.exactly(row.workflow)).state;
    if (isWokenByWriter(type) && !isSent) this.#send(state, row.partition, next);
    return state.inbox.includes(id);
  }

  /** The workflow as rows have it. */
  async #shown(workflow: WorkflowId): Promise<StreamState | undefined> {
    const { ports, closing } = this.#options;
    const snapshot = await whileUnavailable(ports.clock, closing, () => this.#snapshot(workflow));
    return snapshot && streamFromJson(snapshot.state, snapshot.tasks);
  }

  /** Whether a worker has something to do, of which it then learns. Does not wait; a sweep sends a job that was lost. */
  #send(state: StreamState, partition: Partition, next: Offset): boolean {
    if (!isRunnable(state)) return false;
    const { queue, telemetry } = this.#options.ports;
    queue.enqueue([jobOf({ ...state, partition }, next, telemetry)]).catch(() => {});
    return true;
  }

  /**
   * The workflow, or the last run that continues it. Throws `InvalidError` (`workflow-unknown`),
   * `UnavailableError` (`workflow-starting`: rows don't show it yet; `continuation-starting`: the next run has not begun).
   */
  async find(id: string): Promise<Found> {
    const { ports } = this.#options;
    const found = await this.exactly(id);
    if (!isClosed(found.state)) return found;
    const last = await whileUnavailable(ports.clock, this.#options.closing, () => lastOf(ports.store, found.row));
    if (last.workflow === found.row.workflow && !isContinued(last)) return found;
    const current = await this.pollFor(CONTINUATION_GRACE_MS, () => currentOf(ports.store, found.row.workflow));
    // Another run may have continued it since.
    if (current !== undefined) return this.find(current.workflow);
    const message = `Workflow ${id} continues as a new run, which has not begun yet. Try again.`;
    throw new UnavailableError('continuation-starting', message, { workflow: id });
  }

  /** The workflow of this id, even if another run continues it. Throws as `find` where it is unknown. */
  async exactly(id: string): Promise<Found> {
    const { ports } = this.#options;
    const workflow = workflowId(id);
    const found = await this.pollFor(WORKFLOW_GRACE_MS, async () => {
      const [snapshot, row] = await Promise.all([this.#snapshot(workflow), ports.store.workflow(workflow)]);
      if (snapshot === undefined) return undefined;
      // The stream was there a moment ago: lost rows are being rebuilt.
      if (row === undefined)
        throw new UnavailableError(
          'store-rebuilding',
          `The rows of ${workflow} are being rebuilt. Try again once they are.`,
        );
      return { row, state: streamFromJson(snapshot.state, snapshot.tasks) };
    });
    if (found !== undefined) return found;
    const placed = await whileUnavailable(ports.clock, this.#options.closing, () => ports.store.placed(workflow));
    throw placed === undefined ? workflowUnknown(workflow) : workflowStarting(workflow);
  }

  async pollFor<T>(graceMs: number, poll: () => Promise<T | undefined>): Promise<T | undefined> {
    const { ports, closing } = this.#options;
    const endMs = ports.clock.monotonicMs() + graceMs;
    for (;;) {
      const found = await whileUnavailable(ports.clock, closing, poll);
      if (found !== undefined || ports.clock.monotonicMs() >= endMs) return found;
      await ports.clock.sleep(POLL_PERIOD_MS, closing);
      if (closing.aborted) throw new UnavailableError('client-closed', 'The client was closed.');
    }
  }

  async close(): Promise<void> {
    await this.#applied.close();
  }
}

/** The workflow as it would be if nothing else had happened since it was found. */
function wokenBy(found: StreamState, { offset, value }: Written): StreamState {
  const entry = decodeRecord(value);
  return entry.kind === 'event' ? foldRecord(found, entry, offset).stream : found;
}

export const closed = (row: WorkflowSummary): ConflictError => {
  const { workflow, status, reason } = row;
  const why = reason === null ? '' : ` (${reason})`;
  const next = continuedAs(row);
  const continuation = next === undefined ? '' : ` It continues as ${next}.`;
  return new ConflictError('workflow-closed', `Workflow ${workflow} has ended: it is ${status}${why}.${continuation}`, {
    workflow,
    status,
  });
};
