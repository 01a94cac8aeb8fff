/**
 * Owns forgetting a workflow or a user for good: their data keys are destroyed, what is found by words goes with them, and a certificate
 * stays. The certificate is written before, naming the keys, and again once they are gone, so that one that dies in between is seen and
 * can be asked for again. Must not delete records: what is sealed says nothing any more.
 */

import { ConflictError, InvalidError, type Json, type TenantId, type WorkflowId } from '@tidemark/core';
import { userSubject } from '@tidemark/memory';
import type { KeyFilter, KeyStore, MemoryRow, ProjectionStore } from '@tidemark/ports';
import type { ClientMemory } from './client-memory.ts';
import type { DataKeys } from './data-keys.ts';
import { checkName } from './decision-checks.ts';
import { FORGET_PAGE_COUNT, FORKS_READ_MAX_COUNT } from './limits.ts';

export interface ForgetRequest {
  readonly tenant: TenantId;
  /** One of the two. */
  readonly workflow?: WorkflowId | undefined;
  readonly user?: string | undefined;
  readonly by: string;
  readonly why: string;
}

/** What proves it: kept as an event of the tenant's, with everything but what was forgotten. */
export interface ForgetCertificate {
  /** `workflow:…` or `user:…`. */
  readonly of: string;
  readonly state: 'ordered' | 'destroyed';
  readonly keys: readonly string[];
  readonly memoryCount: number;
  readonly by: string;
  readonly why: string;
  readonly at: string;
}

export interface ForgettingOptions {
  readonly store: Pick<ProjectionStore, 'workflow' | 'memories' | 'forksOf'>;
  readonly keys: DataKeys;
  readonly keyStore: Pick<KeyStore, 'list'>;
  readonly memory: Pick<ClientMemory, 'remember' | 'certify'>;
  readonly now: () => string;
}

/**
 * Throws `InvalidError` (`forget-invalid`, `workflow-unknown`), `ConflictError` (`workflow-open`, `workflow-forked`: forks share its
 * history, and are to be forgotten first), and as keys and memory do.
 */
export async function forget(options: ForgettingOptions, request: ForgetRequest): Promise<ForgetCertificate> {
  const { tenant, by, why } = request;
  const filter = await filterOf(options, request);
  checkName('by', by);
  if (why.trim() === '') throw invalid('why', 'say why, it is kept with the certificate');
  const keys: string[] = [];
  for await (const { id } of options.keyStore.list(filter)) keys.push(id);
  const of = request.workflow === undefined ? `user:${request.user}` : `workflow:${request.workflow}`;
  const memories = request.user === undefined ? [] : await memoriesOf(options, tenant, request.user);
  const certificate = { of, keys, memoryCount: memories.length, by, why };
  const ordered: ForgetCertificate = { ...certificate, state: 'ordered', at: options.now() };
  await options.memory.certify(tenant, of, ordered as unknown as Json);
  for (let at = 0; at < memories.length; at += FORGET_PAGE_COUNT) {
    const page = memories.slice(at, at + FORGET_PAGE_COUNT);
    await options.memory.remember(
      page.map(({ subject, kind, key }) => ({ subject, kind, key, source: 'forgetting' })),
      { tenant },
    );
  }
  await options.keys.destroy(filter);
  const destroyed: ForgetCertificate = { ...certificate, state: 'destroyed', at: options.now() };
  await options.memory.certify(tenant, of, destroyed as unknown as Json);
  return destroyed;
}

async function filterOf(options: ForgettingOptions, { tenant, workflow, user }: ForgetRequest): Promise<KeyFilter> {
  const { store } = options;
  if ((workflow === undefined) === (user === undefined)) throw invalid('workflow, user', 'name one of the two');
  if (workflow === undefined) return { tenant, user: user! };
  const row = await store.workflow(workflow);
  if (row === undefined || row.tenant !== tenant) {
    throw new InvalidError('workflow-unknown', `Tenant ${tenant} has no workflow ${workflow}.`, { workflow });
  }
  if (row.closedInGeneration === null) {
    throw new ConflictError(
      'workflow-open',
      `Workflow ${workflow} goes on: what it would write next has a key again. End it first.`,
      { workflow },
    );
  }
  await refuseForked(options, tenant, workflow);
  return { tenant, workflow };
}

/** A fork reads what it shares, and holds what it began with. One whose own key is gone needs nothing any more. */
async function refuseForked({ store, keyStore }: ForgettingOptions, tenant: TenantId, workflow: WorkflowId) {
  const left: WorkflowId[] = [];
  for (const fork of await store.forksOf(workflow, FORKS_READ_MAX_COUNT)) {
    for await (const _ of keyStore.list({ tenant, workflow: fork })) {
      left.push(fork);
      break;
    }
  }
  if (left.length === 0) return;
  throw new ConflictError(
    'workflow-forked',
    `Workflow ${workflow} has forks that share its history: ${left.join(', ')}. Forget those first.`,
    { workflow, forks: left },
  );
}

/** All that is remembered of a user, page by page. */
async function memoriesOf({ store }: ForgettingOptions, tenant: TenantId, user: string): Promise<readonly MemoryRow[]> {
  const found: MemoryRow[] = [];
  for (let after: MemoryRow | undefined; ; ) {
    const query = { tenant, subject: userSubject(user), limit: FORGET_PAGE_COUNT };
    const page = await store.memories({ ...query, ...(after !== undefined && { after }) });
    // A budget is no memory of the user's.
    found.push(...page.filter(({ kind, key }) => kind !== 'record' || key !== 'budget'));
    after = page.at(-1);
    if (page.length < FORGET_PAGE_COUNT) return found;
  }
}

const invalid = (field: string, remedy: string): InvalidError =>
  new InvalidError('forget-invalid', `${field}: ${remedy}.`, { field });
