/** Owns how access is put together for a host: where keys and tenants are kept, and where what was done is written down. */

import { AccessRecords, WrittenTrail } from '@tidemark/access';
import type { Host, HostRole } from './host.ts';

/** Keys and tenants of whatever the host is opened on. */
export const accessRecords = ({ client, ports: { store, clock, digest } }: Host): AccessRecords =>
  new AccessRecords({ memory: client.memory, store, clock, digest });

/** Who read and did what. Close it before the host. */
export const auditTrail = (
  { client, ports: { store, clock, prng, digest } }: Host,
  { onError }: HostRole = {},
): WrittenTrail => new WrittenTrail({ streams: client.system, store, clock, prng, digest, onError });
