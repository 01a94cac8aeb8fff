/**
 * Owns reporting to lists what changed: the newest state of each workflow that moved, gathered for a moment, one read for all followers. It
 * skips steps in between, and everything from before: a client reads the list once it follows, and again when the connection was lost or
 * more has moved than is reported one by one.
 *
 * It reports each workflow that has moved since the last read of its partition, also one that has closed and made room for others
 * meanwhile.
 */

import { type Generation, isSystemDefinition, type Partition, type TenantId, type WorkflowId } from '@tidemark/core';
import type { ProjectionStore, WorkflowListing } from '@tidemark/ports';
import type { Ports } from '@tidemark/runtime';
import { FEED_LINGER_MS } from '../limits.ts';
import { type Redaction, redactorOf } from '../redaction.ts';
import { workflowSchema } from '../schemas/workflow.ts';
import { workflowJson } from '../shapes/workflow.ts';
import { aborted, type EventSink, eventBytes } from './sink.ts';

/**
 * Period in which changes of workflows are gathered for lists, in milliseconds; and changed partitions, and workflows in them, beyond which
 * only their number is reported.
 */
const CHANGES_PERIOD_MS = 250;
export const CHANGES_PARTITIONS_MAX_COUNT = 500;
export const CHANGES_ROWS_MAX_COUNT = 2_000;
/** Workflows whose positions are read when a follower begins; with more, some that did not move are reported once. */
const CHANGES_BEGINNING_ROWS_MAX_COUNT = 10_000;

const redact = redactorOf(workflowSchema, { content: false, words: false, tokens: false })!;

/** Comes before the first generation of a partition. */
const NEVER = 0 as Generation;

export interface ListFollower {
  readonly sink: EventSink;
  /** Null: of all tenants. */
  readonly tenant: TenantId | null;
  readonly redaction: Redaction;
}

type ChangesPorts = Pick<Ports, 'hints' | 'clock'> & {
  readonly store: Pick<ProjectionStore, 'generations' | 'moving'>;
};

/** What the last read of a partition found: its generation, and the positions of workflows before that which have not closed. */
interface Seen {
  readonly generation: Generation;
  readonly positions: ReadonlyMap<WorkflowId, number>;
}

export class Changes {
  readonly #ports: ChangesPorts;
  readonly #onError: (where: string, error: unknown) => void;
  readonly #followers = new Set<ListFollower>();
  #seen = new Map<Partition, Seen>();
  #moved = new Set<Partition>();
  #begun: Promise<void> | undefined;
  #unsubscribe: Promise<() => Promise<void>> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;
  /** When a follower last came or left, on the monotonic clock. */
  #wantedMs = 0;

  constructor(ports: ChangesPorts, onError: (where: string, error: unknown) => void) {
    this.#ports = ports;
    this.#onError = onError;
  }

  /** A client that reads the list after this, and then follows, receives all that moves after the list was read. Throws as the store does. */
  async ready(): Promise<void> {
    this.#wantedMs = this.#ports.clock.monotonicMs();
    this.#begun ??= this.#begin();
    await this.#begun;
  }

  /** Follows until the connection is gone. Throws as `ready` does. */
  async follow(follower: ListFollower): Promise<void> {
    this.#followers.add(follower);
    try {
      await this.ready();
      await aborted(follower.sink.closed);
    } finally {
      this.#followers.delete(follower);
      this.#wantedMs = this.#ports.clock.monotonicMs();
    }
  }

  async #begin(): Promise<void> {
    const { hints, store } = this.#ports;
    const subscribed = hints.subscribe('applied', (partitions) => {
      for (const partition of partitions) this.#moved.add(partition);
    });
    this.#unsubscribe = subscribed;
    const isClosed = (): boolean => this.#unsubscribe !== subscribed;
    try {
      await subscribed;
      const generations = await store.generations();
      const rows = await store.moving(generations, CHANGES_BEGINNING_ROWS_MAX_COUNT);
      if (isClosed()) return;
      this.#see(generations, rows);
      this.#timer = setInterval(() => void this.#tick(), CHANGES_PERIOD_MS);
    } catch (error) {
      if (!isClosed()) await this.close();
      throw error;
    }
  }

  async #tick(): Promise<void> {
    const idleMs = this.#ports.clock.monotonicMs() - this.#wantedMs;
    if (this.#followers.size === 0 && idleMs > FEED_LINGER_MS) return this.close();
    if (this.#isReading || this.#moved.size === 0) return;
    this.#isReading = true;
    const moved = this.#moved;
    this.#moved = new Set();
    try {
      await this.#reportMoved([...moved]);
    } catch (error) {
      this.#onError('changes', error);
      for (const partition of moved) this.#moved.add(partition);
    } finally {
      this.#isReading = false;
    }
  }

  async #reportMoved(partitions: readonly Partition[]): Promise<void> {
    const { store } = this.#ports;
    // Read first: the next poll finds again what closes between the two reads.
    const generations = await store.generations(partitions);
    const since = new Map(partitions.map((partition) => [partition, this.#seen.get(partition)?.generation ?? NEVER]));
    const isMany = since.size > CHANGES_PARTITIONS_MAX_COUNT;
    const rows = isMany ? [] : await store.moving(since, CHANGES_ROWS_MAX_COUNT + 1);
    if (isMany || rows.length > CHANGES_ROWS_MAX_COUNT) {
      this.#reportMany(partitions.length);
      this.#see(generations);
      return;
    }
    for (const row of rows) {
      const { workflow, partition, position } = row;
      if (position > (this.#seen.get(partition)?.positions.get(workflow) ?? 0)) this.#report(row);
    }
    this.#see(generations, rows);
  }

  #see(generations: ReadonlyMap<Partition, Generation>, rows: readonly WorkflowListing[] = []): void {
    const byPartition = Map.groupBy(rows, ({ partition }) => partition);
    for (const [partition, generation] of generations) {
      const near = (byPartition.get(partition) ?? []).filter(
        ({ closedInGeneration }) => closedInGeneration === null || closedInGeneration >= generation,
      );
      const positions = new Map(near.map(({ workflow, position }) => [workflow, position]));
      this.#seen.set(partition, { generation, positions });
    }
  }

  #reportMany(count: number): void {
    const bytes = eventBytes('many', JSON.stringify({ partitions: count }));
    for (const { sink } of this.#followers) sink.write(bytes);
  }

  #report(row: WorkflowListing): void {
    if (isSystemDefinition(row.definition)) return;
    let [open, closed]: (Buffer | undefined)[] = [];
    const reported = workflowJson(row, false);
    for (const { sink, tenant, redaction } of this.#followers) {
      if (tenant !== null && tenant !== row.tenant) continue;
      if (redaction.content) open ??= eventBytes('workflow', JSON.stringify(reported));
      else closed ??= eventBytes('workflow', JSON.stringify(redact(reported)));
      sink.write((redaction.content ? open : closed)!);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#begun = undefined;
    this.#seen = new Map();
    this.#moved = new Set();
    const unsubscribe = this.#unsubscribe;
    this.#unsubscribe = undefined;
    await (await unsubscribe?.catch(() => undefined))?.();
  }
}
