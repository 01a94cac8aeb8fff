/** Owns the stored form of an audit entry: names, ids and codes; no payloads, no credentials, no texts of errors. */

import type { Json, TenantId } from '@tidemark/core';
import type { AuditEntry, Right, Role } from '@tidemark/ports';
import { z } from 'zod';

/** Longest text of an entry's field, in characters; longer ones are cut. */
const AUDIT_TEXT_MAX_CHARS = 256;

export const AUDIT_DEFINITION = 'tidemark.audit';

const stored = z.object({
  /** The same entry may stand in the log twice, and counts once. */
  id: z.string(),
  atMs: z.number(),
  subject: z.string(),
  kind: z.string(),
  roles: z.array(z.string() as z.ZodType<Role>).readonly(),
  /** Tenant of the principal; null: every tenant's. */
  of: (z.string() as unknown as z.ZodType<TenantId>).nullable(),
  action: z.string(),
  right: z.string() as z.ZodType<Right>,
  target: z.string().nullable(),
  outcome: z.enum(['done', 'refused', 'failed']),
  code: z.string().nullable(),
});
export type AuditRecord = Readonly<z.infer<typeof stored>>;

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
  return stored.array().safeParse(output).data;
}
