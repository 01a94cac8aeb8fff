/** Owns parsing a Postgres address, and printing it without its credentials. */

import type { ConnectionOptions } from 'node:tls';
import { ConfigError } from '@tidemark/core';
import type pg from 'pg';

/** How a server is reached. */
export interface PostgresAccess {
  /** `postgres://user:password@host:port/database`; `pg` reads `sslmode` and the like. */
  readonly url: string;
  /** When given, everything is sent over TLS, and the address must not configure TLS itself. */
  readonly tls?: ConnectionOptions | undefined;
  /** Asked at each connection, so that one which was rotated is taken; in place of that of the address. */
  readonly password?: (() => Promise<string>) | undefined;
}

export interface StoreAddress extends PostgresAccess {
  readonly database: string;
  /** `postgres://host:port/database`, without credentials, for messages. */
  readonly shown: string;
  /** Returns the address of another database on the same server, with the same credentials. */
  at(database: string): string;
}

const DEFAULT_PORT = '5432';

/** These parameters of an address configure TLS, and `pg` would let them override the settings. */
const TLS_PARAMETERS = ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation', 'uselibpqcompat'];

/** Throws `ConfigError` (`store-address`, `tls-said-twice`), which does not repeat the address. */
export function parseAddress({ url, tls, password }: PostgresAccess): StoreAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw new ConfigError(
      'store-address',
      'The address of Postgres must look like postgres://user:password@host:5432/name',
    );
  }
  if (`${parsed.pathname}${parsed.search}${parsed.hash}`.includes('@')) {
    throw new ConfigError(
      'store-address',
      'The address of Postgres has an @ behind its host. In a user name or password write / as %2F, ? as %3F, # as %23 and @ as %40, in other parts @ as %40.',
    );
  }
  const twice = tls && TLS_PARAMETERS.find((name) => parsed.searchParams.has(name));
  if (twice !== undefined) {
    throw new ConfigError(
      'tls-said-twice',
      `The address of Postgres says ${twice}=…, and TLS is configured beside it (TIDEMARK_TLS_CA, TIDEMARK_POSTGRES_TLS). Take it out of the address, or set TIDEMARK_POSTGRES_TLS=off and let the address decide.`,
    );
  }
  const database = decodeURIComponent(parsed.pathname.slice(1)) || decodeURIComponent(parsed.username) || 'postgres';
  const host = parsed.hostname || parsed.searchParams.get('host') || 'localhost';
  return {
    ...{ url, tls, password },
    database,
    shown: `postgres://${host}:${parsed.port || DEFAULT_PORT}/${database}`,
    at(other) {
      const there = new URL(url);
      there.pathname = `/${encodeURIComponent(other)}`;
      return there.href;
    },
  };
}

/** Options for `pg`; for another database of the same server where `database` is given. */
export const connectionOf = (
  { url, tls, password, at }: StoreAddress,
  database?: string,
): Pick<pg.PoolConfig, 'connectionString' | 'ssl' | 'password'> => ({
  connectionString: database === undefined ? url : at(database),
  ...(tls !== undefined && { ssl: { ...tls } }),
  ...(password !== undefined && { password }),
});
