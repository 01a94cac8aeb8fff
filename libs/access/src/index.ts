export {
  AccessRecords,
  type AccessRecordsOptions,
  type NewKey,
  type StoredKey,
  type StoredTenant,
} from './access-records.ts';
export { refuseCredentialsInQuery } from './bearer.ts';
export { KeyAuthenticator, type KeyAuthenticatorOptions } from './key-authenticator.ts';
export { AUTHORIZATION_MAX_CHARS, KEY_AGE_MAX_MS } from './limits.ts';
export { callersTenant, isRole, SYSTEM_TENANT } from './names.ts';
export { StandingTenants, type StandingTenantsOptions } from './standing-tenants.ts';
