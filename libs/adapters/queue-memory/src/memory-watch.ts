/** Owns the WatchBus in process memory: listeners receive each message in a later turn of the event loop, in order. */

import type { WorkflowId } from '@tidemark/core';
import type { WatchBus } from '@tidemark/ports';

type Listener = (message: string) => void;

export function createMemoryWatch(): WatchBus {
  const watched = new Map<WorkflowId, Set<Listener>>();
  return {
    publish(workflow, message) {
      for (const listener of watched.get(workflow) ?? []) {
        // A listener that throws disturbs neither the step nor another listener.
        setImmediate(() => {
          if (watched.get(workflow)?.has(listener)) listener(message);
        });
      }
    },
    async subscribe(workflow, listener) {
      const own: Listener = (message) => listener(message);
      const listeners = watched.get(workflow) ?? new Set<Listener>();
      watched.set(workflow, listeners.add(own));
      return async () => {
        listeners.delete(own);
        if (listeners.size === 0) watched.delete(workflow);
      };
    },
    async close() {
      watched.clear();
    },
  };
}
