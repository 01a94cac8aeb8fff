/** Owns what a coordinator does about queues that are held: it tells how many there are, and notices that one isn't any more. */

import type { Telemetry } from '@tidemark/ports';
import { type HeldQueue, type HeldQueues, HeldSet } from '../control/index.ts';

export class HeldGauges {
  readonly #queues: Pick<HeldQueues, 'look'>;
  readonly #telemetry: Telemetry;
  #told = new HeldSet([]);

  constructor(queues: Pick<HeldQueues, 'look'>, telemetry: Telemetry) {
    this.#queues = queues;
    this.#telemetry = telemetry;
  }

  /** Whether a queue that was held at the last look isn't any more. Throws as `HeldQueues.look` does. */
  async look(): Promise<boolean> {
    const held = await this.#queues.look();
    const before = this.#told;
    this.#told = held;
    // A gauge stands until it is set again.
    for (const queue of before.all) this.#set(queue, 0);
    for (const queue of held.all) this.#set(queue, 1);
    return before.hasMoreThan(held);
  }

  #set({ definition, tenant }: HeldQueue, value: 0 | 1): void {
    this.#telemetry.gauge('queue_held', value, { definition, tenant: tenant ?? '*' });
  }
}
