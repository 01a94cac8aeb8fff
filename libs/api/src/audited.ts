/**
 * Owns which requests are written down, and what of each: who did what to what, and what became of it. All that is more than reading
 * that something exists is; of reads those that show content. Must not see payloads.
 */

import { type TenantId, TidemarkError, UnavailableError } from '@tidemark/core';
import type { AuditEntry, AuditTrail, Principal } from '@tidemark/ports';
import type { RouteFacts } from './route.ts';

export interface AuditedCall {
  readonly route: Pick<RouteFacts, 'name' | 'right'>;
  readonly principal: Principal;
  /** Content is in what is answered. */
  readonly showsContent: boolean;
  /** What the address names. */
  readonly params: unknown;
  /** Whose it is that was named, as far as it was looked at; asked of callers of no tenant. */
  readonly tenantOf?: ((target: string) => TenantId | undefined) | undefined;
}

/** R4. Throws as `AuditTrail.admit` and the work do. */
export async function audited<T extends { readonly body: unknown }>(
  trail: AuditTrail | undefined,
  call: AuditedCall,
  work: () => Promise<T>,
): Promise<T> {
  if (trail === undefined || (call.route.right === 'read' && !call.showsContent)) return work();
  trail.admit();
  try {
    const answer = await work();
    // Of what begins here, the answer has the id.
    const entry = entryOf(call, { outcome: 'done', target: targetIn(call.params) ?? targetIn(answer.body) });
    if (!call.showsContent) trail.record(entry);
    else await trail.write(entry);
    return answer;
  } catch (error) {
    if (error instanceof UnavailableError && error.code === 'audit-behind') throw error;
    trail.record(entryOf(call, { outcome: 'failed', target: targetIn(call.params), code: codeOf(error) }));
    throw error;
  }
}

/** Somebody asked for what they may not do. Throws as `AuditTrail.admit` does. */
export function noteRefused(
  trail: AuditTrail | undefined,
  call: Omit<AuditedCall, 'showsContent'>,
  code: string,
): void {
  trail?.admit();
  trail?.record(entryOf(call, { outcome: 'refused', target: targetIn(call.params), code }));
}

const entryOf = (
  { route, principal, tenantOf }: Omit<AuditedCall, 'showsContent'>,
  more: Pick<AuditEntry, 'outcome' | 'target' | 'code'>,
): AuditEntry => {
  const tenant = principal.tenant ?? (more.target === undefined ? null : (tenantOf?.(more.target) ?? null));
  return { principal, tenant, action: route.name, right: route.right, ...more };
};

const codeOf = (error: unknown): string => (error instanceof TidemarkError ? error.code : 'internal');

function targetIn(value: unknown): string | undefined {
  for (const name of ['workflow', 'key', 'job', 'schedule', 'queue', 'id', 'tenant']) {
    const target = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
    if (typeof target === 'string') return target;
  }
  return undefined;
}
