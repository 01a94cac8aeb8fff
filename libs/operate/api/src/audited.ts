/**
 * Owns which requests the audit records, and what of each: who did what to what, and the outcome. It records every action, and of reads
 * those that show content. Must not see payloads.
 */

import { AccessError, type TenantId, TidemarkError } from '@tidemark/core';
import type { AuditEntry, AuditTrail, Principal } from '@tidemark/ports';
import type { AnyRoute, Reported, RouteFacts } from './route.ts';

export interface AuditedCall {
  readonly route: Pick<AnyRoute, 'name' | 'right' | 'reports'>;
  readonly principal: Principal;
  /** The answer shows content. */
  readonly showsContent: boolean;
  /** The target that the address names. */
  readonly params: unknown;
  readonly query?: unknown;
  /** Tenant of the named workflow, if it was looked up; for callers of no tenant. */
  readonly tenantOf?: ((workflow: string) => TenantId | undefined) | undefined;
}

/** R4. Throws as `AuditTrail.admit` and the work do. */
export async function audited<T extends { readonly body: unknown }>(
  trail: AuditTrail | undefined,
  call: AuditedCall,
  work: () => Promise<T>,
): Promise<T> {
  if (trail === undefined || (call.route.right === 'read' && !call.showsContent)) return work();
  trail.admit(tenantOfCall(call, reportedOf(call, undefined)[0]!));
  try {
    const answer = await work();
    // The id of something that begins here is in the answer.
    const entries = reportedOf(call, answer.body).map((reported) => entryOf(call, { outcome: 'done' }, reported));
    if (call.showsContent) await Promise.all(entries.map((entry) => trail.write(entry)));
    else for (const entry of entries) trail.record(entry);
    return answer;
  } catch (error) {
    if (error instanceof TidemarkError && NOT_WRITTEN.includes(error.code)) throw error;
    const outcome = error instanceof AccessError ? 'refused' : 'failed';
    const failed = { outcome, code: codeOf(error) } as const;
    for (const reported of reportedOf(call, undefined)) trail.record(entryOf(call, failed, reported));
    throw error;
  }
}

/** Records a refusal for want of a right. Throws as `AuditTrail.admit` does. */
export function noteRefused(
  trail: AuditTrail | undefined,
  call: Omit<AuditedCall, 'showsContent'>,
  code: string,
): void {
  const about = namedIn(call.params) ?? NOTHING;
  trail?.admit(tenantOfCall(call, about));
  trail?.record(entryOf(call, { outcome: 'refused', code }, about));
}

/** These errors say already that an entry is not in the log, so no other entry follows. */
const NOT_WRITTEN: readonly string[] = ['audit-behind', 'audit-unwritable'];

const tenantOfCall = (
  { principal, tenantOf }: Pick<AuditedCall, 'principal' | 'tenantOf'>,
  about: About,
): TenantId | null =>
  principal.tenant ?? about.tenant ?? (isWorkflow(about) ? (tenantOf?.(about.target) ?? null) : null);

const isWorkflow = (about: About): about is Reported => about.target !== undefined && about.tenant === undefined;

const entryOf = (
  call: Omit<AuditedCall, 'showsContent'>,
  more: Pick<AuditEntry, 'outcome' | 'code'>,
  about: About,
): AuditEntry => {
  const { route, principal } = call;
  const whose = { tenant: tenantOfCall(call, about), isWorkflow: isWorkflow(about) };
  return { principal, ...whose, action: route.name, right: route.right, target: about.target, ...more };
};

type About = { readonly [K in keyof Reported]?: Reported[K] | undefined };

/** At least one: a request without target has an entry too. */
function reportedOf({ route, params, query }: AuditedCall, body: unknown): readonly About[] {
  const request = { params: params ?? {}, query: query ?? {}, body } as Parameters<
    NonNullable<RouteFacts['reports']>
  >[0];
  const reported = route.reports?.(request) ?? [];
  if (reported.length === 0) return [namedIn(params) ?? namedIn(body) ?? NOTHING];
  return [...new Map(reported.map((one) => [one.target, one])).values()];
}

const codeOf = (error: unknown): string => (error instanceof TidemarkError ? error.code : 'internal');

const NOTHING: About = { tenant: null };

const WORKFLOWS: readonly string[] = ['workflow', 'schedule'];
/** Anybody may name a workflow in this form; that doesn't make it theirs (I9). */
const NO_WORKFLOWS: readonly string[] = ['user', 'key', 'job', 'queue', 'session', 'tenant'];

function namedIn(value: unknown): About | undefined {
  const fields = (value ?? {}) as Readonly<Record<string, unknown>>;
  for (const name of [...WORKFLOWS, ...NO_WORKFLOWS]) {
    const target = fields[name];
    if (typeof target === 'string') return WORKFLOWS.includes(name) ? { target } : { target, tenant: null };
  }
  return undefined;
}
