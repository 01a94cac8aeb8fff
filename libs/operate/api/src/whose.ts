/** Owns whose a thing is that several tenants may have by one name: the query says it, and the audit records it. */

import { DEFAULT_TENANT, type TenantId } from '@tidemark/core';
import { z } from 'zod';
import type { Reported, RequestParts } from './route.ts';
import { tenantSchema } from './schemas/common.ts';

export const whose = z.object({ tenant: tenantSchema.optional() });

/** For the audit: the target, with its tenant. */
export const reported = (target: unknown, { query }: RequestParts): readonly Reported[] => [
  { target: String(target), tenant: (query.tenant ?? DEFAULT_TENANT) as TenantId },
];
