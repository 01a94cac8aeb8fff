/**
 * Owns telling lists what changed: the newest state of each workflow that moved, gathered for a moment, one look for all who follow. Not
 * every step in between is told, and nothing from before: a list is read first, then followed, and read again when the connection was lost.
 */

import { isSystemDefinition, type Partition, type TenantId, type WorkflowId } from '@tidemark/core';
import type { WorkflowListing } from '@tidemark/ports';
import type { Ports } from '@tidemark/runtime';
import { CHANGES_PARTITIONS_MAX_COUNT, CHANGES_PERIOD_MS } from '../limits.ts';
import { redactorOf } from '../route.ts';
import { workflowSchema } from '../schemas/workflow.ts';
import { workflowJson } from '../shapes/workflow.ts';
import { type EventSink, eventBytes } from './sink.ts';

const redact = redactorOf(workflowSchema)!;

export interface ListFollower {
  readonly sink: EventSink;
  /** Null: of all tenants. */
  readonly tenant: TenantId | null;
  readonly seesContent: boolean;
}

type ChangesPorts = Pick<Ports, 'store' | 'hints' | 'clock'>;

export class Changes {
  readonly #ports: ChangesPorts;
  readonly #onError: (where: string, error: unknown) => void;
  readonly #followers = new Set<ListFollower>();
  /** Positions that were told, of what moved last in each partition. */
  #told = new Map<Partition, ReadonlyMap<WorkflowId, number>>();
  #moved = new Set<Partition>();
  #unsubscribe: Promise<() => Promise<void>> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(ports: ChangesPorts, onError: (where: string, error: unknown) => void) {
    this.#ports = ports;
    this.#onError = onError;
  }

  /** Until the connection is gone. */
  async follow(follower: ListFollower): Promise<void> {
    this.#followers.add(follower);
    this.#begin();
    const { closed } = follower.sink;
    await new Promise<void>((resolve) => {
      if (closed.aborted) resolve();
      else closed.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#followers.delete(follower);
    if (this.#followers.size === 0) await this.close();
  }

  #begin(): void {
    if (this.#timer !== undefined) return;
    this.#unsubscribe = this.#ports.hints.subscribe('applied', (partitions) => {
      for (const partition of partitions) this.#moved.add(partition);
    });
    this.#unsubscribe.catch((error: unknown) => this.#onError('changes', error));
    this.#timer = setInterval(() => void this.#tick(), CHANGES_PERIOD_MS);
  }

  async #tick(): Promise<void> {
    if (this.#isLooking || this.#moved.size === 0) return;
    this.#isLooking = true;
    const moved = this.#moved;
    this.#moved = new Set();
    try {
      if (moved.size > CHANGES_PARTITIONS_MAX_COUNT) this.#tellMany(moved.size);
      else await this.#tellMoved([...moved]);
    } catch (error) {
      this.#onError('changes', error);
      for (const partition of moved) this.#moved.add(partition);
    } finally {
      this.#isLooking = false;
    }
  }

  #tellMany(count: number): void {
    const bytes = eventBytes('many', JSON.stringify({ partitions: count }));
    for (const { sink } of this.#followers) sink.writeUnlessBusy(bytes);
  }

  async #tellMoved(partitions: readonly Partition[]): Promise<void> {
    const { store } = this.#ports;
    const rows = [...(await store.moving(partitions))];
    const byPartition = Map.groupBy(rows, ({ partition }) => partition);
    for (const partition of partitions) {
      const known = this.#told.get(partition) ?? new Map<WorkflowId, number>();
      const now = byPartition.get(partition) ?? [];
      // What was there and is no longer has closed, and another one has opened since.
      for (const workflow of known.keys()) {
        if (now.some((row) => row.workflow === workflow)) continue;
        const row = await store.workflow(workflow);
        if (row !== undefined && row.position > known.get(workflow)!) this.#tell(row);
      }
      for (const row of now) if (row.position > (known.get(row.workflow) ?? 0)) this.#tell(row);
      this.#told.set(partition, new Map(now.map(({ workflow, position }) => [workflow, position])));
    }
  }

  #tell(row: WorkflowListing): void {
    if (isSystemDefinition(row.definition)) return;
    let [open, closed]: (Buffer | undefined)[] = [];
    const told = workflowJson(row, false);
    for (const { sink, tenant, seesContent } of this.#followers) {
      if (tenant !== null && tenant !== row.tenant) continue;
      if (seesContent) open ??= eventBytes('workflow', JSON.stringify(told));
      else closed ??= eventBytes('workflow', JSON.stringify(redact(told)));
      sink.write((seesContent ? open : closed)!);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#told = new Map();
    this.#moved = new Set();
    const unsubscribe = this.#unsubscribe;
    this.#unsubscribe = undefined;
    await (await unsubscribe?.catch(() => undefined))?.();
  }
}
