/**
 * Owns the ids that the system gives to workflows. Each derives from its cause, so that every process which starts the same thing starts it
 * under the same id. No other file composes one.
 *
 * D1 A caller may choose none of these (`derivedFormOf`): an id that can be foretold could be taken before its owner needs it.
 * D2 What is derived from a workflow ends with a suffix that says how, so two workflows never derive the same id, and whoever owns a
 *    workflow owns the ids below it.
 */

import { type TaskId, type WorkflowId, workflowId } from './ids.ts';

/** Ends the names of undo workflows and of their definitions. No other name may end in it. */
export const UNDO_SUFFIX = '~undo';

/** Begins the ids of streams of memories. */
export const MEMORY_PREFIX = '~memory:';

const JOB_PREFIX = 'job:';
const RESUMED_PREFIX = 'resumed:';

/** The ids of continuations: `x`, `x~2`, `x~3`. A longer number doesn't match. */
const NTH = /^(.+)~([2-9]|[1-9]\d{1,8})$/s;

/** The id of the workflow that compensates this one. */
export const undoId = (workflow: WorkflowId): WorkflowId => workflowId(`${workflow}${UNDO_SUFFIX}`);

/** The child for which this task waits. */
export const childId = (parent: WorkflowId, task: TaskId): WorkflowId => workflowId(`${parent}~${task}`);

/** The run of a schedule's slot. `slot`: its time, ISO 8601 in UTC, with milliseconds. */
export const slotId = (schedule: WorkflowId, slot: string): WorkflowId => workflowId(`${schedule}@${slot}`);

/** A fork to which nobody gave an id. `digits`: random, hexadecimal. */
export const forkId = (base: string, digits: string): WorkflowId => workflowId(`${base}~fork-${digits}`);

/** The workflow with which a session continues. `digest`: of the one before, as it ended. */
export const resumedId = (digest: string): WorkflowId => workflowId(`${RESUMED_PREFIX}${digest}`);

/** Begins the ids of a tenant's bulk jobs. `tenant`: the digest of its name. */
export const jobId = (tenant: string, job: string): WorkflowId => workflowId(`${JOB_PREFIX}${tenant}:${job}`);

/** The stream of a subject's memories. `digest`: of tenant and subject. */
export const memoryId = (digest: string): WorkflowId => workflowId(`${MEMORY_PREFIX}${digest}`);

/** The roll-out of a definition's shadows. */
export const rolloutId = (definition: string): WorkflowId => workflowId(`~shadow/${definition}`);

/** The claim of an agent on one of its runs. `digest`: of its definition and the run's id. */
export const claimId = (digest: string): WorkflowId => workflowId(`~claim:${digest}`);

/** A stream of audit entries. `tenant`: the digest of its name; `stream`: unique. */
export const auditId = (tenant: string, stream: string): WorkflowId => workflowId(`~audit:${tenant}:${stream}`);

export interface Nth {
  /** The id of the first run. */
  readonly first: WorkflowId;
  /** 1 is the first run. */
  readonly n: number;
}

export function nthOf(workflow: WorkflowId): Nth {
  const [, first, n] = NTH.exec(workflow) ?? [];
  return first === undefined ? { first: workflow, n: 1 } : { first: workflowId(first), n: Number(n) };
}

export const nthId = ({ first, n }: Nth): WorkflowId => (n === 1 ? first : workflowId(`${first}~${n}`));

/** The id of the run that follows this one. */
export function continuationId(workflow: WorkflowId): WorkflowId {
  const { first, n } = nthOf(workflow);
  return nthId({ first, n: n + 1 });
}

export type DerivedForm = 'undo' | 'child' | 'continuation' | 'slot' | 'fork' | 'session' | 'job' | 'memory' | 'other';

/** The last one keeps the sign for forms that are yet to come. */
const FORMS: readonly (readonly [DerivedForm, RegExp])[] = [
  ['job', /^job:/],
  ['session', /^resumed:/],
  ['memory', /^~memory:/],
  ['undo', /~undo$/],
  ['child', /~\d+\.\d+$/],
  ['continuation', NTH],
  ['fork', /~fork-/],
  ['slot', /@[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/],
  ['other', /~/],
];

/** The form by which the id is the system's own; undefined: a caller may choose it. */
export const derivedFormOf = (id: string): DerivedForm | undefined => FORMS.find(([, form]) => form.test(id))?.[0];
