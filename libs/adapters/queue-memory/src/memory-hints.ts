/**
 * Owns the HintBus in process memory: hints of one turn of the event loop reach each listener as one call, in ascending
 * order. A listener that throws disturbs no other.
 */

import type { Partition } from '@tidemark/core';
import type { HintBus, HintTopic } from '@tidemark/ports';
import { LaterHints } from '@tidemark/ports/later-hints';

type Listener = (partitions: readonly Partition[]) => void;

export function createMemoryHints(): HintBus {
  const listeners: Record<HintTopic, Set<Listener>> = { appended: new Set(), applied: new Set() };
  const pending: Record<HintTopic, Set<Partition>> = { appended: new Set(), applied: new Set() };
  let scheduled: NodeJS.Immediate | undefined;
  let closed = false;

  const deliver = (topic: HintTopic): void => {
    if (pending[topic].size === 0) return;
    const partitions = [...pending[topic]].sort((a, b) => a - b);
    pending[topic].clear();
    for (const listener of [...listeners[topic]]) {
      try {
        listener(partitions);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  };

  const publish = (topic: HintTopic, partition: Partition): void => {
    later.drop(topic, partition);
    if (closed || listeners[topic].size === 0) return;
    pending[topic].add(partition);
    scheduled ??= setImmediate(() => {
      scheduled = undefined;
      deliver('appended');
      deliver('applied');
    });
  };
  const later = new LaterHints(publish);

  return {
    publish: (topic, partition, when) => (when === 'later' ? later.add(topic, partition) : publish(topic, partition)),
    async subscribe(topic, listener) {
      // A wrapper of its own, so that the same function subscribed twice is called twice and ends once.
      const own: Listener = (partitions) => listener(partitions);
      listeners[topic].add(own);
      return async () => void listeners[topic].delete(own);
    },
    async close() {
      closed = true;
      later.close();
      clearImmediate(scheduled);
      listeners.appended.clear();
      listeners.applied.clear();
    },
  };
}
