/** Owns a log with history in bulk: filling its partitions, waiting until rows have it, and archiving what there is. */

import { type Offset, type Partition, type WorkflowId, workflowId } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { LogRecord } from '@tidemark/ports';
import type { CompactorPolicy, PassReport } from '@tidemark/runtime';
import { eventually } from '@tidemark/testkit/eventually';
import { BulkHistory } from './history.ts';

/** Records of one append. */
const APPEND_MAX_COUNT = 200;
/** How long rows may take to have all that was filled in, in milliseconds. */
const ROWS_WAIT_MS = 900_000;
/** History is so old, in milliseconds: nothing of it is hot. */
const AGE_MS = 30 * 86_400_000;
const HOT_MS = 1_000;

export interface Filling {
  readonly workflows: number;
  readonly steps: number;
  readonly outputBytes: number;
}

export class BulkLog {
  readonly host: Host;
  readonly #bulk = new BulkHistory();
  /** The first of the first partition. */
  first: WorkflowId | undefined;

  /** The host's coordinator is started. */
  constructor(host: Host) {
    this.host = host;
  }

  /** Workflows that ended long ago, spread over the partitions, in log and rows. Returns how many events there are of them. */
  async fill(partitions: number, { workflows, steps, outputBytes }: Filling): Promise<number> {
    const { log, store, hints } = this.host.ports;
    const all = Array.from({ length: partitions }, (_, index) => index as Partition);
    await eventually(async () => (await store.positions()).size >= partitions && (await store.ready()));
    const folded = await store.loadPartitions(all);
    const counts = await Promise.all(
      folded.map(async ({ partition, generation }) => {
        const own = Math.floor(workflows / partitions) + (partition < workflows % partitions ? 1 : 0);
        let eventCount = 0;
        let records: LogRecord[] = [];
        for (let n = 1; n <= own; n++) {
          const workflow = workflowId(`bulk-${partition}-${generation + n}`);
          if (partition === 0) this.first ??= workflow;
          const at = { partition, generation: generation + n, atMs: Date.now() - AGE_MS };
          const made = this.#bulk.workflow({ workflow, steps, outputBytes, ...at });
          eventCount += made.length;
          records.push(...made);
          if (records.length < APPEND_MAX_COUNT && n < own) continue;
          await append(log, partition, records);
          records = [];
        }
        hints.publish('appended', partition);
        return eventCount;
      }),
    );
    const eventCount = counts.reduce((sum, count) => sum + count, 0);
    await this.inRows();
    return eventCount;
  }

  /** Resolves when rows have all that the log has. */
  async inRows(): Promise<void> {
    const { log, store } = this.host.ports;
    const ends = [...(await log.bounds())];
    const hasAll = async (): Promise<boolean> => {
      const positions = await store.positions();
      return ends.every(([partition, { end }]) => (positions.get(partition) ?? 0) >= end) && (await store.ready());
    };
    await eventually(hasAll, { timeoutMs: ROWS_WAIT_MS, what: 'rows of all that the log has' });
  }

  /** One pass of a compactor, as quickly as it goes. Throws when any of it failed. */
  archive(policy: Partial<CompactorPolicy> = {}): Promise<PassReport> {
    return this.#pass(policy, Number.POSITIVE_INFINITY, undefined);
  }

  /** As much as there is time for; a segment that was begun is finished. Returns how many events that were. */
  async archiveUntil(atMs: number, paceBytesPerSecond: number): Promise<number> {
    return (await this.#pass({}, paceBytesPerSecond, atMs)).eventCount;
  }

  async #pass(policy: Partial<CompactorPolicy>, paceBytesPerSecond: number, untilMs: number | undefined) {
    const errors: unknown[] = [];
    const compactor = this.host.compactor({
      policy: { hotMs: HOT_MS, segmentWaitMs: 0, ...policy },
      paceBytesPerSecond,
      onError: (_, error) => errors.push(error),
    });
    const stop = (): void => void compactor.stop();
    const timer = untilMs === undefined ? undefined : setTimeout(stop, untilMs - Date.now());
    const report = await compactor.pass();
    clearTimeout(timer);
    await compactor.stop();
    if (errors.length > 0) throw errors[0];
    return report;
  }
}

async function append(log: Host['ports']['log'], partition: Partition, records: readonly LogRecord[]): Promise<Offset> {
  let last = 0 as Offset;
  for (let at = 0; at < records.length; at += APPEND_MAX_COUNT) {
    last = await log.append(partition, records.slice(at, at + APPEND_MAX_COUNT));
  }
  return last;
}
