/** Owns the gauges of paused queues, and notices when one is resumed. */

import type { Telemetry } from '@tidemark/ports';
import { type PausedQueue, PausedQueues, type QueuePauses } from '../control/index.ts';

export class PausedQueueGauges {
  readonly #queues: Pick<QueuePauses, 'poll'>;
  readonly #telemetry: Telemetry;
  #reported = new PausedQueues([]);

  constructor(queues: Pick<QueuePauses, 'poll'>, telemetry: Telemetry) {
    this.#queues = queues;
    this.#telemetry = telemetry;
  }

  /** Whether a queue that was paused at the last poll no longer is. Throws what `QueuePauses.poll` throws. */
  async poll(): Promise<boolean> {
    const held = await this.#queues.poll();
    const before = this.#reported;
    this.#reported = held;
    // A gauge keeps its value until it is set again.
    for (const queue of before.all) this.#set(queue, 0);
    for (const queue of held.all) this.#set(queue, 1);
    return before.hasMoreThan(held);
  }

  #set({ definition, tenant }: PausedQueue, value: 0 | 1): void {
    this.#telemetry.gauge('queue_held', value, { definition, tenant: tenant ?? '*' });
  }
}
