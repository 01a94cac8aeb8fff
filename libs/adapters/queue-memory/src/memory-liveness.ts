/**
 * Owns Liveness in process memory: a holder that beats in this process lives until it leaves. A beat never expires, since a blocked event
 * loop stops the reader together with the holder, and must cost nobody a lease. The view is always trusted, since nothing stands between
 * the beats and their reader. Any other holder was of a process that is gone: whoever opens a folder has its lock, which the kernel takes
 * from no process that lives, also from none that is stopped.
 */

import type { Epoch, HolderId, WorkflowId } from '@tidemark/core';
import { type Announcement, buildsOf, type Liveness } from '@tidemark/ports';

export function createMemoryLiveness(): Liveness {
  const holders = new Map<HolderId, ReadonlyMap<WorkflowId, Epoch>>();
  const announcements = new Map<HolderId, Announcement>();
  const sharers = new Map<HolderId, (max: number) => void>();
  const watchers = new Set<(holder: HolderId) => void>();
  return {
    async beat(holder, leases, _ttlMs, _stallMs, announced, onShare) {
      if (announced === undefined) announcements.delete(holder);
      else announcements.set(holder, announced);
      if (onShare !== undefined) sharers.set(holder, onShare);
      holders.set(holder, new Map(leases.map((lease) => [lease.workflow, lease.epoch])));
      return true;
    },
    share: (holder, max) => sharers.get(holder)?.(max),
    async leave(holder) {
      sharers.delete(holder);
      holders.delete(holder);
      announcements.delete(holder);
    },
    async vanish(holder) {
      sharers.delete(holder);
      announcements.delete(holder);
      if (!holders.delete(holder)) return;
      for (const report of watchers) report(holder);
    },
    async watch(onGone) {
      const report = (holder: HolderId): void => onGone(holder);
      watchers.add(report);
      return async () => {
        watchers.delete(report);
      };
    },
    async view() {
      const living = new Map(holders);
      return {
        trusted: true,
        holders: living,
        announced: new Map(announcements),
        builds: buildsOf(announcements.values()),
        isGone: (holder) => !living.has(holder),
      };
    },
    async close() {
      holders.clear();
    },
  };
}
