/** Owns hints for which nobody waits: each is published some milliseconds later, unless another of its partition was published meanwhile. */

import type { Partition } from '@tidemark/core';
import { HINT_LATER_MS, type HintBus, type HintTopic } from './job-queue.ts';

export class LaterHints {
  readonly #publish: HintBus['publish'];
  readonly #held: Record<HintTopic, Set<Partition>> = { appended: new Set(), applied: new Set() };
  #timer: NodeJS.Timeout | undefined;

  constructor(publish: HintBus['publish']) {
    this.#publish = publish;
  }

  add(topic: HintTopic, partition: Partition): void {
    this.#held[topic].add(partition);
    this.#timer ??= setTimeout(() => this.#publishAll(), HINT_LATER_MS);
  }

  /** One of the partition is published now. */
  drop(topic: HintTopic, partition: Partition): void {
    this.#held[topic].delete(partition);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#publishAll();
  }

  #publishAll(): void {
    this.#timer = undefined;
    for (const topic of ['appended', 'applied'] as const) {
      const held = [...this.#held[topic]];
      this.#held[topic].clear();
      for (const partition of held) this.#publish(topic, partition);
    }
  }
}
