/** Owns which names are the system's own: no user's definition has one, and no list shows one. Pure. */

import { type TenantId, tenantId } from './ids.ts';

export const SYSTEM_PREFIX = 'tidemark.';

export const isSystemDefinition = (definition: string): boolean => definition.startsWith(SYSTEM_PREFIX);

/** Whose records are that are no tenant's: who may do what, queues that are held, jobs over all tenants. No caller is ever of it. */
export const SYSTEM_TENANT: TenantId = tenantId('~tidemark');
