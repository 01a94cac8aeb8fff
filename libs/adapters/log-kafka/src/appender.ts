/**
 * Owns the order and the certainty of appends. Each leader has a lane with one request in flight; appends that arrive meanwhile share the
 * next request (group commit). Where many workflows append, requests are some milliseconds apart, since each costs the broker as much as
 * several records; a single sequential workflow waits for nothing. A batch without a clear answer is sent again, the same bytes, until it
 * is known to be stored. Its partition sends nothing else meanwhile, and it uses the leader's second lane, so that the other partitions
 * keep their full speed.
 *
 * Invariants: at most one request holds records of a partition at any time (L3); a promise resolves only with an offset that the broker
 * gave with acks=all (L2); a batch is sent whole or not at all (L4).
 */

import {
  offset as asOffset,
  ConfigError,
  InvalidError,
  LimitError,
  type Offset,
  UnavailableError,
} from '@tidemark/core';
import type { LogRecord } from '@tidemark/ports';
import type { AppendAnswer } from './answers.ts';
import type { AppendClient, LaneKind } from './append-client.ts';
import type { KafkaLogLimits } from './limits.ts';
import { type Batch, PartitionQueue, type Pending } from './partition-queue.ts';
import { BATCH_OVERHEAD_BYTES, recordOverheadBytes } from './record-batch.ts';
import { BusyPartitions } from './spread.ts';
import type { BrokerNode } from './wire-partitions.ts';

interface Lane {
  readonly leader: BrokerNode;
  readonly kind: LaneKind;
  ready: PartitionQueue[];
  isSending: boolean;
  isScheduled: boolean;
  /** When the last request was sent (`performance.now()`). */
  sentMs: number;
}

/** What an appender needs to know of the cluster; `Topology` implements it. */
export interface Leaders {
  /** Returns the same object for as long as the broker has the same address: each has a lane. */
  leaderOf(partition: number): BrokerNode | undefined;
  refresh(): Promise<void>;
  /** Milliseconds for which the cluster has denied that the topic exists. */
  readonly missingForMs: number;
}

export interface AppenderOptions {
  readonly topic: string;
  readonly limits: KafkaLogLimits;
  readonly client: AppendClient;
  readonly topology: Leaders;
}

export class Appender {
  readonly #options: AppenderOptions;
  readonly #queues = new Map<number, PartitionQueue>();
  readonly #lanes: Record<LaneKind, Map<BrokerNode, Lane>> = { append: new Map(), resend: new Map() };
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #busy: BusyPartitions;
  #pendingBytes = 0;
  #closed = false;
  /** Closed, and every unanswered append was abandoned. */
  #abandoned = false;
  #onIdle: (() => void) | undefined;

  constructor(options: AppenderOptions) {
    this.#options = options;
    this.#busy = new BusyPartitions(options.limits.spreadWindowMs);
  }

  append(partition: number, records: readonly LogRecord[], signal?: AbortSignal): Promise<Offset> {
    return new Promise((resolve, reject) => {
      const bytes = this.#checkedBytes(partition, records);
      if (signal?.aborted) throw givenUp(partition, 'aborted', undefined, signal.reason);
      const append: Pending = { records, bytes, resolve, reject, release: undefined, isSettled: false };
      if (signal !== undefined) this.#listen(append, partition, signal);
      this.#pendingBytes += bytes;
      this.#busy.add(partition);
      const queue = this.#queue(partition);
      queue.add(append);
      if (!queue.isBusy) this.#ready(queue);
    });
  }

