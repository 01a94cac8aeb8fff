/**
 * Owns the words that requests, rows and answers share: acts, reasons, reserved names. It imports none of the code that does the work, so a
 * process that only sends requests does not load it.
 */

import { type HolderId, holderId, InvalidError, UnavailableError, type WorkflowId } from '@tidemark/core';

/** Ends the names of the definitions of schedules. */
export const SCHEDULE_SUFFIX = '~schedule';

/** What a job does to each of many workflows. */
export const BULK_ACTS = ['cancel', 'terminate', 'pause', 'resume', 'retry', 'signal', 'answer', 'reset'] as const;
export type BulkAct = (typeof BULK_ACTS)[number];

/**
 * What happens to a slot while an earlier run of the schedule is live. `skip`: nothing starts. `queue`: one slot waits for the run to end,
 * and further ones are skipped. `cancel`: the run is cancelled, and the slot starts once it has ended. `terminate`: the run is terminated
 * at once. `allow`: both run.
 */
export const OVERLAPS = ['skip', 'queue', 'cancel', 'terminate', 'allow'] as const;
export type Overlap = (typeof OVERLAPS)[number];

/** Reasons that rows of open workflows give. */
export const PAUSED = 'paused';
export const CANCELLING = 'cancelling';
/** A reset that is paused until what it supersedes is undone. */
export const UNDOING = 'undoing';
/** The coordinator that folded it could not read an event of a newer release: a newer coordinator resumes it (resume-after-upgrade.ts). */
export const UNREADABLE = 'unreadable';
/** The reason of a fork that stopped at an effect which its base did not record. */
export const EFFECT_NOT_RECORDED = 'effect-not-recorded';
/** The reason of a reset that asks before it makes a call again which the history before it made. */
export const EFFECT_DONE_BEFORE = 'effect-done-before';

export const workflowUnknown = (workflow: WorkflowId): InvalidError =>
  new InvalidError('workflow-unknown', `No workflow has the id '${workflow}'.`, { workflow });

/** Rows that are being made show less than the log has. */
export const rowsRebuilding = (): UnavailableError =>
  new UnavailableError('store-rebuilding', 'The rows are being rebuilt from the log; try again later.');

/** It is placed, and rows don't show it yet. */
export const workflowStarting = (workflow: WorkflowId): UnavailableError =>
  new UnavailableError('workflow-starting', `Workflow ${workflow} was started, and isn't known here yet. Try again.`, {
    workflow,
  });

/** The workflow's content was forgotten for good. Its existence is still known, nothing is damaged, and no copy brings the content back. */
export const historyForgotten = (workflow: WorkflowId): InvalidError =>
  new InvalidError(
    'history-forgotten',
    `The content of workflow ${workflow} was forgotten for good: its key was destroyed. When it ran, what it did and what it cost is still known.`,
    { workflow },
  );

/** The memory entry with the budget of a tenant or a user. Only the code that sets budgets writes it. */
export const BUDGET_ENTRY = { kind: 'record', key: 'budget' } as const;

/** Begins the subjects of retention policies. Only the code that sets retention writes them. */
export const RETENTION_SUBJECT = 'retention:';

/** Begins the subjects of API keys and tenants. Only the access library writes them. */
export const ACCESS_SUBJECT = 'access:';

/** The subject of paused queues. Only the code that pauses and resumes queues writes it. */
export const QUEUES_SUBJECT = 'queues:held';

/** The subject of registered definitions. Only workers write it, when they start. */
export const DEFINITIONS_SUBJECT = 'definitions:registered';

/** Begins the names of holders that are workers, which send heartbeats while they live. Other holders claim and release in one write. */
const WORKER_HEAD = 'worker-';

export const workerHolder = (id: string): HolderId => holderId(`${WORKER_HEAD}${id}`);
export const isWorker = (holder: HolderId): boolean => holder.startsWith(WORKER_HEAD);

/** Action of the note in the last checkpoint's log that names the tasks which the end left undone. */
export const TASKS_DROPPED = 'warning: pending tasks dropped';
