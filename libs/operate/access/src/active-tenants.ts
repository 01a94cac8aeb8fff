/** Owns whether a tenant's callers are let in at all. Callers of an unknown tenant are: tenants begin with their first workflow. */

import type { TenantId } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import type { AccessRecords, StoredTenant } from './access-records.ts';
import { AgedCache } from './aged-cache.ts';
import { KEY_AGE_MAX_MS, KEYS_REMEMBERED_MAX_COUNT } from './limits.ts';
import { credentialsInvalid } from './refusals.ts';

export interface ActiveTenantsOptions {
  readonly records: Pick<AccessRecords, 'tenant'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

export class ActiveTenants {
  readonly #tenants: AgedCache<StoredTenant>;

  constructor({ records, clock }: ActiveTenantsOptions) {
    this.#tenants = new AgedCache({
      clock,
      ageMaxMs: KEY_AGE_MAX_MS,
      maxCount: KEYS_REMEMBERED_MAX_COUNT,
      undefinedMaxCount: KEYS_REMEMBERED_MAX_COUNT,
      load: (tenant) => records.tenant(tenant as TenantId),
    });
  }

  /** The next call looks it up again. */
  forget(tenant: TenantId): void {
    this.#tenants.forget(tenant);
  }

  /** Throws `AccessError` (`credentials-invalid`), `UnavailableError`. */
  async check(tenant: TenantId | null): Promise<void> {
    if (tenant === null) return;
    const known = await this.#tenants.get(tenant);
    if (known !== undefined && known.suspended !== null) throw credentialsInvalid('the tenant is suspended');
  }
}
