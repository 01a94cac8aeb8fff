/** Owns the stored form of an audit entry: names, ids and codes; no payloads, no credentials, no texts of errors. */

import type { Json, TenantId } from '@tidemark/core';
import type { AuditEntry, Right, Role } from '@tidemark/ports';
import { z } from 'zod';

/** Longest text of an entry's field, in characters; longer ones are cut. */
const AUDIT_TEXT_MAX_CHARS = 256;

export const AUDIT_DEFINITION = 'tidemark.audit';

export interface AuditRecord {
  /** The same entry may stand in the log twice, and counts once. */
  readonly id: string;
  readonly atMs: number;
  readonly subject: string;
  readonly kind: string;
  readonly roles: readonly Role[];
  /** Tenant of the principal; null: every tenant's. */
  readonly of: TenantId | null;
  readonly action: string;
  readonly right: Right;
  readonly target: string | null;
  readonly outcome: AuditEntry['outcome'];
  readonly code: string | null;
}

const stored = z.array(
  z.object({
    id: z.string(),
    atMs: z.number(),
    subject: z.string(),
    kind: z.string(),
    roles: z.array(z.string()),
    of: z.string().nullable(),
    action: z.string(),
    right: z.string(),
    target: z.string().nullable(),
    outcome: z.enum(['done', 'refused', 'failed']),
    code: z.string().nullable(),
  }),
);

/** Texts of unauthenticated callers are cut short. */
const cut = (text: string): string => text.toWellFormed().replaceAll('\0', '').slice(0, AUDIT_TEXT_MAX_CHARS);

export function recordOf(entry: AuditEntry, id: string, atMs: number): AuditRecord {
  const { principal, action, right, target, outcome, code } = entry;
  return {
    id,
    atMs,
    subject: cut(principal.subject),
    kind: principal.kind,
    roles: principal.roles,
    of: principal.tenant,
    action: cut(action),
    right,
    target: target === undefined ? null : cut(target),
    outcome,
    code: code === undefined ? null : cut(code),
  };
}

export const recordsAsJson = (records: readonly AuditRecord[]): Json => records as unknown as Json;

/** Undefined: this library did not write it. */
export function recordsIn(output: unknown): readonly AuditRecord[] | undefined {
  const parsed = stored.safeParse(output);
  return parsed.success ? (parsed.data as unknown as readonly AuditRecord[]) : undefined;
}
