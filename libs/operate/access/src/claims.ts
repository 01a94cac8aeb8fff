/** Owns which tenant and roles follow from a token's claims. A missing claim is not guessed. */

import { InvalidError, type TenantId } from '@tidemark/core';
import type { Role } from '@tidemark/ports';
import { callersTenant, isRole } from './names.ts';

/** Roles and groups, and teams, that are read from a token. */
const CLAIMED_ROLES_MAX_COUNT = 1_000;

export interface ClaimMapping {
  /** The claim that names the tenant: by its name, or by a path with dots (`realm.tenant`). */
  readonly tenantClaim: string;
  /** The tenant of every token, for issuers of one tenant; the claim is then not read. */
  readonly tenant?: TenantId | undefined;
  /** The claim's value for callers that belong to no one tenant and may see all; absent: there are none. */
  readonly allTenants?: string | undefined;
  /** The claim with roles or groups: a list of texts, or one text with spaces. */
  readonly rolesClaim: string;
  /** Which role each of them gives; absent: those named like our roles. */
  readonly roles?: ReadonlyMap<string, Role> | undefined;
  /** The claim by which tasks ask a person (`user:…`), which people must not be able to choose for themselves; `sub` when absent. */
  readonly userClaim?: string | undefined;
  /** The claim with the teams that tasks ask (`team:…`): a list of texts, or one text with spaces; absent: none. */
  readonly teamsClaim?: string | undefined;
}

export type Claims = Readonly<Record<string, unknown>>;

/** Null: every tenant's. Throws `InvalidError` (`tenant-invalid`): also when there is none. */
export function tenantIn(claims: Claims, { tenantClaim, tenant, allTenants }: ClaimMapping): TenantId | null {
  if (tenant !== undefined) return callersTenant(tenant);
  const said = claimAt(claims, tenantClaim);
  if (typeof said !== 'string')
    throw new InvalidError('tenant-invalid', `${tenantClaim}: the token has no text claim of this name.`);
  return said === allTenants ? null : callersTenant(said);
}

/** Empty where none is given: the caller is known then, and may do nothing. */
export function rolesIn(claims: Claims, { rolesClaim, roles }: ClaimMapping): readonly Role[] {
  const given = new Set<Role>();
  for (const name of textsIn(claimAt(claims, rolesClaim))) {
    const role = roles === undefined ? name : roles.get(name);
    if (isRole(role)) given.add(role);
  }
  return [...given];
}

/** Reads a list, or one text with spaces. */
export function textsIn(said: unknown): readonly string[] {
  const names: readonly unknown[] = typeof said === 'string' ? said.split(' ') : Array.isArray(said) ? said : [];
  return names.slice(0, CLAIMED_ROLES_MAX_COUNT).filter((name) => typeof name === 'string');
}

/** Tries a name with dots as a name first: many issuers use addresses. */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let at: unknown = claims;
  for (const part of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Claims)[part];
  }
  return at;
}
