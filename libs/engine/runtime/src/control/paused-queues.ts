/**
 * Owns what a process knows of paused queues. It reads them from rows, which follow from the log, so pauses survive coordinators and the
 * queue's server. A queue is the work of one definition, of all tenants or of one. It never writes (see queues.ts).
 *
 * Q1 Nothing is claimed on knowledge older than `QUEUES_KNOWN_MS`, nor while rows are incomplete.
 * Q2 A queue counts as paused only by a read that began after the question, because the caller may know that it was resumed.
 */

import { CorruptError, SYSTEM_TENANT, type TenantId, tenantId, UNDO_SUFFIX, type WorkflowId } from '@tidemark/core';
import type { MemoryRow } from '@tidemark/ports';
import { type Ports, QUEUES_SUBJECT, rowsRebuilding } from '../kernel/index.ts';
import { QUEUES_HELD_MAX_COUNT, QUEUES_KNOWN_MS } from './limits.ts';

/** Names a piece of work. An undo belongs to its workflow's queue. A schedule does not: the runs that it starts wait. */
export interface Queued {
  readonly definition: string;
  readonly tenant: TenantId;
}

export interface PausedQueue {
  readonly definition: string;
  /** Null: all tenants. */
  readonly tenant: TenantId | null;
  readonly by: string;
  readonly why: string;
  readonly sinceMs: number;
}

/** Begins the keys of records of paused queues. */
export const HELD_PREFIX = 'held:';

const nameOf = (definition: string, tenant: TenantId | null): string => JSON.stringify([definition, tenant]);

/** The definition whose queue the work belongs to. */
export function workOf(definition: string): string {
  return definition.endsWith(UNDO_SUFFIX) ? workOf(definition.slice(0, -UNDO_SUFFIX.length)) : definition;
}

/** The paused queues at some moment. */
export class PausedQueues {
  readonly all: readonly PausedQueue[];
  readonly #names: ReadonlySet<string>;

  constructor(all: readonly PausedQueue[]) {
    this.all = all;
    this.#names = new Set(all.map(({ definition, tenant }) => nameOf(definition, tenant)));
  }

  has({ definition, tenant }: Queued): boolean {
    if (this.#names.size === 0) return false;
    const work = workOf(definition);
    return this.#names.has(nameOf(work, null)) || this.#names.has(nameOf(work, tenant));
  }

  /** The pause of the work: of all tenants, or of its own. */
  of({ definition, tenant }: Queued): PausedQueue | undefined {
    const work = workOf(definition);
    return this.all.find((each) => each.definition === work && (each.tenant === null || each.tenant === tenant));
  }

  /** The queues that are paused here, in the other one, or in both. */
  with(other: PausedQueues): PausedQueues {
    const more = other.all.filter(({ definition, tenant }) => !this.#names.has(nameOf(definition, tenant)));
    return more.length === 0 ? this : new PausedQueues([...this.all, ...more]);
  }

  /** Whether a queue is paused here that isn't paused in the other. */
  hasMoreThan(other: PausedQueues): boolean {
    return [...this.#names].some((name) => !other.#names.has(name));
  }
}

type Reads = Pick<Ports, 'store' | 'clock'>;

export class QueuePauses {
  readonly #ports: Reads;
  #known: { readonly set: PausedQueues; readonly atMs: number } | undefined;
  #reading: Promise<PausedQueues> | undefined;
  #next: Promise<PausedQueues> | undefined;

  constructor(ports: Reads) {
    this.#ports = ports;
  }

  /** The paused queues, by a read no older than `QUEUES_KNOWN_MS` (Q1). Throws `UnavailableError`, also while rows are being rebuilt. */
  async known(): Promise<PausedQueues> {
    const { clock } = this.#ports;
    if (this.#known !== undefined && clock.monotonicMs() - this.#known.atMs <= QUEUES_KNOWN_MS) return this.#known.set;
    return this.#reading ?? this.poll();
  }

  /** Whether the work must not be claimed now (Q2). Throws what `known` throws. */
  async isHeld(queued: Queued): Promise<boolean> {
    return (await this.known()).has(queued) && (await this.poll()).has(queued);
  }

  /** Reads the paused queues after the call. Callers during a running read share the one after it. */
  poll(): Promise<PausedQueues> {
    if (this.#reading === undefined) {
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
      });
      return this.#reading;
    }
    this.#next ??= this.#reading
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.poll();
      });
    return this.#next;
  }

  async #read(): Promise<PausedQueues> {
    const { store, clock } = this.#ports;
    const atMs = clock.monotonicMs();
    if (!(await store.ready())) throw rowsRebuilding();
    const rows = await store.memories({
      ...{ tenant: SYSTEM_TENANT, subject: QUEUES_SUBJECT, kind: 'record', prefix: HELD_PREFIX },
      limit: QUEUES_HELD_MAX_COUNT,
    });
    const set = new PausedQueues(rows.map(heldOf));
    this.#known = { set, atMs };
    return set;
  }
}

function heldOf({ key, value }: MemoryRow): PausedQueue {
  const { definition, tenant, by, why, sinceMs } = JSON.parse(value) as Readonly<Record<string, unknown>>;
  const isTenant = tenant === null || typeof tenant === 'string';
  const areTexts = [definition, by, why].every((text) => typeof text === 'string');
  if (!isTenant || !areTexts || typeof sinceMs !== 'number') {
    throw new CorruptError(
      'queue-unreadable',
      `The record ${key} of a paused queue is not as it was written, or a newer release wrote it. Nothing is claimed until it can be read.`,
      { key },
    );
  }
  return {
    definition: definition as string,
    tenant: tenant === null ? null : tenantId(tenant),
    by: by as string,
    why: why as string,
    sinceMs,
  };
}

/** Tells a run to start nothing further and to hand its workflow over. It is read before each task, and a flag is cheaper to read than a composite signal. */
export class RunStop {
  readonly queued: Queued;
  readonly #stopping: AbortSignal;
  #isHeld = false;

  constructor(queued: Queued, stopping: AbortSignal) {
    this.queued = queued;
    this.#stopping = stopping;
  }

  get aborted(): boolean {
    return this.#isHeld || this.#stopping.aborted;
  }

  hold(): void {
    this.#isHeld = true;
  }
}

/** The runs of one worker. When a queue is paused its runs start nothing further and release their leases. */
export class PausedRuns {
  readonly #queues: Pick<QueuePauses, 'known' | 'isHeld'>;
  readonly #runs = new Map<WorkflowId, RunStop>();

  constructor(ports: Reads, queues: Pick<QueuePauses, 'known' | 'isHeld'> = new QueuePauses(ports)) {
    this.#queues = queues;
  }

  /** Returns a flag that is set when the run must start nothing further: its queue is paused, `stopping` has aborted, or it is held. */
  begin(queued: Queued & { readonly workflow: WorkflowId }, stopping: AbortSignal): RunStop {
    const stop = new RunStop(queued, stopping);
    this.#runs.set(queued.workflow, stop);
    return stop;
  }

  end(workflow: WorkflowId): void {
    this.#runs.delete(workflow);
  }

  /** What can't be read now is read at a later poll. */
  async poll(): Promise<void> {
    if (this.#runs.size === 0) return;
    const held = await this.#queues.known().catch(() => undefined);
    if (held === undefined || held.all.length === 0) return;
    for (const stop of this.#runs.values()) if (held.has(stop.queued)) stop.hold();
  }

  isHeld(queued: Queued): Promise<boolean> {
    return this.#queues.isHeld(queued);
  }
}
