/** Owns `tidemark access` and `tidemark audit`: who is let in over HTTP, and what they did. */

import type { Answer, Client } from '@tidemark/client';
import { InvalidError, isoTime } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import type { AuditEntry, Role } from '@tidemark/ports';
import { UsageError } from '../failures.ts';
import { ACCESS_LIST_MAX_COUNT } from '../limits.ts';
import { firstOf } from '../place/pages.ts';
import { atPlace, type OfTenant, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { dateTime } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface ByOptions extends PlaceOptions {
  readonly by?: string | undefined;
}

export interface ByWhyOptions extends ByOptions {
  readonly why: string;
}

export interface CreateKeyOptions extends ByOptions, OfTenant {
  readonly name: string;
  readonly role: readonly Role[];
  readonly allTenants?: boolean | undefined;
  /** Null: never. */
  readonly expires?: number | null | undefined;
}

export interface ListKeysOptions extends OfTenant {
  readonly all?: boolean | undefined;
}

export interface AuditOptions extends OfTenant {
  readonly subject?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly outcome?: AuditEntry['outcome'] | undefined;
  readonly since?: number | undefined;
  readonly limit: number;
}

type Key = Answer<'GET /v1/keys/{key}'>;

export async function createKey(session: Session, options: CreateKeyOptions): Promise<number> {
  const { made, isFolder } = await atPlace(session, { ...options, how: 'write' }, async ({ client, kind }) => ({
    made: await askKey(client, options),
    isFolder: kind === 'folder',
  }));
  reportKey(session, made);
  if (isFolder) {
    session.terminal.note(
      'The server of a folder lets everybody on this machine in as admin, and asks for no key; keys count on a cluster with TIDEMARK_AUTH=on.',
    );
  }
  return EXIT.ok;
}

type Made = Answer<'POST /v1/keys'>;

export function askKey(client: Client, options: Omit<CreateKeyOptions, 'by'>): Promise<Made> {
  const { name, role, allTenants = false, expires } = options;
  if (allTenants && options.tenant !== undefined) throw new UsageError('give --tenant or --all-tenants, not both');
  const body = {
    ...{ name, roles: role, tenant: options.tenant },
    all_tenants: allTenants ? (true as const) : undefined,
    expires_at: typeof expires === 'number' ? isoTime(Date.now() + expires) : expires,
  };
  return client.ask('POST /v1/keys', { body });
}

export function reportKey({ terminal }: Session, made: Made): void {
  terminal.answer(made);
  terminal.lines([
    made.secret,
    `Key ${made.key} (${printable(made.name)}) of ${ownerOf(made)}: ${made.roles.join(', ')}; ${expiryOf(made)}.`,
    'This is the only time that it is told: only a hash of it is kept.',
  ]);
}

export async function listKeys(session: Session, options: ListKeysOptions): Promise<number> {
  const revoked = options.all === true ? 'true' : 'false';
  const { items: keys, next_cursor } = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    firstOf(
      ACCESS_LIST_MAX_COUNT,
      (page) => client.ask('GET /v1/keys', { query: { ...page, tenant: options.tenant, revoked } }),
      (page) => page.keys,
    ),
  );
  const { terminal } = session;
  terminal.answer({ keys, next_cursor });
  const columns = [
    { title: 'KEY' },
    { title: 'NAME', shrinksTo: 12 },
    { title: 'TENANT', shrinksTo: 10 },
    { title: 'ROLES', shrinksTo: 8 },
    { title: 'STATE' },
    { title: 'LAST USED' },
  ] as const;
  const rows = keys.map((key) => [
    key.key,
    printable(key.name),
    printable(key.tenant ?? '(all)'),
    key.roles.join(','),
    key.revoked === null ? expiryOf(key) : `revoked by ${printable(key.revoked.by)}`,
    key.last_used_at === null ? '–' : timeOf(key.last_used_at),
  ]);
  terminal.lines(rows.length === 0 ? ['No keys.'] : table(columns, rows, { width: terminal.width }));
  return EXIT.ok;
}

export async function revokeKey(session: Session, id: string, options: ByWhyOptions): Promise<number> {
  const input = { params: { key: bareId(id) }, body: { why: options.why } };
  const key = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('POST /v1/keys/{key}/revoke', input, { isRepeatable: true }),
  );
  session.terminal.answer(key);
  session.terminal.line(
    `Key ${key.key} was revoked by ${printable(key.revoked!.by)} at ${timeOf(key.revoked!.at)}. Within seconds nobody is let in by it.`,
  );
  return EXIT.ok;
}

