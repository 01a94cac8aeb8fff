/**
 * Owns the forgetting of a workflow or a user for good: it destroys their data keys and searchable words, and leaves a certificate. The
 * certificate is written first, with the keys to destroy, and again once they are gone, so an interrupted forgetting is visible and can be
 * repeated. It deletes no records: without their keys they are unreadable.
 *
 * F1 A workflow is forgotten with its undos. A user is forgotten with their workflows and the undos of these, the stream of their memories,
 *    and the streams of their sessions. They are found by owner, not only by the owner recorded with each key, because keys may have none.
 * F2 Nothing is forgotten while one of the workflows is open, because its next write would create a new key.
 * F3 The last certificate names every destroyed key, across all attempts.
 * F4 Entries that the workflows wrote into any subject's memory are deleted too, because they are searched by words in clear. They are also
 *    scrubbed from the files of the tables, or the certificate names the tables that may still have their bytes.
 */

import {
  ConflictError,
  InvalidError,
  type Json,
  type TenantId,
  UnavailableError,
  undoId,
  type WorkflowId,
} from '@tidemark/core';
import { userSubject } from '@tidemark/memory';
import type { KeyStore, MemoryName, MemoryRow, ProjectionStore, UnscrubbedTable } from '@tidemark/ports';
import { memoryWorkflow, sessionSubject } from '../agent/index.ts';
import type { DataKeys } from '../encryption/index.ts';
import { BUDGET_ENTRY, sha256Digest } from '../kernel/index.ts';
import { COMPENSATION_DEPTH_MAX, checkName, depthOf } from '../lease/index.ts';
import type { ClientMemory, OutlastingEntry } from './client-memory.ts';

/** Open workflows that the error names when they keep a user from being forgotten; further ones are counted. */
const FORGET_OPEN_REPORTED_MAX = 20;
/** Workflows of a user that one page reads. */
const FORGET_WORKFLOWS_PAGE_COUNT = 500;
/** Memories that one page of a forgetting reads and writes. */
const FORGET_PAGE_COUNT = 50;
/** Forks of one workflow that are checked before it is forgotten. */
const FORKS_READ_MAX_COUNT = 10_000;

export interface ForgetRequest {
  readonly tenant: TenantId;
  /** Exactly one of `workflow` and `user`. */
  readonly workflow?: WorkflowId | undefined;
  readonly user?: string | undefined;
  readonly by: string;
  readonly why: string;
}

/** The proof of a forgetting: an event of the tenant, with everything except what was forgotten. */
export interface ForgetCertificate {
  /** `workflow:…` or `user:…`. */
  readonly of: string;
  readonly state: 'ordered' | 'destroyed';
  readonly keys: readonly string[];
  readonly memoryCount: number;
  readonly by: string;
  readonly why: string;
  readonly at: string;
  /** When destroyed: tables whose files may still have words of deleted memories, or wrapped keys. */
  readonly leftIn?: readonly UnscrubbedTable[];
}

export interface ForgettingOptions {
  readonly store: Pick<
    ProjectionStore,
    'ready' | 'workflow' | 'userWorkflows' | 'memories' | 'memoriesWrittenBy' | 'forksOf' | 'scrub'
  >;
  readonly keys: Pick<DataKeys, 'destroyAll'>;
  readonly keyStore: Pick<KeyStore, 'list'>;
  readonly memory: Pick<ClientMemory, 'outlast' | 'certify' | 'certificates' | 'caughtUp'>;
  readonly now: () => string;
}

/** The extent of a forgetting. */
interface Found {
  readonly of: string;
  readonly keys: ReadonlySet<string>;
  /** Subjects whose memories are deleted. */
  readonly subjects: readonly string[];
  /** Workflows whose memories are deleted, whatever their subject (F4). */
  readonly writers: readonly WorkflowId[];
  /** Whether any workflow, stream or key of it exists or existed. */
  readonly isKnown: boolean;
}

/**
 * Throws `InvalidError` (`forget-invalid`, `workflow-unknown`, `user-unknown`: nothing is known of the user), `ConflictError`
 * (`workflow-open`; `workflow-forked`: forks share its history, and must be forgotten first), `UnavailableError` (`store-rebuilding`), and
 * what keys and memory throw.
 */
