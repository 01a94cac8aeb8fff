/**
 * Owns what an outsider has seen in Kafka: the digest of every record that was acknowledged, under its partition and offset, read by a
 * client that the product doesn't use for reading. It tells how far it has come, so that nothing is trimmed that it hasn't seen; should it
 * meet a gap all the same, the run is worth nothing.
 */

import { hash } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { eventually } from '@tidemark/testkit/eventually';
import { type Admin, type Consumer, type EachBatchPayload, Kafka, logLevel } from 'kafkajs';
import type { Stretch } from './compactor-checks.ts';
import { WITNESS_PERIOD_MS, WITNESS_WAIT_MS } from './compactor-limits.ts';

const FETCH_WAIT_MS = 20;
const FETCH_AT_ONCE = 4;
const METADATA_AGE_MAX_MS = 2_000;

export class Witness {
  /** What it has seen, by partition. */
  readonly seen: { start: number; readonly digests: string[] }[] = [];
  /** Where it found something else than the next offset, in words. */
  readonly gaps: string[] = [];
  readonly #topic: string;
  readonly #partitionCount: number;
  readonly #file: string | undefined;
  readonly #admin: Admin;
  readonly #consumer: Consumer;
  #timer: NodeJS.Timeout | undefined;

  /** `file` gets the next offset of each partition, now and then; absent: nobody is told. */
  constructor(broker: string, topic: string, partitionCount: number, file?: string) {
    const kafka = new Kafka({ clientId: 'chaos-witness', brokers: [broker], logLevel: logLevel.NOTHING });
    this.#topic = topic;
    this.#partitionCount = partitionCount;
    this.#file = file;
    this.#admin = kafka.admin();
    this.#consumer = kafka.consumer({
      groupId: `chaos-witness-${process.pid}-${performance.now()}`,
      maxWaitTimeInMs: FETCH_WAIT_MS,
      // So soon it reads partitions by which the topic has grown.
      metadataMaxAge: METADATA_AGE_MAX_MS,
    });
  }

  /** Reads from the first record that there is on, until it is stopped. */
  async start(): Promise<void> {
    await Promise.all([this.#admin.connect(), this.#consumer.connect()]);
    // A topic that was made just now may show only some of its partitions.
    const places = await eventually(async () => {
      const found = await this.#admin.fetchTopicOffsets(this.#topic);
      return found.length === this.#partitionCount && found;
    });
    for (const { partition, low } of places) this.seen[partition] = { start: Number(low), digests: [] };
    this.#report();
    this.#timer = setInterval(() => this.#report(), WITNESS_PERIOD_MS);
    await this.#consumer.subscribe({ topic: this.#topic, fromBeginning: true });
    await this.#consumer.run({
      autoCommit: false,
      partitionsConsumedConcurrently: FETCH_AT_ONCE,
      eachBatch: async (payload) => this.#see(payload),
    });
  }

  get recordCount(): number {
    return this.seen.reduce((sum, { digests }) => sum + digests.length, 0);
  }

  /** Resolves when it has seen all that the log has now. */
  async caughtUp(): Promise<void> {
    const ends = await this.#admin.fetchTopicOffsets(this.#topic);
    const isSeen = ({ partition, high }: { partition: number; high: string }): boolean =>
      nextOf(this.seen[partition] ?? NOTHING) >= Number(high);
    await eventually(() => ends.every(isSeen), { timeoutMs: WITNESS_WAIT_MS, what: 'the witness has seen the log' });
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#consumer.disconnect();
    await this.#admin.disconnect();
  }

  #see({ batch: { partition, messages } }: EachBatchPayload): void {
    // One by which the topic has grown begins at 0, like every other.
    this.seen[partition] ??= { start: 0, digests: [] };
    const stretch = this.seen[partition];
    for (const { offset, value } of messages) {
      const next = nextOf(stretch);
      if (Number(offset) < next) continue;
      if (Number(offset) > next) {
        this.gaps.push(`partition ${partition}: ${offset} came after ${next - 1}`);
        return;
      }
      stretch.digests.push(hash('sha256', value!));
    }
  }

  /** Written beside and renamed: whoever reads it sees one place or the next. */
  #report(): void {
    if (this.#file === undefined) return;
    writeFileSync(`${this.#file}.part`, JSON.stringify(Array.from(this.seen, (each) => nextOf(each ?? NOTHING))));
    renameSync(`${this.#file}.part`, this.#file);
  }
}

const NOTHING: Stretch = { start: 0, digests: [] };
const nextOf = ({ start, digests }: Stretch): number => start + digests.length;
