/** Owns bulk jobs on the caller's side: start one, read its progress. See bulk-definition.ts. */

import {
  type Controls,
  DEFAULT_TENANT,
  InvalidError,
  isSystemDefinition,
  jobId,
  type StreamStatus,
  SYSTEM_TENANT,
  streamFromJson,
  type TenantId,
  type WorkflowId,
} from '@tidemark/core';
import type { ProjectionStore, WorkflowListing, WorkflowSummary } from '@tidemark/ports';
import {
  BULK_DEFINITION,
  BULK_PAGE_COUNT,
  type BulkHost,
  type BulkInput,
  type BulkProgress,
  bulkDefinition,
} from '../control/index.ts';
import { checkMeant, checkSignalName, type Definition } from '../definition/index.ts';
import { withContents } from '../history/index.ts';
import { askingOf, DECISION_EVENTS_MAX_COUNT } from '../inbox/index.ts';
import { BULK_ACTS, guardOf, type ListPlace, type Ports, pageOf, type SecretPorts } from '../kernel/index.ts';
import { checkedWorkflowId, checkName, checkText } from '../lease/index.ts';
import { type BulkCount, countMeant } from './bulk-count.ts';
import type { WorkflowCalls } from './workflow-calls.ts';

export interface BulkRequest extends Omit<BulkInput, 'begunAtMs'> {
  /** Within a tenant, the same id is the same job. */
  readonly id: string;
  /** Owner of the job; default: the tenant of the filter. */
  readonly tenant?: TenantId | undefined;
  /** Confirms that all workflows (of the filter's tenant) are meant; a filter that selects all of them is refused without it. */
  readonly everything?: boolean | undefined;
  /** What is known here: the signal is held to the policy on secrets of those that the filter can find. */
  readonly definitions?: readonly Definition[] | undefined;
}

export interface BulkQuery {
  readonly tenant?: TenantId | undefined;
  /** The page begins after this job. */
  readonly after?: ListPlace | undefined;
  readonly limit: number;
}

/** The state of a job: `open` while it runs. */
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

/** What a bulk job needs of a client. Signals are checked against the signals of these definitions. */
export function bulkHost(
  client: WorkflowCalls,
  store: Pick<ProjectionStore, 'search' | 'loadStreams' | 'events'>,
  definitions: readonly Definition[],
): BulkHost {
  return {
    search: (query) => store.search(query),
    async act(workflow, input, key) {
      const { act, by, why, signal, begunAtMs } = input;
      if (act === 'signal') return client.signal(workflow, signal!.name, signal!.value, { key, definitions });
      if (act === 'answer') return answerAll(client, store, workflow, input);
      if (act === 'reset') {
        await client.reset(workflow, { ...input.reset!, id: key, by, why, isExact: true, definitions });
        return;
      }
      if (act === 'retry') {
        await client.decide(workflow, { resolution: 'retry', by, why, openAtMs: begunAtMs });
        return;
      }
      await client[act](workflow, { by, why });
    },
  };
}

/** Answers what the workflow asked when the job began. Throws `InvalidError` (`not-asked`, `assignee-differs`), and what the client throws. */
async function answerAll(
  client: WorkflowCalls,
  store: Pick<ProjectionStore, 'loadStreams' | 'events'>,
  workflow: WorkflowId,
  { answer, by, why, begunAtMs }: BulkInput,
): Promise<void> {
  if (answer !== undefined && 'resolution' in answer) {
    await client.decide(workflow, { ...answer, by, why, openAtMs: begunAtMs });
    return;
  }
  const { approved, name, value, names } = answer!;
  const [stream] = await store.loadStreams([workflow], { payloads: false });
  const asking = [...(stream === undefined ? [] : streamFromJson(stream.state, stream.tasks).frontier.tasks)].filter(
    (task) => {
      const asked = askingOf(task);
      return asked !== undefined && asked.askedAtMs <= begunAtMs && (name === undefined || asked.name === name);
    },
  );
  if (asking.length === 0) {
    // The job did it, and died before it could say so.
    const events = await store.events(workflow, DECISION_EVENTS_MAX_COUNT);
    const isDone = events.some(({ type, control, atMs }) => {
      if (type !== 'ApprovalGiven' || atMs < begunAtMs) return false;
      const given = JSON.parse(control) as Controls['ApprovalGiven'];
      return given.by === by && given.approved === approved && (name === undefined || given.name === name);
    });
    if (isDone) return;
    throw new InvalidError(
      'not-asked',
      `Workflow ${workflow} asks for no approval${name === undefined ? '' : ` '${name}'`}.`,
    );
  }
  const admit = (assignee: string | null): void => {
    if (assignee === null || names === null || names.includes(assignee)) return;
    throw new InvalidError('assignee-differs', `Workflow ${workflow} asks ${assignee}, and not ${by}.`);
  };
  for (const { id } of asking) await client.approve(workflow, id, { approved, by, why, value, admit });
}

