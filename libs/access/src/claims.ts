/** Owns what of a token's claims becomes tenant and roles. What a claim doesn't say is not guessed. */

import { InvalidError, type TenantId } from '@tidemark/core';
import type { Role } from '@tidemark/ports';
import { CLAIMED_ROLES_MAX_COUNT } from './limits.ts';
import { callersTenant, isRole } from './names.ts';

export interface ClaimMapping {
  /** The claim that names the tenant: by its name, or by a path with dots (`realm.tenant`). */
  readonly tenantClaim: string;
  /** Whose everybody is, for issuers of one tenant: then no claim is read. */
  readonly tenant?: TenantId | undefined;
  /** What the claim says of those who belong to no one tenant and may see all; absent: nobody does. */
  readonly allTenants?: string | undefined;
  /** The claim with roles or groups: a list of texts, or one text with spaces. */
  readonly rolesClaim: string;
  /** Which role each of them gives; absent: those that are called like our roles. */
  readonly roles?: ReadonlyMap<string, Role> | undefined;
}

type Claims = Readonly<Record<string, unknown>>;

/** Null: every tenant's. Throws `InvalidError` (`tenant-invalid`): also when there is none. */
export function tenantIn(claims: Claims, { tenantClaim, tenant, allTenants }: ClaimMapping): TenantId | null {
  if (tenant !== undefined) return callersTenant(tenant);
  const said = claimAt(claims, tenantClaim);
  if (typeof said !== 'string') throw new InvalidError('tenant-invalid', `${tenantClaim}: the token has no such text.`);
  return said === allTenants ? null : callersTenant(said);
}

/** Empty where none is given: who it is is known then, and they may do nothing. */
export function rolesIn(claims: Claims, { rolesClaim, roles }: ClaimMapping): readonly Role[] {
  const said = claimAt(claims, rolesClaim);
  const names: readonly unknown[] = typeof said === 'string' ? said.split(' ') : Array.isArray(said) ? said : [];
  const given = new Set<Role>();
  for (const name of names.slice(0, CLAIMED_ROLES_MAX_COUNT)) {
    if (typeof name !== 'string') continue;
    const role = roles === undefined ? name : roles.get(name);
    if (isRole(role)) given.add(role);
  }
  return [...given];
}

/** Names with dots are names first: many issuers use addresses. */
function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let at: unknown = claims;
  for (const part of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Claims)[part];
  }
  return at;
}
