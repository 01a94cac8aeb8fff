/** Owns how a host combines access: where keys and tenants are stored, how callers are identified, and where actions are recorded. */

import {
  AccessRecords,
  ActiveTenants,
  Authenticators,
  KeyAuthenticator,
  OidcAuthenticator,
  type Taking,
  WrittenTrail,
} from '@tidemark/access';
import type { AuditTrail, Authenticator } from '@tidemark/ports';
import type { ApiConfig } from './access-config.ts';
import type { Host } from './host.ts';
import type { HostRole } from './live-traces.ts';

/** Keys and tenants of the host's place. */
export const accessRecords = ({ client, ports: { store, clock, digest } }: Host): AccessRecords =>
  new AccessRecords({ memory: client.memory, store, clock, digest });

/** Who read and did what. Close it before the host. */
export const auditTrail = (
  { client, ports: { store, clock, prng, digest } }: Host,
  { onError }: HostRole = {},
): WrittenTrail => new WrittenTrail({ streams: client.recorded, store, clock, prng, digest, onError });

export interface Access {
  readonly authenticator: Authenticator;
  readonly audit: AuditTrail;
  /** Writes waiting entries. Call it before the host is closed. */
  close(): Promise<void>;
}

/** Throws `ConfigError` (`issuer-invalid`). An unreachable issuer does not prevent the start. */
export function openAccess(host: Host, config: NonNullable<ApiConfig['access']>, role: HostRole = {}): Access {
  const { clock } = host.ports;
  const records = accessRecords(host);
  const tenants = new ActiveTenants({ records, clock });
  const ways: Taking[] = [];
  const keys = config.keys ? new KeyAuthenticator({ records, tenants, clock, onError: role.onError }) : undefined;
  if (keys !== undefined) ways.push(keys);
  if (config.oidc !== null) ways.push(new OidcAuthenticator({ ...config.oidc, clock, tenants }));
  const audit = auditTrail(host, role);
  audit.start();
  return {
    authenticator: new Authenticators(ways),
    audit,
    async close() {
      await keys?.close();
      await audit.close();
    },
  };
}
