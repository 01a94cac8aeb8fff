/** Owns the settings by which processes prove themselves to Postgres where its address has no password. */

import type { ConnectionOptions } from 'node:tls';
import { rdsToken } from './aws-token.ts';
import { type Password, passwordBy, passwordIn, wrong } from './password.ts';

type Env = Readonly<Record<string, string | undefined>>;

const DEFAULT_PORT = '5432';
const SETTINGS = ['PASSWORD_FILE', 'PASSWORD_COMMAND', 'AWS_REGION'].map((name) => `TIDEMARK_POSTGRES_${name}`);

/**
 * `TIDEMARK_POSTGRES_PASSWORD_FILE`, `…_PASSWORD_COMMAND`, or `…_AWS_REGION` for a token of RDS: one of them, for an address with a user and
 * without a password. Undefined: none. Throws `ConfigError` (`setting-invalid`, `password-file-unreadable`).
 */
export function postgresPassword(env: Env, url: string, tls: ConnectionOptions | undefined): Password | undefined {
  const given = SETTINGS.filter((name) => (env[name] ?? '') !== '');
  const [setting] = given;
  if (setting === undefined) return undefined;
  if (given.length > 1) throw wrong(`${given.join(' and ')} are set: each says the password; keep one of them`);
  const { username, password, hostname, port, searchParams } = new URL(url);
  if (username === '') throw wrong(`${setting} is set, and TIDEMARK_POSTGRES_URL names no user`);
  if (password !== '') throw wrong(`${setting} is set, and TIDEMARK_POSTGRES_URL has a password; remove one of them`);
  const value = env[setting]!;
  if (setting.endsWith('_FILE')) return passwordIn(setting, value);
  if (setting.endsWith('_COMMAND')) return passwordBy(setting, value);
  if (tls === undefined && !searchParams.has('sslmode')) {
    throw wrong(`${setting} sends a token that is taken over TLS alone: set TIDEMARK_POSTGRES_TLS=on`);
  }
  const host = `${hostname}:${port || DEFAULT_PORT}`;
  return () => rdsToken(host, decodeURIComponent(username), { region: value });
}
