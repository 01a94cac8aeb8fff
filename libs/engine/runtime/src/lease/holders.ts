/** Owns the names of holders: by its name a worker is told, which beats while it lives, from one that claims and lets go in one write. */

import { type HolderId, holderId } from '@tidemark/core';

const WORKER_HEAD = 'worker-';

export const workerHolder = (id: string): HolderId => holderId(`${WORKER_HEAD}${id}`);
export const isWorker = (holder: HolderId): boolean => holder.startsWith(WORKER_HEAD);
