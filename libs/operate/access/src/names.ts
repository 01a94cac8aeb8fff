/** Owns the valid names of tenants and keys. */

import { InvalidError, type TenantId, tenantId } from '@tidemark/core';
import { ROLES, type Role } from '@tidemark/ports';
import { checkName } from '@tidemark/runtime';
import { ACCESS_NAME_MAX_CHARS } from './limits.ts';

/** The name of a tenant to which callers may belong. Throws `InvalidError` (`tenant-invalid`). */
export function callersTenant(name: unknown): TenantId {
  const tenant = checkName('tenant', name, ACCESS_NAME_MAX_CHARS);
  refuseSystems(tenant);
  return tenantId(tenant);
}

/** Throws `InvalidError` (`tenant-invalid`). */
export function refuseSystems(tenant: string): void {
  if (!tenant.startsWith('~')) return;
  const message = "tenant: names that begin with '~' are the system's own. Choose another.";
  throw new InvalidError('tenant-invalid', message, { field: 'tenant' });
}

/** Throws `InvalidError` (`roles-invalid`). */
export function checkedRoles(names: readonly unknown[]): readonly Role[] {
  const unknown = names.find((name) => !isRole(name));
  if (names.length === 0 || unknown !== undefined) {
    throw new InvalidError('roles-invalid', `roles: give one or more of ${ROLES.join(', ')}.`, { field: 'roles' });
  }
  return [...new Set(names as readonly Role[])];
}

export const isRole = (name: unknown): name is Role => (ROLES as readonly unknown[]).includes(name);
