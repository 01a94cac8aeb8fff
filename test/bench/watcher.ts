/**
 * Owns what a benchmark sees of running workflows from outside: their events as they come to the log, with the moment in
 * which this process saw each. Told by the same hints as a projector; a moment is an upper bound.
 */

import { decodeRecord } from '@tidemark/codec';
import type { Envelope, Offset, Partition } from '@tidemark/core';
import type { Host } from '@tidemark/host';

export interface Seen {
  readonly atMs: number;
  /** When its writer wrote it, by that one's clock, in whole milliseconds since the Unix epoch. */
  readonly writtenAtMs: number;
  readonly type: Envelope['type'];
  readonly holder: string;
}

interface Wish {
  readonly isMet: (seen: Seen) => boolean;
  readonly meet: (seen: Seen) => void;
}

export class Watcher {
  readonly #host: Host;
  readonly #next = new Map<Partition, Offset>();
  readonly #wishes = new Map<string, Set<Wish>>();
  /** Holder of each workflow, and how many checkpoints were seen of it. */
  readonly holders = new Map<string, string>();
  readonly checkpointCounts = new Map<string, number>();
  #wanted = new Set<Partition>();
  #reading: Promise<void> | undefined;
  #unsubscribe: (() => Promise<void>) | undefined;

  constructor(host: Host) {
    this.#host = host;
  }

  async start(): Promise<void> {
    for (const [partition, { end }] of await this.#host.ports.log.bounds()) this.#next.set(partition, end);
    this.#unsubscribe = await this.#host.ports.hints.subscribe('appended', (partitions) => {
      for (const partition of partitions) this.#wanted.add(partition);
      this.#reading ??= this.#read();
    });
  }

  /** The first event of the workflow from now on that meets the condition. */
  next(workflow: string, isMet: (seen: Seen) => boolean): Promise<Seen> {
    return new Promise((resolve) => {
      const wishes = this.#wishes.get(workflow) ?? new Set();
      this.#wishes.set(workflow, wishes);
      const wish: Wish = {
        isMet,
        meet: (seen) => {
          wishes.delete(wish);
          resolve(seen);
        },
      };
      wishes.add(wish);
    });
  }

  async #read(): Promise<void> {
    while (this.#wanted.size > 0) {
      const requests = [...this.#wanted].map((partition) => ({ partition, from: this.#nextOf(partition) }));
      this.#wanted = new Set();
      for (const { partition, records, end } of await this.#host.ports.log.read(requests)) {
        const atMs = performance.now();
        for (const { value, offset } of records) {
          this.#next.set(partition, (offset + 1) as Offset);
          const decoded = decodeRecord(value);
          if (decoded.kind === 'event') this.#see(decoded.envelope, atMs);
        }
        if (this.#nextOf(partition) < end) this.#wanted.add(partition);
      }
    }
    this.#reading = undefined;
  }

  /** A partition that was added meanwhile is read from its beginning. */
  #nextOf(partition: Partition): Offset {
    return this.#next.get(partition) ?? (0 as Offset);
  }

  #see({ type, holder, workflow, atMs: writtenAtMs }: Envelope, atMs: number): void {
    if (type === 'LeaseClaimed') this.holders.set(workflow, holder);
    if (type === 'CheckpointCommitted') {
      this.checkpointCounts.set(workflow, (this.checkpointCounts.get(workflow) ?? 0) + 1);
    }
    const seen = { atMs, writtenAtMs, type, holder };
    for (const wish of [...(this.#wishes.get(workflow) ?? [])]) if (wish.isMet(seen)) wish.meet(seen);
  }

  async stop(): Promise<void> {
    await this.#unsubscribe?.();
    await this.#reading;
  }
}
