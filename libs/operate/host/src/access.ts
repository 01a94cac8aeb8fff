/**
 * Owns how access is put together for a host: where keys and tenants are kept, by what callers are known, and where what was done is
 * written down.
 */

import {
  AccessRecords,
  Authenticators,
  KeyAuthenticator,
  OidcAuthenticator,
  StandingTenants,
  type Taking,
  WrittenTrail,
} from '@tidemark/access';
import type { AuditTrail, Authenticator } from '@tidemark/ports';
import type { AccessConfig } from './access-config.ts';
import type { Host } from './host.ts';
import type { HostRole } from './live-traces.ts';

/** Keys and tenants of whatever the host is opened on. */
export const accessRecords = ({ client, ports: { store, clock, digest } }: Host): AccessRecords =>
  new AccessRecords({ memory: client.memory, store, clock, digest });

/** Who read and did what. Close it before the host. */
export const auditTrail = (
  { client, ports: { store, clock, prng, digest } }: Host,
  { onError }: HostRole = {},
): WrittenTrail => new WrittenTrail({ streams: client.system, store, clock, prng, digest, onError });

export interface Access {
  readonly authenticator: Authenticator;
  readonly audit: AuditTrail;
  /** Writes down what waits to be. Before the host is closed. */
  close(): Promise<void>;
}

/** Throws `ConfigError` (`issuer-invalid`, `algorithms-invalid`). An issuer that is away is no reason not to begin. */
export function openAccess(host: Host, config: AccessConfig, role: HostRole = {}): Access {
  const { clock } = host.ports;
  const records = accessRecords(host);
  const tenants = new StandingTenants({ records, clock });
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
