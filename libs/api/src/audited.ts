/**
 * Owns which requests are written down, and what of each: who did what to what, and what became of it. All that is more than reading
 * that something exists is; of reads those that show content. Must not see payloads.
 */

import { AccessError, type TenantId, TidemarkError, UnavailableError } from '@tidemark/core';
import type { AuditEntry, AuditTrail, Principal } from '@tidemark/ports';
import type { RouteFacts, Told } from './route.ts';

export interface AuditedCall {
  readonly route: Pick<RouteFacts, 'name' | 'right' | 'tells'>;
  readonly principal: Principal;
  /** Content is in what is answered. */
  readonly showsContent: boolean;
  /** What the address names. */
  readonly params: unknown;
  readonly query?: unknown;
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
    const entries = toldOf(call, answer.body).map((told) => entryOf(call, { outcome: 'done' }, told));
    if (call.showsContent) await Promise.all(entries.map((entry) => trail.write(entry)));
    else for (const entry of entries) trail.record(entry);
    return answer;
  } catch (error) {
    if (error instanceof UnavailableError && error.code === 'audit-behind') throw error;
    const outcome = error instanceof AccessError ? 'refused' : 'failed';
    const failed = { outcome, code: codeOf(error) } as const;
    for (const told of toldOf(call, undefined)) trail.record(entryOf(call, failed, told));
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
  trail?.record(entryOf(call, { outcome: 'refused', code }, { target: targetIn(call.params) }));
}

const entryOf = (
  { route, principal, tenantOf }: Omit<AuditedCall, 'showsContent'>,
  more: Pick<AuditEntry, 'outcome' | 'code'>,
  { target, tenant: of }: About,
): AuditEntry => {
  const tenant = principal.tenant ?? of ?? (target === undefined ? null : (tenantOf?.(target) ?? null));
  return { principal, tenant, action: route.name, right: route.right, target, ...more };
};

type About = { readonly [K in keyof Told]?: Told[K] | undefined };

/** At least one: of what names nothing there is an entry too. */
function toldOf({ route, params, query }: AuditedCall, body: unknown): readonly About[] {
  const asked = { params: params ?? {}, query: query ?? {}, body } as Parameters<NonNullable<RouteFacts['tells']>>[0];
  const told = route.tells?.(asked) ?? [];
  if (told.length === 0) return [{ target: targetIn(params) ?? targetIn(body) }];
  return [...new Map(told.map((one) => [one.target, one])).values()];
}

const codeOf = (error: unknown): string => (error instanceof TidemarkError ? error.code : 'internal');

function targetIn(value: unknown): string | undefined {
  for (const name of ['workflow', 'key', 'job', 'schedule', 'queue', 'id', 'session', 'user', 'tenant']) {
    const target = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
    if (typeof target === 'string') return target;
  }
  return undefined;
}
