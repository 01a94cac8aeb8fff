export {
  AccessRecords,
  type AccessRecordsOptions,
  type NewKey,
  type StoredKey,
  type StoredTenant,
} from './access-records.ts';
export { ActiveTenants, type ActiveTenantsOptions } from './active-tenants.ts';
export { assigneeNames, isAssignee } from './assignees.ts';
export { type AuditPlace, type AuditQuery, auditPage } from './audit-reading.ts';
export { AUDIT_DEFINITION, type AuditRecord } from './audit-record.ts';
export { WrittenTrail, type WrittenTrailOptions } from './audit-trail.ts';
export { Authenticators, refuseCredentialsInQuery, type Taking } from './bearer.ts';
export type { ClaimMapping } from './claims.ts';
export { KeyAuthenticator, type KeyAuthenticatorOptions } from './key-authenticator.ts';
export { KEY_AGE_MAX_MS } from './limits.ts';
export { callersTenant, refuseSystems } from './names.ts';
export {
  OidcAuthenticator,
  type OidcAuthenticatorOptions,
  type OidcOptions,
} from './oidc-authenticator.ts';
