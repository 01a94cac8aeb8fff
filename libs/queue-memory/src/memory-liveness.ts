/**
 * Owns Liveness in process memory: who beats in this process lives until its beat runs out. The view is always trusted,
 * since nothing stands between the beats and the one who looks.
 */

import type { Epoch, HolderId, WorkflowId } from '@tidemark/core';
import type { Clock, Liveness } from '@tidemark/ports';

interface Beat {
  readonly untilMs: number;
  readonly leases: ReadonlyMap<WorkflowId, Epoch>;
}

export interface MemoryLivenessOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

export function createMemoryLiveness(options: MemoryLivenessOptions): Liveness {
  const { clock } = options;
  const beats = new Map<HolderId, Beat>();
  return {
    async beat(holder, leases, ttlMs) {
      const held = new Map(leases.map((lease) => [lease.workflow, lease.epoch]));
      beats.set(holder, { untilMs: clock.monotonicMs() + ttlMs, leases: held });
      return true;
    },
    async leave(holder) {
      beats.delete(holder);
    },
    async view() {
      const nowMs = clock.monotonicMs();
      for (const [holder, beat] of beats) if (beat.untilMs <= nowMs) beats.delete(holder);
      return { trusted: true, holders: new Map([...beats].map(([holder, beat]) => [holder, beat.leases])) };
    },
    async close() {
      beats.clear();
    },
  };
}