/** A pasted whole key would show its secret, so it is sent nowhere. Throws `InvalidError` (`key-unknown`). */
function bareId(id: string): string {
  if (!id.startsWith('tmk_')) return id.replace(/^key:/, '');
  throw new InvalidError(
    'key-unknown',
    'Give the id of the key alone, which stands between tmk_ and the next underscore: the rest is its secret.',
  );
}

export async function listTenants(session: Session, options: PlaceOptions): Promise<number> {
  const { items: tenants, next_cursor } = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    firstOf(
      ACCESS_LIST_MAX_COUNT,
      (query) => client.ask('GET /v1/tenants', { query }),
      (page) => page.tenants,
    ),
  );
  const { terminal } = session;
  terminal.answer({ tenants, next_cursor });
  const columns = [
    { title: 'TENANT' },
    { title: 'SINCE' },
    { title: 'BY' },
    { title: 'STATE', shrinksTo: 16 },
  ] as const;
  const rows = tenants.map(({ tenant, created_at, by, suspended }) => [
    printable(tenant),
    timeOf(created_at),
    printable(by),
    suspended === null ? 'let in' : `suspended by ${printable(suspended.by)}: ${printable(suspended.why)}`,
  ]);
  terminal.lines(
    rows.length === 0
      ? ['No tenant was created; any name may be used.']
      : table(columns, rows, { width: terminal.width }),
  );
  return EXIT.ok;
}

export async function createTenant(session: Session, name: string, options: ByOptions): Promise<number> {
  const tenant = await atPlace(session, { ...options, how: 'write' }, ({ client }) =>
    client.ask('PUT /v1/tenants/{tenant}', { params: { tenant: name } }, { isRepeatable: true }),
  );
  session.terminal.answer(tenant);
  session.terminal.line(`Tenant ${printable(name)} is there since ${timeOf(tenant.created_at)}.`);
  return EXIT.ok;
}

const changing =
  (act: 'suspend' | 'resume') =>
  async (session: Session, name: string, options: ByWhyOptions): Promise<number> => {
    const input = { params: { tenant: name }, body: { why: options.why } };
    const tenant = await atPlace(session, { ...options, how: 'write' }, ({ client }) =>
      client.ask(`POST /v1/tenants/{tenant}/${act}`, input, { isRepeatable: true }),
    );
    session.terminal.answer(tenant);
    session.terminal.line(
      act === 'suspend'
        ? `Nobody of ${printable(name)} is let in over HTTP any more, within seconds. Its workflows go on.`
        : `${printable(name)} is let in again.`,
    );
    return EXIT.ok;
  };
export const suspendTenant = changing('suspend');
export const resumeTenant = changing('resume');

export async function audit(session: Session, options: AuditOptions): Promise<number> {
  const { subject, action, target, outcome, since, limit, tenant } = options;
  const from = since === undefined ? undefined : isoTime(Date.now() - since);
  const filters = { tenant, subject, action, target, outcome, from };
  const { items: entries, next_cursor } = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    firstOf(
      limit,
      (page) => client.ask('GET /v1/audit', { query: { ...filters, ...page } }),
      (page) => page.entries,
    ),
  );
  const { terminal } = session;
  terminal.answer({ entries, next_cursor });
  const columns = [
    { title: 'AT' },
    { title: 'WHO', shrinksTo: 16 },
    { title: 'DID' },
    { title: 'TO', shrinksTo: 12 },
    { title: 'OUTCOME' },
  ] as const;
  const rows = entries.map((entry) => [
    timeOf(entry.at),
    printable(entry.subject),
    printable(entry.action),
    printable(entry.target ?? '–'),
    entry.code === null ? entry.outcome : `${entry.outcome}: ${printable(entry.code)}`,
  ]);
  const of = tenant === undefined ? '' : ` of tenant ${printable(tenant)}`;
  terminal.lines(
    rows.length === 0 ? [`Nothing was written down${of} that fits.`] : table(columns, rows, { width: terminal.width }),
  );
  if (tenant === undefined) {
    terminal.note(
      "Shown is what your own tenant was touched by, or for who is of none 'default'; --tenant names another.",
    );
  }
  return EXIT.ok;
}

const ownerOf = ({ tenant }: Pick<Key, 'tenant'>): string =>
  tenant === null ? 'all tenants' : `tenant ${printable(tenant)}`;

const timeOf = (iso: string): string => dateTime(Date.parse(iso));

function expiryOf({ expires_at: at }: Pick<Key, 'expires_at'>): string {
  if (at === null) return 'never expires';
  return Date.parse(at) <= Date.now() ? `expired ${timeOf(at)}` : `until ${timeOf(at)}`;
}
