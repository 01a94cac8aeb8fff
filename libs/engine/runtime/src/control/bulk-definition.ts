/**
 * Owns the workflow that acts on the many workflows that a filter finds, page by page, the newest first. It is a workflow of the system
 * that any worker runs, so it survives every process; its belief is its progress.
 *
 * K1 A repeated page has no second effect: each act counts once on each workflow, signals by a key of the job, answers by the question that
 *    was open when the job began.
 * K2 A workflow that refuses is counted with its reason, and does not hold up the others.
 */

import { isClosed, type Json, type Resolution, TidemarkError, UNDO_SUFFIX, type WorkflowId } from '@tidemark/core';
import type { WorkflowListing, WorkflowSearch } from '@tidemark/ports';
import {
  type BulkFilter,
  type Definition,
  OWN_DEFINITION,
  ownStep,
  type StepContext,
  type StepResult,
  type TaskRequest,
} from '../definition/index.ts';
import { type BulkAct, SCHEDULE_SUFFIX } from '../kernel/index.ts';
import { BULK_AT_ONCE_COUNT, BULK_PAGE_COUNT } from './limits.ts';

/** Most refusals of which a bulk job keeps the workflow and the reason. */
const BULK_PROBLEMS_MAX_COUNT = 100;

export const BULK_DEFINITION = 'tidemark.bulk';

export interface BulkInput {
  readonly act: BulkAct;
  readonly filter: BulkFilter;
  readonly by: string;
  readonly why: string;
  /** Set for `signal` alone. */
  readonly signal: { readonly name: string; readonly value: Json } | null;
  /** Set for `answer` alone. */
  readonly answer?: BulkAnswer | undefined;
  /** Set for `reset` alone. */
  readonly reset?: BulkReset | undefined;
  /** When the job began: `retry` and `answer` answer what was asked then, and nothing later. */
  readonly begunAtMs: number;
}

/** What is answered: the approvals of each workflow, by this name if one is given; or its question. */
export type BulkAnswer =
  | {
      readonly approved: boolean;
      readonly name?: string | undefined;
      readonly value?: Json | undefined;
      /** Under which names the person may answer; null: under any. */
      readonly names: readonly string[] | null;
    }
  | { readonly resolution: Resolution; readonly response?: Json | undefined };

/** Where each begins again, and what becomes of what it did since. */
export interface BulkReset {
  readonly effects: 'keep' | 'undo' | 'ask';
  readonly at?: number | 'last' | undefined;
  readonly before?: string | undefined;
  readonly version?: number | undefined;
}

/** The progress of a job. */
export interface BulkProgress {
  /** The last workflow of the finished pages; null: none is finished. */
  readonly after: { readonly openedAtMs: number; readonly workflow: string } | null;
  readonly doneCount: number;
  readonly refusedCount: number;
  /** The first workflows that refused. */
  readonly refused: readonly { readonly workflow: string; readonly code: string; readonly message: string }[];
}

/** What a job needs of the world outside itself. */
export interface BulkHost {
  search(query: WorkflowSearch): Promise<readonly WorkflowListing[]>;
  /** Throws what the client throws. `key` identifies a signal, and a reset. */
  act(workflow: WorkflowId, input: BulkInput, key: string): Promise<void>;
}

const NOTHING_DONE: BulkProgress = { after: null, doneCount: 0, refusedCount: 0, refused: [] };
const pageTask: TaskRequest = { step: 'page', input: null };

export const bulkDefinition = (host: BulkHost): Definition => ({
  ...OWN_DEFINITION,
  name: BULK_DEFINITION,
  version: 1,
  begin: () => ({ belief: NOTHING_DONE, next: [pageTask] }),
  steps: new Map([['page', ownStep('page', ['page'], { attempts: 50 }, (ctx) => page(host, ctx))]]),
});

async function page(host: BulkHost, ctx: StepContext): Promise<StepResult> {
  const input = ctx.input as unknown as BulkInput;
  const before = ctx.belief as unknown as BulkProgress;
  const { after } = before;
  const found = await host.search({
    ...input.filter,
    ...(after !== null && { after: { ...after, workflow: after.workflow as WorkflowId } }),
    limit: BULK_PAGE_COUNT,
  });
  let progress = before;
  const meant = found.filter((row) => isMeant(input.filter, row));
  for (let at = 0; at < meant.length; at += BULK_AT_ONCE_COUNT) {
    ctx.signal.throwIfAborted();
    const some = meant.slice(at, at + BULK_AT_ONCE_COUNT);
    const refusals = await Promise.all(some.map((row) => actOn(host, ctx.workflow, input, row)));
    progress = counted(progress, refusals);
  }
  const last = found.at(-1);
  if (last !== undefined) {
    progress = { ...progress, after: { openedAtMs: last.openedAtMs, workflow: last.workflow } };
  }
  const lastAction = `${progress.doneCount} done, ${progress.refusedCount} refused`;
  if (found.length < BULK_PAGE_COUNT) return { belief: () => progress, done: progress, lastAction };
  return { belief: () => progress, next: [pageTask], lastAction };
}

/** Whether the job acts on the workflow. The workflows of schedules and undos are the system's: only a filter that names one includes it. */
export function isMeant(
  { definition, text }: BulkInput['filter'],
  row: Pick<WorkflowListing, 'workflow' | 'definition'>,
): boolean {
  const isDerived = [SCHEDULE_SUFFIX, UNDO_SUFFIX].some((suffix) => row.definition.endsWith(suffix));
  return !isDerived || definition === row.definition || text === row.workflow;
}

type Refusal = BulkProgress['refused'][number];

/** Acts on one workflow. Returns its refusal; null if it took the act. */
async function actOn(
  host: BulkHost,
  job: WorkflowId,
  input: BulkInput,
  { workflow, status }: WorkflowListing,
): Promise<Refusal | null> {
  // A run that supersedes or continues it is found by itself, if it is meant.
  if (input.act !== 'reset' && isClosed({ status })) {
    return { workflow, code: 'workflow-closed', message: `Workflow ${workflow} has ended: it is ${status}.` };
  }
  try {
    await host.act(workflow, input, `${job}:${workflow}`);
    return null;
  } catch (error) {
    // A failure of a server fails the page; a refusal concerns only its workflow.
    if (!(error instanceof TidemarkError) || !['ConflictError', 'InvalidError', 'LimitError'].includes(error.name))
      throw error;
    return { workflow, code: error.code, message: error.message };
  }
}

function counted(progress: BulkProgress, refusals: readonly (Refusal | null)[]): BulkProgress {
  const refused = refusals.filter((refusal) => refusal !== null);
  return {
    ...progress,
    doneCount: progress.doneCount + refusals.length - refused.length,
    refusedCount: progress.refusedCount + refused.length,
    refused: [...progress.refused, ...refused].slice(0, BULK_PROBLEMS_MAX_COUNT),
  };
}