export async function forget(options: ForgettingOptions, request: ForgetRequest): Promise<ForgetCertificate> {
  const { tenant, by, why, workflow, user } = request;
  const { memory, keys, store } = options;
  if ((workflow === undefined) === (user === undefined)) throw invalid('workflow, user', 'name one of the two');
  checkName('by', by);
  if (why.trim() === '') throw invalid('why', 'say why, it is kept with the certificate');
  if (!(await store.ready())) throw rebuilding();
  // F2 goes for what was started a moment ago.
  await memory.caughtUp();
  const found = user === undefined ? await ofWorkflow(options, tenant, workflow!) : await ofUser(options, tenant, user);
  const entries = await entriesOf(options, tenant, found);
  if (user !== undefined) await refuseUnknown(options, tenant, user, found.isKnown || entries.length > 0);
  const before = await certifiedBefore(options, tenant, found.of);
  const certificate = {
    of: found.of,
    keys: [...new Set([...(before?.keys ?? []), ...found.keys])],
    memoryCount: Math.max(before?.memoryCount ?? 0, entries.filter(({ value }) => value === undefined).length),
    by,
    why,
  };
  const ordered: ForgetCertificate = { ...certificate, state: 'ordered', at: options.now() };
  await memory.certify(tenant, found.of, ordered as unknown as Json);
  await takeOut(options, tenant, entries);
  await keys.destroyAll(certificate.keys);
  // Deletes entries that came meanwhile: their key is gone, but their words are in clear.
  const late = await entriesOf(options, tenant, found);
  await takeOut(
    options,
    tenant,
    late.filter(({ value }) => value === undefined),
  );
  const leftIn = await store.scrub();
  const destroyed: ForgetCertificate = { ...certificate, state: 'destroyed', at: options.now(), leftIn };
  await memory.certify(tenant, found.of, destroyed as unknown as Json);
  return destroyed;
}

/** The certificate of an earlier attempt, which may have died after destroying some of its keys. */
async function certifiedBefore({ memory }: ForgettingOptions, tenant: TenantId, of: string) {
  const known = (await memory.certificates(tenant)) as unknown as readonly ForgetCertificate[];
  return known.find((certificate) => certificate.of === of);
}

async function ofWorkflow(options: ForgettingOptions, tenant: TenantId, workflow: WorkflowId): Promise<Found> {
  const { store } = options;
  const row = await store.workflow(workflow);
  if (row === undefined || row.tenant !== tenant) {
    throw new InvalidError('workflow-unknown', `Tenant ${tenant} has no workflow ${workflow}.`, { workflow });
  }
  const workflows = withUndos(workflow);
  for (const one of workflows) {
    const isOpen = (await store.workflow(one))?.closedInGeneration === null;
    if (isOpen) throw stillOpen(`Workflow ${one} is open`, 'it', { workflow: one });
  }
  await refuseForked(options, tenant, workflow);
  const keys = await keysOf(options, tenant, workflows);
  return { of: `workflow:${workflow}`, keys, subjects: [], writers: workflows, isKnown: true };
}

async function ofUser(options: ForgettingOptions, tenant: TenantId, user: string): Promise<Found> {
  const keys = new Set<string>();
  const workflows = new Set<WorkflowId>();
  const sessions = new Set<string>();
  const open: WorkflowId[] = [];
  for await (const { workflow, session, isOpen } of rowsOf(options, tenant, user)) {
    if (isOpen) open.push(workflow);
    if (session !== null) sessions.add(session);
    workflows.add(workflow);
  }
  // Workflows whose history is only in segments are found by their keys.
  for await (const { id, workflow } of options.keyStore.list({ tenant, user })) {
    keys.add(id);
    if (workflows.has(workflow)) continue;
    workflows.add(workflow);
    if ((await options.store.workflow(workflow))?.closedInGeneration === null) open.push(workflow);
  }
  if (open.length > 0) {
    const reported = open.slice(0, FORGET_OPEN_REPORTED_MAX).join(', ');
    const more = open.length > FORGET_OPEN_REPORTED_MAX ? ` and ${open.length - FORGET_OPEN_REPORTED_MAX} more` : '';
    throw stillOpen(`User ${user} has open workflows, ${reported}${more}`, 'them', { user, workflows: open });
  }
  const subjects = [userSubject(user), ...[...sessions].map(sessionSubject)];
  const streams = subjects.map((subject) => memoryWorkflow(sha256Digest, tenant, subject));
  const writers = [...workflows].flatMap(withUndos);
  for (const id of await keysOf(options, tenant, [...writers, ...streams])) keys.add(id);
  const isRemembered = (await options.store.workflow(streams[0]!)) !== undefined;
  const isKnown = workflows.size > 0 || keys.size > 0 || isRemembered;
  return { of: `user:${user}`, keys, subjects, writers, isKnown };
}

/** A certificate for an unknown name would hide that the person is still there under another name. */
async function refuseUnknown({ memory }: ForgettingOptions, tenant: TenantId, user: string, isKnown: boolean) {
  if (isKnown) return;
  const certificates = (await memory.certificates(tenant)) as unknown as readonly ForgetCertificate[];
  if (certificates.some(({ of }) => of === `user:${user}`)) return;
  throw new InvalidError(
    'user-unknown',
    `user: tenant ${tenant} has no user ${user}: no workflow, memory or key is theirs. Nothing was forgotten; check the name and the tenant.`,
    { field: 'user', tenant, user },
  );
}