function refuseSystems({ definition = '' }: BulkInput['filter']): void {
  if (!isSystemDefinition(definition)) return;
  throw new InvalidError('definition-unknown', "definition: the system's own workflows can't be steered.");
}

/**
 * Holds to the strictest policy of the definitions that the filter names, or of all that are known where it names none, and of the
 * deployment: the job is stored before it is known whom it finds.
 */
function guardOfMeant({ definition }: BulkInput['filter'], definitions: readonly Definition[], ports: SecretPorts) {
  const meant = definitions.filter(({ name }) => definition === undefined || name === definition);
  return guardOf(BULK_DEFINITION, [{}, ...meant], ports);
}

/** Digits of the digest of a tenant's name: enough to keep tenants apart. */
const TENANT_DIGITS = 16;

export class Bulk {
  readonly #client: WorkflowCalls;
  readonly #store: Ports['store'];
  readonly #clock: Ports['clock'];
  readonly #digest: Ports['digest'];
  readonly #ports: SecretPorts;

  constructor(client: WorkflowCalls, ports: Pick<Ports, 'store' | 'clock' | 'digest'> & SecretPorts) {
    const { store, clock, digest } = ports;
    this.#ports = ports;
    this.#client = client;
    this.#store = store;
    this.#clock = clock;
    this.#digest = digest;
  }