  /** Waits for appends under way, then abandons the rest: each is ambiguous to its caller. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#queues.size > 0) await this.#idle(this.#options.limits.closeTimeoutMs);
    this.#abandoned = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const queue of this.#queues.values()) {
      const error = givenUp(queue.partition, 'closed', queue.batch?.doubt);
      for (const append of queue.drain()) this.#reject(append, error);
    }
    this.#queues.clear();
    await this.#options.client.close();
  }

  #idle(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #checkedBytes(partition: number, records: readonly LogRecord[]): number {
    const { recordMaxBytes, batchMaxBytes, pendingMaxBytes } = this.#options.limits;
    if (this.#closed) throw givenUp(partition, 'closed');
    if (records.length === 0)
      throw new InvalidError('append-empty', 'An append needs at least one record.', { partition });
    let bytes = BATCH_OVERHEAD_BYTES;
    for (const record of records) {
      const valueBytes = record.value.byteLength;
      if (valueBytes > recordMaxBytes) {
        throw new LimitError(
          'record-too-large',
          `A record of ${valueBytes} bytes is over the limit of ${recordMaxBytes}.`,
          {
            partition,
            valueBytes,
            recordMaxBytes,
          },
        );
      }
      bytes += valueBytes + recordOverheadBytes(record);
    }
    if (bytes > batchMaxBytes) {
      throw new LimitError('append-too-large', `An append of ${bytes} bytes is over the limit of ${batchMaxBytes}.`, {
        partition,
        bytes,
        batchMaxBytes,
      });
    }
    if (this.#pendingBytes + bytes > pendingMaxBytes) {
      throw new LimitError(
        'append-queue-full',
        `Appends of ${this.#pendingBytes} bytes wait already; nothing was added.`,
        {
          partition,
          pendingMaxBytes,
        },
      );
    }
    return bytes;
  }

  #listen(append: Pending, partition: number, signal: AbortSignal): void {
    const onAbort = (): void => {
      this.#reject(append, givenUp(partition, 'aborted', this.#queues.get(partition)?.batch?.doubt, signal.reason));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    append.release = () => signal.removeEventListener('abort', onAbort);
  }

  #queue(partition: number): PartitionQueue {
    let queue = this.#queues.get(partition);
    if (queue === undefined) {
      queue = new PartitionQueue(partition);
      this.#queues.set(partition, queue);
    }
    return queue;
  }

  /** Puts the partition into the lane of its leader. */
  #ready(queue: PartitionQueue): void {
    queue.isBusy = true;
    const leader = this.#options.topology.leaderOf(queue.partition);
    if (leader === undefined) {
      this.#later([queue], true);
      return;
    }
    const lane = this.#lane(leader, queue.batch?.doubt !== undefined ? 'resend' : 'append');
    lane.ready.push(queue);
    this.#schedule(lane);
  }

  #lane(leader: BrokerNode, kind: LaneKind): Lane {
    let lane = this.#lanes[kind].get(leader);
    if (lane === undefined) {
      lane = { leader, kind, ready: [], isSending: false, isScheduled: false, sentMs: 0 };
      this.#lanes[kind].set(leader, lane);
    }
    return lane;
  }

  /** Sends at the end of this turn of the event loop at the earliest, so that all appends of the turn share a request. */
  #schedule(lane: Lane): void {
    if (lane.isSending || lane.isScheduled || lane.ready.length === 0) return;
    lane.isScheduled = true;
    const send = (): void => {
      lane.isScheduled = false;
      void this.#send(lane);
    };
    const waitMs = this.#gatherMs(lane);
    if (waitMs <= 0) {
      setImmediate(send);
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      send();
    }, waitMs);
    this.#timers.add(timer);
  }

  #gatherMs({ kind, sentMs }: Lane): number {
    const { gatherMs, gatherPartitionsMin } = this.#options.limits;
    if (kind === 'resend' || this.#busy.count < gatherPartitionsMin) return 0;
    return sentMs + gatherMs - performance.now();
  }

  async #send(lane: Lane): Promise<void> {
    const { queues, batches } = this.#fill(lane);
    if (batches.length === 0) return;
    lane.isSending = true;
    lane.sentMs = performance.now();
    const answers = await this.#options.client.append(lane.leader, lane.kind, batches);
    lane.isSending = false;
    this.#settle(queues, batches, answers);
    this.#schedule(lane);
  }

  /** Takes partitions from the front of the lane until the request is full. */
  #fill(lane: Lane): { queues: readonly PartitionQueue[]; batches: readonly Batch[] } {
    const { requestMaxBytes, requestMaxRecords, batchMaxBytes } = this.#options.limits;
    const nowMs = Date.now();
    const queues: PartitionQueue[] = [];
    const batches: Batch[] = [];
    let bytes = 0;
    let records = 0;
    let seen = 0;
    for (const queue of lane.ready) {
      const batch = queue.take({ maxBytes: batchMaxBytes, maxRecords: requestMaxRecords }, nowMs);
      if (batch === undefined) {
        this.#rest(queue);
      } else {
        const fits = bytes + batch.bytes <= requestMaxBytes && records + batch.records.length <= requestMaxRecords;
        if (batches.length > 0 && !fits) break;
        queues.push(queue);
        batches.push(batch);
        bytes += batch.bytes;
        records += batch.records.length;
      }
      seen++;
    }
    lane.ready = seen === lane.ready.length ? [] : lane.ready.slice(seen);
    return { queues, batches };
  }

  #settle(queues: readonly PartitionQueue[], batches: readonly Batch[], answers: readonly AppendAnswer[]): void {
    const doubtful: PartitionQueue[] = [];
    let isStale = false;
    for (let index = 0; index < queues.length; index++) {
      const queue = queues[index]!;
      const batch = batches[index]!;
      const answer = answers[index]!;
      if (answer.kind === 'stored') this.#stored(queue, batch, answer.baseOffset);
      else if (answer.kind === 'refused') this.#refused(queue, batch, answer.error);
      else {
        batch.doubt = answer.why;
        isStale ||= answer.isStale;
        doubtful.push(queue);
      }
    }
    if (doubtful.length > 0) this.#later(doubtful, isStale);
  }

  #stored(queue: PartitionQueue, batch: Batch, baseOffset: number): void {
    let first = baseOffset;
    for (const append of batch.appends) {
      if (this.#settleOnce(append)) append.resolve(asOffset(first));
      first += append.records.length;
    }
    queue.batch = undefined;
    queue.doubtCount = 0;
    this.#next(queue);
  }

  #refused(queue: PartitionQueue, batch: Batch, error: Error): void {
    if (batch.appends.length > 1) {
      queue.split(batch);
    } else {
      for (const append of batch.appends) this.#reject(append, error);
      queue.batch = undefined;
    }
    this.#next(queue);
  }

  #next(queue: PartitionQueue): void {
    if (queue.isEmpty) this.#rest(queue);
    else this.#ready(queue);
  }

  #rest(queue: PartitionQueue): void {
    queue.isBusy = false;
    // A partition at rest takes no memory, whatever the number of partitions.
    this.#queues.delete(queue.partition);
    if (this.#queues.size === 0) this.#onIdle?.();
  }

  /** Sends again after a pause, to the leader of that time. Drops appends that every caller has given up. */
  #later(queues: readonly PartitionQueue[], isStale: boolean): void {
    if (this.#abandoned) return;
    const { resendMinMs, resendMaxMs } = this.#options.limits;
    const doubtCount = queues.reduce((most, queue) => Math.max(most, queue.doubtCount++), 0);
    const pauseMs = Math.min(resendMaxMs, resendMinMs * 2 ** Math.min(doubtCount, 16));
    const timer = setTimeout(async () => {
      if (isStale) await this.#options.topology.refresh().catch(() => {}); // the next pause retries
      this.#timers.delete(timer);
      for (const queue of queues) this.#again(queue);
    }, pauseMs);
    this.#timers.add(timer);
  }

  #again(queue: PartitionQueue): void {
    const { topology, topic, limits } = this.#options;
    if (this.#abandoned) return;
    if (queue.batch?.appends.every((append) => append.isSettled)) queue.batch = undefined;
    if (topology.missingForMs > limits.topicMissingMs) {
      const error = new ConfigError('log-topic-missing', `The Kafka topic "${topic}" does not exist any more.`, {
        topic,
      });
      for (const append of queue.drain()) this.#reject(append, error);
    }
    this.#next(queue);
  }

  #reject(append: Pending, error: unknown): void {
    if (this.#settleOnce(append)) append.reject(error);
  }

  #settleOnce(append: Pending): boolean {
    if (append.isSettled) return false;
    append.isSettled = true;
    append.release?.();
    this.#pendingBytes -= append.bytes;
    return true;
  }
}

function givenUp(partition: number, why: 'aborted' | 'closed', doubt?: string, cause?: unknown): UnavailableError {
  const last = doubt === undefined ? '' : ` The last attempt: ${doubt}.`;
  const message = `The append to partition ${partition} was given up (${why}); whether it is stored is not known.${last}`;
  return new UnavailableError(`append-${why}`, message, { partition, cause });
}
