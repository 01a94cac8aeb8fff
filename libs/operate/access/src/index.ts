export {
  AccessRecords,
  type NewKey,
  type StoredKey,
  type StoredTenant,
} from './access-records.ts';
export { ActiveTenants } from './active-tenants.ts';
export { assigneeNames, isAssignee } from './assignees.ts';
export { type AuditPlace, type AuditQuery, auditPage } from './audit-reading.ts';
export { AUDIT_DEFINITION } from './audit-record.ts';
export { WrittenTrail } from './audit-trail.ts';
export { Authenticators, refuseCredentialsInQuery, type Taking } from './bearer.ts';
export { KeyAuthenticator } from './key-authenticator.ts';
export { KEY_AGE_MAX_MS } from './limits.ts';
export { callersTenant, refuseSystems } from './names.ts';
export {
  OidcAuthenticator,
  type OidcOptions,
} from './oidc-authenticator.ts';
