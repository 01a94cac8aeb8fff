/** Owns which names are reserved for the system: no user's definition may have one, and no list shows one. Pure. */

import { type TenantId, tenantId } from './ids.ts';

export const SYSTEM_PREFIX = 'tidemark.';

export const isSystemDefinition = (definition: string): boolean => definition.startsWith(SYSTEM_PREFIX);

/** The tenant of records that belong to no tenant: access rights, paused queues, jobs over all tenants. No caller belongs to it. */
export const SYSTEM_TENANT: TenantId = tenantId('~tidemark');
