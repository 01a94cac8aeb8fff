/** Owns jobs that do one thing to many workflows, from the caller's side: begin one, say how far it is. See bulk-definition.ts. */

import {
  DEFAULT_TENANT,
  InvalidError,
  isSystemDefinition,
  type StreamStatus,
  type TenantId,
  workflowId,
} from '@tidemark/core';
import type { ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import {
  BULK_ACTS,
  BULK_DEFINITION,
  type BulkHost,
  type BulkInput,
  type BulkProgress,
  bulkDefinition,
} from './bulk-definition.ts';
import type { Client } from './client.ts';
import { checkName, checkText } from './decision-checks.ts';
import type { Ports } from './ports.ts';
import { withContents } from './workflow-contents.ts';

export interface BulkRequest extends BulkInput {
  /** The same id is the same job. */
  readonly id: string;
  /** Whose job it is; by default that of the filter. */
  readonly tenant?: TenantId | undefined;
}

/** How a job stands: `open` while it works. */
export interface BulkJob extends Omit<BulkProgress, 'after'> {
  readonly id: string;
  readonly tenant: TenantId;
  readonly status: StreamStatus;
  readonly reason: string | null;
  readonly act: BulkInput['act'];
  readonly by: string;
  readonly why: string;
  readonly openedAtMs: number;
}

const PREFIX = 'job:';

/** What a caller's client gives a job to work with. */
export function bulkHost(client: Client, store: Pick<ProjectionStore, 'search'>): BulkHost {
  return {
    search: (query) => store.search(query),
    async act(workflow, { act, by, why, signal }, key) {
      if (act === 'signal') return client.signal(workflow, signal!.name, signal!.value, { key });
      if (act === 'retry') return void (await client.decide(workflow, { resolution: 'retry', by, why }));
      await client[act](workflow, { by, why });
    },
  };
}

export class Bulk {
  readonly #client: Client;
  readonly #store: Ports['store'];
  readonly #clock: Ports['clock'];

  constructor(client: Client, { store, clock }: Pick<Ports, 'store' | 'clock'>) {
    this.#client = client;
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Does it to all workflows that the filter finds, those that are opened later not among them, nor schedules and undos that it doesn't name; the same id is the same job. Throws
   * `InvalidError` that names the field, and as `Client.start` does.
   */
  async start({
    id,
    tenant: owner,
    ...input
  }: BulkRequest): Promise<{ readonly id: string; readonly created: boolean }> {
    checkName('id', id);
    checkName('by', input.by);
    checkText('why', input.why);
    if (!BULK_ACTS.includes(input.act))
      throw new InvalidError('act-invalid', `act: give one of ${BULK_ACTS.join(', ')}.`);
    if ((input.act === 'signal') !== (input.signal !== null)) {
      throw new InvalidError('signal-invalid', "signal: give it for the act 'signal', and only for that one.");
    }
    if (isSystemDefinition(input.filter.definition ?? '')) {
      throw new InvalidError('definition-unknown', "definition: those of the system's own are nobody's to steer.");
    }
    // Its own: however often it looks, what is opened later is not found.
    const openedToMs = Math.min(input.filter.openedToMs ?? Number.POSITIVE_INFINITY, this.#clock.nowMs());
    const asked = { ...input, filter: { ...input.filter, openedToMs } };
    const tenant = owner ?? input.filter.tenant ?? DEFAULT_TENANT;
    const definition = bulkDefinition(bulkHost(this.#client, this.#store));
    const run = await this.#client.start(definition, asked, { id: `${PREFIX}${id}`, tenant });
    return { id, created: run.created };
  }

  /** Undefined: no job has the id (or rows don't know it yet). */
  async get(id: string): Promise<BulkJob | undefined> {
    const workflow = workflowId(`${PREFIX}${id}`);
    const row = await this.#store.workflow(workflow);
    if (row?.definition !== BULK_DEFINITION) return undefined;
    const [job] = await this.#jobs([row]);
    return job;
  }

  /** What it has done stays done. Throws as `Client.cancel` does. */
  async cancel(
    id: string,
    asked: { readonly by: string; readonly why: string },
  ): Promise<{ readonly changed: boolean }> {
    return this.#client.cancel(workflowId(`${PREFIX}${id}`), asked);
  }

  /** The newest first. */
  async list({
    tenant,
    limit,
  }: {
    readonly tenant?: TenantId | undefined;
    readonly limit: number;
  }): Promise<readonly BulkJob[]> {
    return this.#jobs(
      await this.#store.workflows({ definition: BULK_DEFINITION, limit, ...(tenant !== undefined && { tenant }) }),
    );
  }

  async #jobs(rows: readonly WorkflowSummary[]): Promise<readonly BulkJob[]> {
    return (await withContents(this.#store, rows)).map(({ row, content }) => {
      const { act, by, why } = content.input as unknown as BulkInput;
      const { after: _, ...progress } = content.belief as unknown as BulkProgress;
      const { tenant, status, reason, openedAtMs } = row;
      return { id: row.workflow.slice(PREFIX.length), tenant, status, reason, act, by, why, openedAtMs, ...progress };
    });
  }
}
