/**
 * Owns sending wake-ups. A wake-up is one BullMQ job: it says that so many jobs of its route wait, and stands for those that are next when
 * it is taken. A burst is spread over several, so that many workers share it.
 */

import { Queue } from 'bullmq';
import type { Connection } from './connection.ts';
import type { QueueLimits } from './limits.ts';

interface Wakeup {
  readonly name: 'jobs';
  /** Number of jobs that it stands for. */
  readonly data: number;
}

/** Number of jobs that a wake-up stands for; 0 for anything else. */
export const countOf = (data: unknown): number =>
  Number.isSafeInteger(data) && (data as number) > 0 ? (data as number) : 0;

export class WakeupSender {
  readonly #connection: Connection;
  readonly #keyPrefix: string;
  readonly #limits: Pick<QueueLimits, 'jobsPerWakeupMax' | 'wakeupsPerBurstMin'>;
  readonly #queues = new Map<string, Queue>();

  constructor(connection: Connection, keyPrefix: string, limits: QueueLimits) {
    this.#connection = connection;
    this.#keyPrefix = keyPrefix;
    this.#limits = limits;
  }

  async send(queueName: string, jobCount: number): Promise<void> {
    const { jobsPerWakeupMax, wakeupsPerBurstMin } = this.#limits;
    const size = Math.max(1, Math.min(Math.ceil(jobCount / wakeupsPerBurstMin), jobsPerWakeupMax));
    const wakeups: Wakeup[] = [];
    for (let left = jobCount; left > 0; left -= size) wakeups.push({ name: 'jobs', data: Math.min(size, left) });
    if (wakeups.length > 0) await this.queue(queueName).addBulk(wakeups);
  }

  queue(name: string): Queue {
    const known = this.#queues.get(name);
    if (known) return known;
    const queue = new Queue(name, {
      connection: this.#connection.redis,
      prefix: this.#keyPrefix,
      // BullMQ would print a warning about maxmemory-policy; jobs are hints, so an evicted one is no loss.
      skipVersionCheck: true,
      // Nobody reads BullMQ's event stream; keep it as short as Redis can.
      streams: { events: { maxLen: 0 } },
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    });
    queue.on('error', () => {});
    this.#queues.set(name, queue);
    return queue;
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#queues.values()].map((queue) => queue.close()));
  }
}