  /**
   * Acts on all workflows that the filter finds, except those that open later, and schedules and undos that the filter doesn't name. The
   * same id is the same job. Throws `InvalidError`, which names the field, and what `Client.start` throws.
   */
  async start({
    id,
    tenant: owner,
    everything,
    definitions = [],
    ...input
  }: BulkRequest): Promise<{ readonly id: string; readonly created: boolean }> {
    checkedWorkflowId(id);
    checkName('by', input.by);
    checkText('why', input.why);
    if (!BULK_ACTS.includes(input.act))
      throw new InvalidError('act-invalid', `act: give one of ${BULK_ACTS.join(', ')}.`);
    if ((input.act === 'signal') !== (input.signal !== null)) {
      throw new InvalidError('signal-invalid', "signal: give it for the act 'signal', and only for that one.");
    }
    for (const act of ['answer', 'reset'] as const) {
      if ((input.act === act) === (input[act] !== undefined)) continue;
      throw new InvalidError(`${act}-invalid`, `${act}: give it for the act '${act}', and only for that one.`);
    }
    if (input.signal !== null) checkSignalName(input.signal.name);
    refuseSystems(input.filter);
    checkMeant(input.filter, everything);
    // What the job says to workflows is held to the policy with its input.
    const { by, filter } = input;
    const meant = guardOfMeant(filter, definitions, this.#ports);
    const signal = input.signal && { ...input.signal, value: meant.take('signal', 'signal', input.signal.value) };
    const answer = input.answer && meant.take('decision', 'answer', input.answer);
    guardOf(BULK_DEFINITION, [], this.#ports).names('job', { id, by, filter, signal: signal?.name ?? null });
    // Bounds the job's own filter, so that it never finds workflows that open later, however long it runs.
    const begunAtMs = this.#clock.nowMs();
    const openedToMs = Math.min(input.filter.openedToMs ?? Number.POSITIVE_INFINITY, begunAtMs);
    const asked = {
      ...input,
      signal,
      ...(answer !== undefined && { answer }),
      filter: { ...input.filter, openedToMs },
      begunAtMs,
    };
    const tenant = owner ?? input.filter.tenant ?? DEFAULT_TENANT;
    const definition = bulkDefinition(bulkHost(this.#client, this.#store, []));
    const run = await this.#client.startDerived(definition, asked, { id: this.workflowOf(id, tenant), tenant });
    return { id, created: run.created };
  }

  /** Counts what a job with this filter would find now, up to `maxCount`, and names the newest `shownCount`. Throws `InvalidError` (`definition-unknown`). */
  async count(filter: BulkInput['filter'], maxCount: number, shownCount?: number): Promise<BulkCount> {
    refuseSystems(filter);
    return countMeant(this.#store, filter, maxCount, shownCount);
  }

  /**
   * The tenant's job. Null: the owner is unknown, and a job over all tenants comes first. Undefined: no job has the id, or rows don't know
   * it yet. Throws `InvalidError` (`job-ambiguous`): several tenants have a job of that id.
   */
  async get(id: string, tenant: TenantId | null = null): Promise<BulkJob | undefined> {
    const row = await this.#row(id, tenant);
    const [job] = row === undefined ? [] : await this.#jobs([row]);
    return job;
  }

  /**
   * Cancels the job; what it has done stays done. Throws `InvalidError` (`job-unknown`, `job-ambiguous`), and what `Client.cancel` throws.
   */
  async cancel(
    id: string,
    asked: { readonly by: string; readonly why: string },
    tenant: TenantId | null = null,
  ): Promise<{ readonly changed: boolean }> {
    const row = await this.#row(id, tenant);
    if (row === undefined) throw new InvalidError('job-unknown', `No job has the id '${id}'.`);
    return this.#client.cancel(row.workflow, asked);
  }

  /** Newest first. */
  async list(query: BulkQuery): Promise<readonly BulkJob[]> {
    return (await this.page(query)).jobs;
  }

  /** The same with the place of the next page; null: there is none. */
  async page({
    tenant,
    after,
    limit,
  }: BulkQuery): Promise<{ readonly jobs: readonly BulkJob[]; readonly next: ListPlace | null }> {
    const { rows, next } = await pageOf(this.#store, { definition: BULK_DEFINITION, tenant, after, limit });
    return { jobs: await this.#jobs(rows), next };
  }

  /** The workflow that runs the job. Tenants may use the same ids for their jobs. */
  workflowOf(id: string, tenant: TenantId): WorkflowId {
    return jobId(this.#digest.sha256(tenant).slice(0, TENANT_DIGITS), id);
  }

  async #row(id: string, tenant: TenantId | null): Promise<WorkflowSummary | undefined> {
    const own = await this.#store.workflow(this.workflowOf(id, tenant ?? SYSTEM_TENANT));
    if (own !== undefined || tenant !== null) return own;
    const [one, other] = await this.#named(id);
    if (other === undefined) return one === undefined ? undefined : this.#store.workflow(one.workflow);
    throw new InvalidError('job-ambiguous', `Several tenants have a job with the id '${id}': name the tenant.`);
  }

  /** Jobs of any tenant with this id; at most two, which is enough to see that the id is ambiguous. */
  async #named(id: string): Promise<readonly WorkflowListing[]> {
    const found: WorkflowListing[] = [];
    for (let after: WorkflowListing | undefined; found.length < 2; ) {
      const query = { definition: BULK_DEFINITION, text: id, limit: BULK_PAGE_COUNT };
      const page = await this.#store.search({ ...query, ...(after !== undefined && { after }) });
      found.push(...page.filter(({ workflow, tenant }) => workflow === this.workflowOf(id, tenant)));
      after = page.at(-1);
      if (page.length < BULK_PAGE_COUNT) break;
    }
    return found;
  }

  #idOf({ workflow, tenant }: WorkflowSummary): string {
    return workflow.slice(this.workflowOf('', tenant).length);
  }

  async #jobs(rows: readonly WorkflowSummary[]): Promise<readonly BulkJob[]> {
    return (await withContents(this.#store, rows)).map(({ row, content }) => {
      const { act, by, why } = content.input as unknown as BulkInput;
      const { after: _, ...progress } = content.belief as unknown as BulkProgress;
      const { tenant, status, reason, openedAtMs } = row;
      return { id: this.#idOf(row), tenant, status, reason, act, by, why, openedAtMs, ...progress };
    });
  }
}
