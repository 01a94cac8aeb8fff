/** Owns how access is put together for a host: where keys and tenants are kept. */

import { AccessRecords } from '@tidemark/access';
import type { Host } from './host.ts';

/** Keys and tenants of whatever the host is opened on. */
export const accessRecords = ({ client, ports: { store, clock, digest } }: Host): AccessRecords =>
  new AccessRecords({ memory: client.memory, store, clock, digest });
