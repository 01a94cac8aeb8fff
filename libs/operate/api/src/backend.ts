/**
 * Owns what routes work on: the ports and client of the serving process, and the checks that each of them must make of a workflow before it
 * reveals anything. Must not know HTTP.
 */

import { AccessRecords, refuseSystems } from '@tidemark/access';
import {
  InvalidError,
  isSystemDefinition,
  keepLast,
  type TenantId,
  tenantId,
  UnavailableError,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import type { AccessChanged, Principal, ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import {
  type Client,
  type Definition,
  type Demand,
  type EffectDefinition,
  maskedStore,
  overridden,
  type Ports,
  type Worker,
  workflowStarting,
} from '@tidemark/runtime';
import { clearReads } from './clear-reads.ts';
import { WhatIsThere } from './there.ts';

/** Time for which a started workflow that rows don't know yet is polled for, in milliseconds; the pause between two polls, which doubles, and its longest. */
export const STARTED_GRACE_MS = 5_000;
const STARTED_POLL_MS = 5;
const STARTED_POLL_MAX_MS = 80;
/** Workflows whose tenants are remembered, the last requested ones. */
const TENANTS_KEPT_MAX_COUNT = 10_000;

/** A process that serves the API: an embedded folder, or a coordinator of a cluster. */
export interface ServingProcess {
  readonly ports: Ports;
  readonly client: Client;
  /** The coordinator's, if one runs in this process. */
  readonly demand?: Demand | undefined;
  /** No other process can be running workflows there: a lease in its rows is a dead process's. */
  readonly isIdle?: boolean | undefined;
  /** Checkpoints that a worker of this process has staged: nobody else knows of them before the log has them. */
  readonly pendingCheckpoints?: Worker['pendingCheckpoints'] | undefined;
  /** The command that holds a folder; absent: state is in no folder. */
  readonly holder?: { readonly pid: number; readonly command: string } | undefined;
}

export class Backend {
  readonly ports: Ports;
  readonly client: Client;
  /**
   * Views of `ports.store`, from the outside in: `clearReads` (removes content, for callers who may not see it) → `maskedStore` (masks
   * secret fields) → the views of the host's `viewsOver`.
   */
  readonly reads: ProjectionStore;
  /** Who is let in. */
  readonly access: AccessRecords;
  readonly #definitions: DefinitionSource;
  /** For callers who may not see content. */
  readonly #clear: Backend;
  readonly #place: ServingProcess;
  /** Tenants of workflows that were looked up lately. */
  readonly #tenants = new Map<string, TenantId>();
  readonly whatIsThere = new WhatIsThere();
  readonly #leaving = new AbortController();

  /** `onAccessChanged` is called for what must count here at once. */
  constructor(
    place: ServingProcess,
    definitions: readonly Definition[] | DefinitionSource,
    onAccessChanged?: (changed: AccessChanged) => void,
  ) {
    const { ports, client } = place;
    this.#place = place;
    this.ports = ports;
    this.client = client;
    this.reads = maskedStore(ports.store);
    this.#clear = overridden<Backend>(this, { reads: clearReads(this.reads) });
    const { store, clock, digest } = ports;
    this.access = new AccessRecords({ memory: client.memory, store, clock, digest, onChanged: onAccessChanged });
    this.#definitions = 'all' in definitions ? definitions : { all: definitions };
  }

  /** From now on nobody is to wait for what may come: callers ask again, elsewhere. */
  leave(): void {
    this.#leaving.abort();
  }

  /** Aborts when the server is about to close. */
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  /** As it is for a caller who may see content, or not. */
  forCaller(showsContent: boolean): Backend {
    return showsContent ? this : this.#clear;
  }

  /** Demand for each pool of workers. Throws `UnavailableError` (`demand-unknown`). */
  get demand(): Demand {
    const { demand } = this.#place;
    if (demand !== undefined) return demand;
    throw new UnavailableError('demand-unknown', 'No coordinator runs in this process: send the request to one.');
  }

  /** The limits for which they wait; none where no coordinator runs in this process. */
  limited(workflows: readonly WorkflowId[]): ReturnType<Demand['limited']> {
    return this.#place.demand?.limited(workflows) ?? new Map();
  }

  pendingCheckpoints(workflow: WorkflowId): ReturnType<Worker['pendingCheckpoints']> {
    return this.#place.pendingCheckpoints?.(workflow) ?? [];
  }

  get isIdle(): boolean {
    return this.#place.isIdle === true;
  }

  get holder(): ServingProcess['holder'] {
    return this.#place.holder;
  }

  /** Workflows that can be started here by name, the newest version of each first. */
  get definitions(): readonly Definition[] {
    return this.#definitions.all;
  }

  /**
   * The newest version; of those that are registered, one that a worker runs now, where there is any: after a rollback it is an older one. A
   * name that isn't known here is looked for once more. Throws `InvalidError` (`definition-unknown`).
   */
  async definitionNamed(name: string): Promise<Definition> {
    const named = (all: readonly Definition[]) => all.filter((definition) => definition.name === name);
    const here = named(this.definitions);
    const versions = here.length > 0 ? here : named((await this.#definitions.read?.()) ?? []);
    const [newest] = versions;
    if (newest === undefined) throw this.#unknownDefinition(name);
    if (newest.isRegistered !== true) return newest;
    const served = (await this.whatIsThere.found(this).catch(() => undefined))?.versions(name);
    return versions.find(({ version }) => served?.has(version)) ?? newest;
  }

  #unknownDefinition(name: string): InvalidError {
    const known = [...new Set(this.definitions.map((definition) => definition.name))].sort();
    const list = known.length === 0 ? 'no worker has registered one' : `known: ${known.join(', ')}`;
    return new InvalidError(
      'definition-unknown',
      `definition: no workflow is named '${name.slice(0, 200)}' here; ${list}.`,
    );
  }

  get effects(): readonly EffectDefinition[] {
    return this.definitions.flatMap(({ effects }) => effects);
  }

  /**
   * R1. Throws `InvalidError` (`workflow-unknown`), alike for a missing workflow and for one of another tenant or the system itself;
   * `UnavailableError` (`workflow-starting`): it was started, and rows don't show it in time.
   */
  async find(principal: Principal, id: string): Promise<WorkflowSummary> {
    const row = (await this.reads.workflow(workflowId(id))) ?? (await this.starting(principal, workflowId(id)));
    if (row === undefined || !maySee(principal, row.tenant) || isSystemDefinition(row.definition))
      throw unknownWorkflow(id);
    keepLast(this.#tenants, id, row.tenant, TENANTS_KEPT_MAX_COUNT);
    return row;
  }

  /** Notes the tenant of a workflow that was started here. */
  started(id: WorkflowId, tenant: TenantId): void {
    keepLast(this.#tenants, id, tenant, TENANTS_KEPT_MAX_COUNT);
  }

  /** Tenant of a workflow that was found or started here lately; reads no rows. */
  readonly tenantOf = (id: string): TenantId | undefined => this.#tenants.get(id);

  /** Waits for a workflow that is placed, wherever it was started, and not in rows yet. One that was never placed costs only this read. */
  async starting(principal: Principal, id: WorkflowId): Promise<WorkflowSummary | undefined> {
    const { clock, store } = this.ports;
    const placed = await store.placed(id);
    if (placed === undefined || !maySee(principal, placed.tenant)) return undefined;
    const endMs = clock.monotonicMs() + STARTED_GRACE_MS;
    for (let pauseMs = STARTED_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, STARTED_POLL_MAX_MS)) {
      const row = await this.reads.workflow(id);
      if (row !== undefined) return row;
      if (clock.monotonicMs() >= endMs) throw workflowStarting(id);
      await clock.sleep(pauseMs);
    }
  }

  /** The same where the row itself isn't needed. */
  async check(principal: Principal, id: string): Promise<WorkflowId> {
    return (await this.find(principal, id)).workflow;
  }
}

/** Where definitions come from: those that are loaded here, or those that workers have registered. */
export interface DefinitionSource {
  /** As known now, the newest version of each first. */
  readonly all: readonly Definition[];
  /** Reads them anew; absent: they don't change. */
  read?(): Promise<readonly Definition[]>;
}

export const maySee = ({ tenant }: Principal, of: TenantId): boolean => tenant === null || tenant === of;

export const unknownWorkflow = (id: string): InvalidError =>
  new InvalidError('workflow-unknown', `No workflow has the id '${id.slice(0, 200)}'.`);

/** The requested tenant: the principal's own, or the named one for a caller of all tenants. Throws `InvalidError` (`tenant-unknown`). */
export function tenantFor<T extends TenantId | undefined>(
  principal: Principal,
  named: string | undefined,
  otherwise: T,
): TenantId | T {
  if (principal.tenant === null) return named === undefined ? otherwise : tenantId(named);
  if (named === undefined || named === principal.tenant) return principal.tenant;
  throw new InvalidError('tenant-unknown', `tenant: you have no access to a tenant '${named.slice(0, 200)}'.`);
}

/** The same for changes, which no caller may make in a tenant of the system's own. Throws `InvalidError` (`tenant-invalid`) besides. */
export function tenantToChange<T extends TenantId | undefined>(
  principal: Principal,
  named: string | undefined,
  otherwise: T,
): TenantId | T {
  if (named !== undefined) refuseSystems(named);
  return tenantFor(principal, named, otherwise);
}
