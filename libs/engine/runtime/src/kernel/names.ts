/**
 * Owns the words by which callers ask, and which rows and answers tell: acts, reasons, endings of names. Must need nothing of what does
 * it, so that a process which only asks reads none of that.
 */

import { type HolderId, holderId, InvalidError, type WorkflowId } from '@tidemark/core';

/** Ends the names of undo workflows and of their definitions; no other name may end so. */
export const UNDO_SUFFIX = '~undo';

/** Ends the names of the definitions of schedules. */
export const SCHEDULE_SUFFIX = '~schedule';

/** What a job does to each of many workflows. */
export const BULK_ACTS = ['cancel', 'terminate', 'pause', 'resume', 'retry', 'signal'] as const;
export type BulkAct = (typeof BULK_ACTS)[number];

/**
 * What becomes of a slot while the run of an earlier one is live. `skip`: nothing; `queue`: one slot waits for its end, further ones are
 * skipped; `cancel`: that run is cancelled, and the slot begins when it has ended; `terminate`: it is ended at once; `allow`: both go on.
 */
export const OVERLAPS = ['skip', 'queue', 'cancel', 'terminate', 'allow'] as const;
export type Overlap = (typeof OVERLAPS)[number];

/** Reasons of open workflows, in their rows. */
export const PAUSED = 'paused';
export const CANCELLING = 'cancelling';
/** The coordinator that folded it knew less than who wrote it: a newer one goes on (resume-after-upgrade.ts). */
export const UNREADABLE = 'unreadable';
/** The reason of a fork that stands where its base recorded nothing. */
export const EFFECT_NOT_RECORDED = 'effect-not-recorded';

/** What it held was forgotten for good: that it was there is known; nothing is damaged, and no copy brings it back. */
export const historyForgotten = (workflow: WorkflowId): InvalidError =>
  new InvalidError(
    'history-forgotten',
    `What workflow ${workflow} held was forgotten for good: its key was destroyed. When it ran, what it did and what it cost is still told.`,
    { workflow },
  );

/** The entry of a tenant or a user that says what they may spend: nobody writes it but who sets budgets. */
export const BUDGET_ENTRY = { kind: 'record', key: 'budget' } as const;

/** Subjects that begin so say how long history is kept: nobody writes them but who sets retention. */
export const RETENTION_SUBJECT = 'retention:';

/** Subjects that begin so say who may do what (API keys, tenants): nobody writes them but the library of access. */
export const ACCESS_SUBJECT = 'access:';

/** The subject that says which queues are held: nobody writes it but who pauses and resumes them. */
export const QUEUES_SUBJECT = 'queues:held';

/** Ids that begin so belong to streams of memories. */
export const MEMORY_PREFIX = '~memory:';

/** Begins the names of holders that are workers: those beat while they live. Others claim and let go in one write. */
const WORKER_HEAD = 'worker-';

export const workerHolder = (id: string): HolderId => holderId(`${WORKER_HEAD}${id}`);
export const isWorker = (holder: HolderId): boolean => holder.startsWith(WORKER_HEAD);