async function* rowsOf({ store }: ForgettingOptions, tenant: TenantId, user: string) {
  for (let after: WorkflowId | null = null; ; ) {
    const page: Awaited<ReturnType<ProjectionStore['userWorkflows']>> = await store.userWorkflows(
      tenant,
      user,
      after,
      FORGET_WORKFLOWS_PAGE_COUNT,
    );
    yield* page;
    if (page.length < FORGET_WORKFLOWS_PAGE_COUNT) return;
    after = page.at(-1)!.workflow;
  }
}

/** The workflow, its undo, and the undo's undo. */
function withUndos(workflow: WorkflowId): readonly WorkflowId[] {
  const found = [workflow];
  for (let undo = undoId(workflow); depthOf(undo) <= COMPENSATION_DEPTH_MAX; undo = undoId(undo)) found.push(undo);
  return found;
}

/** Keys of histories and of secret fields. */
async function keysOf({ keyStore }: ForgettingOptions, tenant: TenantId, workflows: readonly WorkflowId[]) {
  const keys = new Set<string>();
  for (const workflow of new Set(workflows)) {
    for await (const { id } of keyStore.list({ tenant, workflow })) keys.add(id);
  }
  return keys;
}

const stillOpen = (what: string, them: string, details: object): ConflictError =>
  new ConflictError(
    'workflow-open',
    `${what}: what it writes next would create a key again. End ${them} first; nothing was forgotten.`,
    { ...details },
  );

const rebuilding = (): UnavailableError =>
  new UnavailableError(
    'store-rebuilding',
    'Rows are being rebuilt, and do not show all workflows yet. Try again once they are.',
  );

/** Forks read the shared history, and have its content in their opening. A fork whose own key is gone needs it no more. */
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

/** All memories of a subject, read page by page. */
async function memoriesOf({ store }: ForgettingOptions, tenant: TenantId, subject: string) {
  const found: MemoryRow[] = [];
  for (let after: MemoryRow | undefined; ; ) {
    const query = { tenant, subject, limit: FORGET_PAGE_COUNT };
    const page = await store.memories({ ...query, ...(after !== undefined && { after }) });
    found.push(...page);
    after = page.at(-1);
    if (page.length < FORGET_PAGE_COUNT) return found;
  }
}

async function takeOut({ memory }: ForgettingOptions, tenant: TenantId, entries: readonly OutlastingEntry[]) {
  for (let at = 0; at < entries.length; at += FORGET_PAGE_COUNT) {
    await memory.outlast(tenant, entries.slice(at, at + FORGET_PAGE_COUNT));
  }
}

/** All entries to delete or rewrite, once each. */
async function entriesOf(
  options: ForgettingOptions,
  tenant: TenantId,
  { subjects, writers }: Found,
): Promise<readonly OutlastingEntry[]> {
  const { store } = options;
  const memories: MemoryRow[] = [];
  for (const subject of subjects) memories.push(...(await memoriesOf(options, tenant, subject)));
  const entries = new Map(memories.map((row) => [nameOf(row), outlasting(row)]));
  for (let at = 0; at < writers.length; at += FORGET_WORKFLOWS_PAGE_COUNT) {
    const workflows = writers.slice(at, at + FORGET_WORKFLOWS_PAGE_COUNT);
    for (let after: MemoryName | undefined; ; ) {
      const page: readonly MemoryName[] = await store.memoriesWrittenBy({
        tenant,
        workflows,
        after,
        limit: FORGET_PAGE_COUNT,
      });
      for (const name of page) if (!entries.has(nameOf(name))) entries.set(nameOf(name), name);
      after = page.at(-1);
      if (page.length < FORGET_PAGE_COUNT) break;
    }
  }
  return [...entries.values()];
}

const nameOf = ({ subject, kind, key }: MemoryName): string => JSON.stringify([subject, kind, key]);

/** A user's budget is no memory of theirs. */
const isBudget = ({ kind, key }: MemoryRow): boolean => kind === BUDGET_ENTRY.kind && key === BUDGET_ENTRY.key;

/** The entry's deletion; a budget is written again instead, where it stays readable. */
const outlasting = (row: MemoryRow): OutlastingEntry => {
  const { subject, kind, key } = row;
  return { subject, kind, key, ...(isBudget(row) && { value: JSON.parse(row.value) as Json }) };
};

const invalid = (field: string, remedy: string): InvalidError =>
  new InvalidError('forget-invalid', `${field}: ${remedy}.`, { field });
