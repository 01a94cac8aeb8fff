/**
 * Owns reads: the records of chosen partitions from chosen offsets, and the bounds of partitions, one request to each leader concerned,
 * over connections that no append uses. Never waits for new records, never resets an offset. While brokers are away or leaders move it
 * retries for a bounded time.
 */

import { ConfigError, CorruptError, InvalidError, type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type { PartitionBounds, ReadRequest, ReadResult, StoredRecord } from '@tidemark/ports';
import { authorizationError, isAuthorizationCode, OFFSET_OUT_OF_RANGE } from './answers.ts';
import { Channel, type ChannelOptions, rootMessage } from './channel.ts';
import type { KafkaLogLimits } from './limits.ts';
import { decodeBatches, type RecordSink } from './record-batch.ts';
import type { Topology } from './topology.ts';
import { type Api, DELETE_RECORDS, DESCRIBE_LOG_DIRS, FETCH, LIST_OFFSETS } from './wire.ts';
import {
  type BrokerNode,
  deleteRecordsAnswer,
  deleteRecordsRequest,
  EARLIEST,
  LATEST,
  listOffsetsAnswers,
  listOffsetsRequest,
  logDirsAnswer,
  logDirsRequest,
} from './wire-partitions.ts';
import { type FetchAnswer, type FetchTarget, fetchAnswers, fetchRequest } from './wire-records.ts';

/**
 * Bytes of one partition, and of all, in an answer to a request for those of which the first answer had no record. The former doubles where
 * batches are larger, so that an answer brings less than the given part of them.
 */
const REST_PARTITION_MAX_BYTES = 65_536;
const REST_ANSWER_MAX_BYTES = 4_194_304;
const REST_ANSWERS_MAX = 8;

export interface ReaderOptions {
  readonly topic: string;
  readonly limits: KafkaLogLimits;
  readonly channel: ChannelOptions;
  readonly topology: Topology;
}

/** What one partition of a read still lacks. */
export interface Wanted {
  readonly partition: number;
  readonly from: number;
  readonly to: number | undefined;
  records: readonly StoredRecord[];
  end: number;
}

/** A partition to request again, and what the broker said instead of an answer. */
interface Failure {
  readonly partition: number;
  readonly errorCode: number;
}

export interface Budget {
  leftBytes: number;
}

export class Reader {
  readonly #options: ReaderOptions;
  readonly #channels = new Map<string, Channel>();
  #closed = false;
  /** Reads so far: each begins with another partition, so that none waits for ever behind one whose batches use up the budget. */
  #turn = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  async read(requests: readonly ReadRequest[], maxBytes: number): Promise<readonly ReadResult[]> {
    const wanted: Wanted[] = requests.map(({ partition, from, to }) => ({
      partition,
      from,
      to,
      records: [],
      end: from,
    }));
    const budget: Budget = { leftBytes: maxBytes };
    const targets = new Map<number, Wanted>();
    for (const want of wanted) {
      if (targets.has(want.partition)) {
        throw new InvalidError('read-repeated', `Partition ${want.partition} is named twice in one read.`, { ...want });
      }
      targets.set(want.partition, want);
    }
    const first = this.#turn++ % Math.max(1, wanted.length);
    const inTurn = [...wanted.slice(first), ...wanted.slice(0, first)];
    let open = await this.#fetchAll(inTurn, { partitionMaxBytes: maxBytes, answerMaxBytes: maxBytes }, budget);
    // A broker promises a record only for the first partition that has one. The others are requested again, many in an answer.
    let partitionMaxBytes = REST_PARTITION_MAX_BYTES;
    while (open.length > 0) {
      const left = await this.#fetchAll(open, { partitionMaxBytes, answerMaxBytes: REST_ANSWER_MAX_BYTES }, budget);
      const isSlow = open.length - left.length < open.length / REST_ANSWERS_MAX;
      if (isSlow) partitionMaxBytes = Math.min(2 * partitionMaxBytes, this.#options.limits.batchMaxBytes);
      open = left;
    }
    return wanted.map(({ partition, records, end }) => ({
      partition: partition as Partition,
      records,
      end: end as Offset,
    }));
  }

  /** One fetch of a partition from the offset; its answer is what `take` makes of it, and fetched again while that throws `UnavailableError`. */
  async fetched<T>(partition: number, from: number, maxBytes: number, take: (answer: FetchAnswer) => T): Promise<T> {
    const taken: T[] = [];
    await this.#eachLeader([partition], 'read', async (leader) => {
      const [answer] = await this.#fetch(leader, [{ partition, from }], maxBytes, this.#options.limits.readMaxBytes);
      if (answer === undefined) return [{ partition, errorCode: -1 }];
      if (answer.errorCode === 0) taken.push(take(answer));
      else this.#throwIfForGood(answer.errorCode);
      return answer.errorCode === 0 ? [] : [answer];
    });
    return taken[0]!;
  }

  /** Returns start and end of the partitions, with one pair of requests per leader. */
  async bounds(partitions: readonly number[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    const [starts, ends] = await Promise.all([this.#offsets(partitions, EARLIEST), this.#offsets(partitions, LATEST)]);
    const bounds = new Map<Partition, PartitionBounds>();
    for (const partition of partitions) {
      const start = starts.get(partition)!;
      // The two requests are sequential, so a trim may have come between.
      const end = Math.max(start, ends.get(partition)!);
      bounds.set(partition as Partition, { start: start as Offset, end: end as Offset });
    }
    return bounds;
  }

  /** `before` lies within the partition's bounds. */
  async deleteRecords(partition: number, before: number): Promise<void> {
    const { topic, limits } = this.#options;
    await this.#eachLeader([partition], 'trim', async (leader) => {
      const request = deleteRecordsRequest(topic, partition, before, limits.readTimeoutMs);
      const errorCode = deleteRecordsAnswer(await this.#ask(leader, DELETE_RECORDS, request));
      if (errorCode === 0) return [];
      this.#throwIfForGood(errorCode);
      return [{ partition, errorCode }];
    });
  }

  /** Returns the bytes of the partitions, as each leader holds them. */
  async sizeBytes(partitions: readonly number[]): Promise<number> {
    let total = 0;
    await this.#eachLeader(partitions, 'sizes', async (leader, led) => {
      const request = logDirsRequest(this.#options.topic, led);
      const { errorCode, sizes } = logDirsAnswer(await this.#ask(leader, DESCRIBE_LOG_DIRS, request));
      if (errorCode !== 0) {
        this.#throwIfForGood(errorCode);
        return led.map((partition) => ({ partition, errorCode }));
      }
      for (const size of sizes.values()) total += size;
      return [];
    });
    return total;
  }

  close(): void {
    this.#closed = true;
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
  }

  /** Returns partitions with a record that did not fit into the answer. */
  async #fetchAll(
    open: readonly Wanted[],
    { partitionMaxBytes, answerMaxBytes }: { readonly partitionMaxBytes: number; readonly answerMaxBytes: number },
    budget: Budget,
  ): Promise<readonly Wanted[]> {
    const byPartition = new Map(open.map((want) => [want.partition, want]));
    const again: Wanted[] = [];
    const outOfRange: Wanted[] = [];
    await this.#eachLeader([...byPartition.keys()], 'read', async (leader, partitions) => {
      const wants = partitions.map((partition) => byPartition.get(partition)!);
      const answers = await this.#fetch(leader, wants, partitionMaxBytes, answerMaxBytes);
      const failed: Failure[] = [];
      for (const answer of answers) {
        const want = byPartition.get(answer.partition)!;
        if (answer.errorCode === OFFSET_OUT_OF_RANGE) outOfRange.push(want);
        else if (answer.errorCode !== 0) {
          this.#throwIfForGood(answer.errorCode);
          failed.push(answer);
        } else if (!take(want, answer, budget)) again.push(want);
      }
      return failed;
    });
    if (outOfRange.length > 0) await this.#explainRange(outOfRange);
    return again;
  }

  async #fetch(
    leader: BrokerNode,
    wants: readonly Pick<Wanted, 'partition' | 'from'>[],
    partitionMaxBytes: number,
    maxBytes: number,
  ): Promise<FetchAnswer[]> {
    const targets = wants.map(({ partition, from }): FetchTarget => ({ partition, from, maxBytes: partitionMaxBytes }));
    const { errorCode, partitions } = fetchAnswers(
      await this.#ask(leader, FETCH, fetchRequest(this.#options.topic, targets, maxBytes)),
    );
    if (errorCode !== 0)
      throw new UnavailableError('log-unavailable', `A fetch failed with Kafka error code ${errorCode}.`);
    return partitions;
  }

  /** An offset that a broker does not have lies before the start or past the end. */
  async #explainRange(wants: readonly Wanted[]): Promise<void> {
    const bounds = await this.bounds(wants.map(({ partition }) => partition));
    for (const { partition, from } of wants) {
      const { start, end } = bounds.get(partition as Partition)!;
      const details = { partition, from, start, end };
      if (from < start) {
        throw new CorruptError(
          'log-trimmed',
          `Partition ${partition} starts at ${start}; ${from} was trimmed.`,
          details,
        );
      }
      if (from > end) {
        const message = `Partition ${partition} ends at ${end}, before ${from}: the log was replaced.`;
        throw new CorruptError('log-past-end', message, details);
      }
      // The leader has caught up since; the next read finds the offset.
    }
  }

  async #offsets(partitions: readonly number[], which: typeof EARLIEST | typeof LATEST): Promise<Map<number, number>> {
    const found = new Map<number, number>();
    await this.#eachLeader(partitions, 'bounds', async (leader, led) => {
      const request = listOffsetsRequest(this.#options.topic, led, which);
      const failed: Failure[] = [];
      for (const answer of listOffsetsAnswers(await this.#ask(leader, LIST_OFFSETS, request))) {
        if (answer.errorCode === 0) found.set(answer.partition, answer.offset);
        else {
          this.#throwIfForGood(answer.errorCode);
          failed.push(answer);
        }
      }
      return failed;
    });
    return found;
  }

  /**
   * Calls `ask` for each leader with its partitions, in parallel; `ask` returns those to try again. Retries for `readRetryMs`, and
   * refreshes the leaders each time.
   */
  async #eachLeader(
    partitions: readonly number[],
    what: string,
    ask: (leader: BrokerNode, partitions: readonly number[]) => Promise<readonly Failure[]>,
  ): Promise<void> {
    const { limits, topology } = this.#options;
    const untilMs = performance.now() + limits.readRetryMs;
    let open = partitions;
    let pauseMs = limits.resendMinMs;
    for (;;) {
      const failed: number[] = [];
      let reason: unknown = new Error('some partitions have no leader');
      await Promise.all(
        this.#byLeader(open, failed).map(async ([leader, led]) => {
          try {
            for (const { partition, errorCode } of await ask(leader, led)) {
              failed.push(partition);
              reason = new Error(`Kafka error code ${errorCode}`);
            }
          } catch (error) {
            if (!(error instanceof UnavailableError)) throw error;
            reason = error;
            failed.push(...led);
          }
        }),
      );
      if (failed.length === 0) return;
      if (this.#closed || performance.now() + pauseMs > untilMs) throw this.#unavailable(what, failed, reason);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      await topology.refresh().catch(() => {}); // the next pause retries what is not known yet
      pauseMs = Math.min(limits.resendMaxMs, pauseMs * 2);
      open = failed;
    }
  }

  #byLeader(partitions: readonly number[], leaderless: number[]): (readonly [BrokerNode, number[]])[] {
    const byNode = new Map<BrokerNode, number[]>();
    for (const partition of partitions) {
      const leader = this.#options.topology.leaderOf(partition);
      if (leader === undefined) {
        leaderless.push(partition);
        continue;
      }
      const led = byNode.get(leader);
      if (led === undefined) byNode.set(leader, [partition]);
      else led.push(partition);
    }
    return [...byNode];
  }

  #ask(leader: BrokerNode, api: Api, request: readonly Buffer[]): Promise<Buffer> {
    const key = `${leader.nodeId} ${leader.host}:${leader.port}`;
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      channel = new Channel(leader, this.#options.channel);
      this.#channels.set(key, channel);
    }
    return channel.request(api, request);
  }

  #throwIfForGood(errorCode: number): void {
    const { topic, topology, limits } = this.#options;
    if (isAuthorizationCode(errorCode)) throw authorizationError(topic, errorCode);
    if (topology.missingForMs > limits.topicMissingMs) {
      throw new ConfigError('log-topic-missing', `The Kafka topic "${topic}" does not exist any more.`, { topic });
    }
  }

  #unavailable(what: string, partitions: readonly number[], cause: unknown): UnavailableError {
    const shown = partitions.slice(0, 8);
    const more = partitions.length > shown.length ? ' …' : '';
    const message = `Kafka gave no answer (${what}) for partitions ${shown.join(', ')}${more}: ${rootMessage(cause)}`;
    return new UnavailableError('log-unavailable', message, { partitions: shown, cause });
  }
}

/** Takes what fits; returns false when a record did not fit into the answer. A partition that is deferred is left for the next read. */
export function take(want: Wanted, answer: FetchAnswer, budget: Budget): boolean {
  // A new leader may report an older end than the one that gave the offset.
  want.end = Math.max(want.from, answer.highWatermark);
  const sink: RecordSink = { records: [], leftBytes: budget.leftBytes, to: want.to };
  decodeBatches(answer.records, want.from, sink);
  want.records = sink.records;
  budget.leftBytes = sink.leftBytes;
  if (sink.isDeferred) return true;
  return sink.records.length > 0 || Math.min(want.end, want.to ?? want.end) <= want.from;
}
