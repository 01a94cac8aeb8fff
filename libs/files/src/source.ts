/** Owns reading a run from rows, whoever has them: a store, or the command line's desk. Must not interpret what it reads. */

import { DEFAULT_TENANT, LimitError, type Sequence, type TenantId, workflowId } from '@tidemark/core';
import type { CheckpointRow, ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import {
  CHECKPOINTS_MAX_COUNT,
  CHECKPOINTS_PAGE_COUNT,
  EVENTS_READ_MAX_COUNT,
  RUNS_LOOKED_BACK_COUNT,
  TASKS_READ_MAX_COUNT,
} from './limits.ts';
import { type RunView, runView } from './run-view.ts';

/** The rows that the files are made of. */
export type FilesSource = Pick<ProjectionStore, 'workflow' | 'workflows' | 'checkpoints' | 'events' | 'tasks'>;

/** Which run is shown: one by its id, or always the newest of a tenant's workflow by its name. */
export type Shown =
  | { readonly workflow: string }
  /** `tenant`: default, the default one. */
  | { readonly definition: string; readonly tenant?: TenantId | undefined };

export class RunReader {
  readonly #source: FilesSource;
  readonly #stepNames: readonly string[] | undefined;
  /** Checkpoints never change: each is read once. */
  readonly #read = new Map<string, CheckpointRow[]>();

  constructor(source: FilesSource, stepNames?: readonly string[]) {
    this.#source = source;
    this.#stepNames = stepNames;
  }

  /** The run to show now; undefined while there is none. */
  async newest(shown: Shown): Promise<WorkflowSummary | undefined> {
    if ('workflow' in shown) return this.#source.workflow(workflowId(shown.workflow));
    const { definition, tenant = DEFAULT_TENANT } = shown;
    const [row] = await this.#source.workflows({ definition, tenant, limit: 1 });
    return row;
  }

  /** Throws `LimitError` (`run-too-long`). */
  async view(row: WorkflowSummary): Promise<RunView> {
    const checkpoints = await this.#checkpoints(row);
    const events = await this.#source.events(row.workflow, EVENTS_READ_MAX_COUNT);
    const tasks = await this.#source.tasks(row.workflow, TASKS_READ_MAX_COUNT);
    return runView({ row, checkpoints, events, tasks, stepNames: this.#stepNames });
  }

  /** The newest run of the tenant's definition that succeeded. */
  async lastSuccess(definition: string, tenant: TenantId): Promise<RunView | undefined> {
    const query = { definition, tenant, status: 'completed', limit: RUNS_LOOKED_BACK_COUNT } as const;
    for (const row of await this.#source.workflows(query)) {
      const view = await this.view(row);
      if (view.status === 'completed') return view;
    }
    return undefined;
  }

  async #checkpoints(row: WorkflowSummary): Promise<readonly CheckpointRow[]> {
    if (row.sequence > CHECKPOINTS_MAX_COUNT) {
      const message = `${row.workflow} has ${row.sequence} checkpoints; at most ${CHECKPOINTS_MAX_COUNT} are shown as files.`;
      throw new LimitError('run-too-long', message, { workflow: row.workflow });
    }
    const known = this.#read.get(row.workflow) ?? [];
    // One run is followed at a time; the others were looked at once.
    if (!this.#read.has(row.workflow)) this.#read.clear();
    this.#read.set(row.workflow, known);
    while (known.length < row.sequence) {
      const from = (known.length + 1) as Sequence;
      const page = await this.#source.checkpoints(row.workflow, { from, limit: CHECKPOINTS_PAGE_COUNT });
      if (page.length === 0) break;
      known.push(...page);
    }
    return known.slice(0, row.sequence);
  }
}
