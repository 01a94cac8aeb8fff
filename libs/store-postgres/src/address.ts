/** Owns reading a Postgres address, and saying it without its credentials. */

import { ConfigError } from '@tidemark/core';

export interface StoreAddress {
  /** As given; holds credentials. */
  readonly url: string;
  readonly database: string;
  /** `postgres://host:port/database`, fit for messages. */
  readonly shown: string;
  /** The same server and credentials, another database. */
  at(database: string): string;
}

const DEFAULT_PORT = '5432';

/** Throws `ConfigError` (`store-address`) without repeating what was given. */
export function parseAddress(url: string): StoreAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw new ConfigError(
      'store-address',
      'The address of Postgres must look like postgres://user:password@host:5432/name',
    );
  }
  const database = decodeURIComponent(parsed.pathname.slice(1)) || decodeURIComponent(parsed.username) || 'postgres';
  const host = parsed.hostname || parsed.searchParams.get('host') || 'localhost';
  return {
    url,
    database,
    shown: `postgres://${host}:${parsed.port || DEFAULT_PORT}/${database}`,
    at(other) {
      const there = new URL(url);
      there.pathname = `/${encodeURIComponent(other)}`;
      return there.href;
    },
  };
}
