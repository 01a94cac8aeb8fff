/**
 * Owns a tenant's retention policy and legal holds, and their storage as entries of a reserved memory subject, which only this code writes,
 * so they survive rows like everything in the log. It moves and deletes nothing (see retention.ts).
 */

import type { MemoryWrite } from '@tidemark/codec';
import {
  ConflictError,
  CorruptError,
  InvalidError,
  type Json,
  LimitError,
  type TenantId,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import type { MemoryRow, ProjectionStore } from '@tidemark/ports';
import { anyWrite } from '../agent/index.ts';
import { RETENTION_SUBJECT } from '../kernel/index.ts';
import { checkName } from '../lease/index.ts';

/** Legal holds that one tenant may have. */
const HOLDS_MAX_COUNT = 10_000;

/** How long archived history is kept, counted from its last event, in milliseconds. */
export interface RetentionPolicy {
  /** Age at which it moves to the cold store, where there is one. */
  readonly warmMs: number;
  /** Age at which it is deleted for good; null: never. */
  readonly keepMs: number | null;
}

/** While it exists, nothing that it covers is deleted. */
export interface LegalHold {
  readonly id: string;
  /** Null: all history of the tenant. */
  readonly workflow: WorkflowId | null;
  readonly by: string;
  readonly why: string;
}

export const DEFAULT_RETENTION: RetentionPolicy = { warmMs: 90 * 86_400_000, keepMs: null };

const POLICY = 'policy';
const HOLD = 'hold:';
const FORGOTTEN = 'forgotten:';

/** The subject of a tenant's policy, holds, certificates and deletions. */
export const retentionSubject = (tenant: TenantId): string => `${RETENTION_SUBJECT}${tenant}`;

/** Throws `InvalidError` (`retention-invalid`): zero would delete at once, which is hardly ever meant. */
export function checkRetention({ warmMs, keepMs }: RetentionPolicy): RetentionPolicy {
  for (const [field, ms] of [
    ['warm', warmMs],
    ['keep', keepMs],
  ] as const) {
    if (ms === null || (Number.isFinite(ms) && ms > 0)) continue;
    throw new InvalidError(
      'retention-invalid',
      `${field}: ${ms} ms would delete history at once. Nothing is deleted. Give a positive duration, such as 90d.`,
      { field },
    );
  }
  if (keepMs === null || keepMs >= warmMs) return { warmMs, keepMs };
  throw new InvalidError(
    'retention-invalid',
    `keep: ${keepMs} ms is less than warm, ${warmMs} ms: history can't be deleted before it grows cold. Shorten warm, or keep it longer.`,
    { field: 'keep' },
  );
}

/** The write that sets a tenant's policy; null: the default again. */
export const policyWrite = (tenant: TenantId, policy: RetentionPolicy | null): MemoryWrite =>
  anyWrite(
    {
      subject: retentionSubject(tenant),
      kind: 'record',
      key: POLICY,
      source: 'retention',
      ...(policy !== null && { value: checkRetention(policy) as unknown as Json }),
    },
    'retention',
  );

/** The write that places or releases a hold. */
export function holdWrite(
  tenant: TenantId,
  hold: LegalHold | { readonly id: string; readonly released: true },
): MemoryWrite {
  checkName('hold', hold.id);
  const entry = {
    subject: retentionSubject(tenant),
    kind: 'record',
    key: `${HOLD}${hold.id}`,
    source: 'retention',
  } as const;
  if ('released' in hold) return anyWrite(entry, 'hold');
  const { workflow, by, why } = hold;
  checkName('by', by);
  if (why.trim() === '')
    throw new InvalidError('hold-invalid', 'why: say why, it is kept with the hold.', { field: 'why' });
  return anyWrite({ ...entry, value: { workflow, by, why } }, 'hold');
}

/** Throws `InvalidError` (`hold-elsewhere`): a tenant's hold would not protect another tenant's workflow. */
export function refuseElsewhere(
  tenant: TenantId,
  { workflow, tenant: whose }: { readonly workflow: WorkflowId; readonly tenant: TenantId },
): void {
  if (whose === tenant) return;
  throw new InvalidError(
    'hold-elsewhere',
    `workflow: ${workflow} belongs to tenant ${whose}, and a hold of tenant ${tenant} would not keep it. Set the hold for tenant ${whose} (--tenant ${whose}).`,
    { field: 'workflow', workflow, tenant: whose },
  );
}

/** Whether the same hold exists already. Throws `ConflictError` (`hold-taken`): moving a hold would release what it covers. */
export function refuseTaken(tenant: TenantId, hold: LegalHold, holds: readonly LegalHold[]): 'new' | 'same' {
  const standing = holds.find(({ id }) => id === hold.id);
  if (standing === undefined) return 'new';
  const { id, workflow, by, why } = standing;
  if (workflow === hold.workflow && by === hold.by && why === hold.why) return 'same';
  const what = workflow === null ? `all of tenant ${tenant}'s` : workflow;
  throw new ConflictError(
    'hold-taken',
    `hold: ${id} holds ${what} already, set by ${by}: ${why}. It stays as it is; give this one another name, or release ${id} first.`,
    { tenant, id, workflow, by },
  );
}

/**
 * The tenant's policy and holds; `policy` null: it has none of its own. Throws `LimitError` (`holds-too-many`), `CorruptError`
 * (`retention-unreadable`: the stored value is no policy or no hold, so no decision may rest on it).
 */
export async function retentionOf(
  store: Pick<ProjectionStore, 'memories'>,
  tenant: TenantId,
): Promise<{ readonly policy: RetentionPolicy | null; readonly holds: readonly LegalHold[] }> {
  const query = { tenant, subject: retentionSubject(tenant), kind: 'record' as const };
  const [policy] = await store.memories({ ...query, key: POLICY, limit: 1 });
  const holds = await store.memories({ ...query, prefix: HOLD, limit: HOLDS_MAX_COUNT + 1 });
  if (holds.length > HOLDS_MAX_COUNT) {
    throw new LimitError('holds-too-many', `Tenant ${tenant} has more than ${HOLDS_MAX_COUNT} holds: hold all of it.`, {
      tenant,
    });
  }
  return {
    policy: policy === undefined ? null : policyOf(policy),
    holds: holds.map(holdOf),
  };
}

function policyOf(row: MemoryRow): RetentionPolicy {
  const { warmMs, keepMs } = fieldsOf(row);
  if (typeof warmMs !== 'number' || (typeof keepMs !== 'number' && keepMs !== null)) throw unreadable(row);
  try {
    return checkRetention({ warmMs, keepMs });
  } catch (cause) {
    throw unreadable(row, cause);
  }
}

function holdOf(row: MemoryRow): LegalHold {
  const { workflow, by, why } = fieldsOf(row);
  const isWhole = (typeof workflow === 'string' && workflow !== '') || workflow === null;
  if (!isWhole || typeof by !== 'string' || typeof why !== 'string') throw unreadable(row);
  return { id: row.key.slice(HOLD.length), workflow: workflow === null ? null : workflowId(workflow), by, why };
}

function fieldsOf(row: MemoryRow): { readonly [field: string]: Json | undefined } {
  const value = JSON.parse(row.value) as Json;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unreadable(row);
  return value as { readonly [field: string]: Json };
}

const unreadable = ({ tenant, key }: MemoryRow, cause?: unknown): CorruptError =>
  new CorruptError(
    'retention-unreadable',
    `${key} of tenant ${tenant} is not as it was set. None of the tenant's history is moved or deleted until it is set again (tidemark retention set, hold).`,
    { tenant, key, cause },
  );

/** The write that keeps a certificate. A later one of the same name replaces it in rows, and both stay in the log. */
export const certificateWrite = (tenant: TenantId, of: string, certificate: Json): MemoryWrite =>
  anyWrite(
    {
      subject: retentionSubject(tenant),
      kind: 'record',
      key: `${FORGOTTEN}${of}`,
      value: certificate,
      source: 'forgetting',
    },
    'certificate',
  );

export async function certificatesOf(
  store: Pick<ProjectionStore, 'memories'>,
  tenant: TenantId,
): Promise<readonly Json[]> {
  const query = { tenant, subject: retentionSubject(tenant), kind: 'record' as const, prefix: FORGOTTEN };
  const rows = await store.memories({ ...query, order: 'newest', limit: HOLDS_MAX_COUNT });
  return rows.map(({ value }) => JSON.parse(value) as Json);
}
