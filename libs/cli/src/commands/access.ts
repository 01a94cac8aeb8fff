/** Owns `tidemark access` and `tidemark audit`: who is let in over HTTP, and what they did. */

import type { StoredKey, StoredTenant } from '@tidemark/access';
import { DEFAULT_TENANT, isoTime, tenantId } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { AuditEntry, Role } from '@tidemark/ports';
import { UsageError } from '../failures.ts';
import { KEY_LIFE_DEFAULT_MS } from '../limits.ts';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { dateTime } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { atDesk, type MemoryOptions } from './memory-place.ts';

export interface ByOptions extends MemoryOptions {
  readonly by: string;
}

export interface ByWhyOptions extends ByOptions {
  readonly why: string;
}

export interface CreateKeyOptions extends ByOptions {
  readonly name: string;
  readonly role: readonly Role[];
  readonly allTenants?: boolean | undefined;
  /** Null: never. */
  readonly expires?: number | null | undefined;
}

export interface ListKeysOptions extends MemoryOptions {
  readonly all?: boolean | undefined;
}

export interface AuditOptions extends MemoryOptions {
  readonly subject?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly outcome?: AuditEntry['outcome'] | undefined;
  readonly since?: number | undefined;
  readonly limit: number;
}

export async function createKey(session: Session, options: CreateKeyOptions): Promise<number> {
  const { name, role: roles, by, allTenants = false, expires = KEY_LIFE_DEFAULT_MS } = options;
  if (allTenants && options.tenant !== undefined) throw new UsageError('give --tenant or --all-tenants, not both');
  const made = await atDesk(session, options, 'write', async (desk, tenant) => ({
    ...(await desk.access.createKey({ tenant: allTenants ? null : tenant, roles, name, lifeMs: expires, by })),
    isEmbedded: desk.place.kind === 'embedded',
  }));
  const { key, text, isEmbedded } = made;
  const { terminal } = session;
  terminal.document({ ...keyJson(key), key: text });
  terminal.lines([
    text,
    `Key ${key.id} (${printable(name)}) of ${whose(key)}: ${roles.join(', ')}; ${expiryOf(key)}.`,
    'This is the only time that it is told: only a hash of it is kept.',
  ]);
  if (isEmbedded) {
    terminal.note(
      'The server of a folder lets everybody on this machine in as admin, and asks for no key; keys count on a cluster with TIDEMARK_AUTH=on.',
    );
  }
  return EXIT.ok;
}

export async function listKeys(session: Session, options: ListKeysOptions): Promise<number> {
  const tenant = options.tenant === undefined ? null : tenantId(options.tenant);
  const all = await atDesk(session, options, 'look', (desk) => desk.access.keys(tenant));
  const keys = options.all === true ? all : all.filter(({ revoked }) => revoked === null);
  const { terminal } = session;
  terminal.document(keys.map(keyJson));
  const columns = [
    { title: 'KEY' },
    { title: 'NAME', shrinksTo: 12 },
    { title: 'TENANT', shrinksTo: 10 },
    { title: 'ROLES', shrinksTo: 8 },
    { title: 'STATE' },
    { title: 'LAST USED' },
  ] as const;
  const rows = keys.map((key) => [
    key.id,
    printable(key.name),
    printable(key.tenant ?? '(all)'),
    key.roles.join(','),
    key.revoked === null ? expiryOf(key) : `revoked by ${printable(key.revoked.by)}`,
    key.usedMs === null ? '–' : dateTime(key.usedMs),
  ]);
  terminal.lines(rows.length === 0 ? ['No keys.'] : table(columns, rows, { width: terminal.width }));
  return EXIT.ok;
}

export async function revokeKey(session: Session, id: string, options: ByWhyOptions): Promise<number> {
  const { by, why } = options;
  const key = await atDesk(session, options, 'look', (desk) => desk.access.revokeKey(id, { by, why }));
  session.terminal.document(keyJson(key));
  session.terminal.line(
    `Key ${key.id} was revoked by ${printable(key.revoked!.by)} at ${dateTime(key.revoked!.atMs)}. Within seconds nobody is let in by it.`,
  );
  return EXIT.ok;
}

export async function listTenants(session: Session, options: MemoryOptions): Promise<number> {
  const tenants = await atDesk(session, options, 'look', (desk) => desk.access.tenants());
  const { terminal } = session;
  terminal.document(tenants.map(tenantJson));
  const columns = [
    { title: 'TENANT' },
    { title: 'SINCE' },
    { title: 'BY' },
    { title: 'STATE', shrinksTo: 16 },
  ] as const;
  const rows = tenants.map(({ tenant, createdMs, by, suspended }) => [
    printable(tenant),
    dateTime(createdMs),
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
  const tenant = await atDesk(session, options, 'write', (desk) => desk.access.createTenant(name, options.by));
  session.terminal.document(tenantJson(tenant));
  session.terminal.line(`Tenant ${printable(name)} is there since ${dateTime(tenant.createdMs)}.`);
  return EXIT.ok;
}

const suspending =
  (suspended: boolean) =>
  async (session: Session, name: string, options: ByWhyOptions): Promise<number> => {
    const { by, why } = options;
    const tenant = await atDesk(session, options, 'write', (desk) =>
      desk.access.suspendTenant(name, suspended, { by, why }),
    );
    session.terminal.document(tenantJson(tenant));
    session.terminal.line(
      suspended
        ? `Nobody of ${printable(name)} is let in over HTTP any more, within seconds. Its workflows go on.`
        : `${printable(name)} is let in again.`,
    );
    return EXIT.ok;
  };
export const suspendTenant = suspending(true);
export const resumeTenant = suspending(false);

export async function audit(session: Session, options: AuditOptions): Promise<number> {
  const { subject, action, target, outcome, since, limit, tenant = DEFAULT_TENANT } = options;
  const fromMs = since === undefined ? undefined : Date.now() - since;
  const records = await atDesk(session, options, 'look', (desk, of) =>
    desk.access.audit({ tenant: of, subject, action, target, outcome, fromMs, limit }),
  );
  const { terminal } = session;
  terminal.document(records.map(({ atMs, ...record }) => ({ at: isoTime(atMs), ...record })));
  const columns = [
    { title: 'AT' },
    { title: 'WHO', shrinksTo: 16 },
    { title: 'DID' },
    { title: 'TO', shrinksTo: 12 },
    { title: 'OUTCOME' },
  ] as const;
  const rows = records.map((record) => [
    dateTime(record.atMs),
    printable(record.subject),
    printable(record.action),
    printable(record.target ?? '–'),
    record.code === null ? record.outcome : `${record.outcome}: ${printable(record.code)}`,
  ]);
  terminal.lines(
    rows.length === 0
      ? [`Nothing was written down of tenant ${printable(tenant)} that fits.`]
      : table(columns, rows, { width: terminal.width }),
  );
  if (options.tenant === undefined) {
    terminal.note(`Shown is what tenant ${printable(tenant)} was touched by; --tenant names another.`);
  }
  return EXIT.ok;
}

const whose = ({ tenant }: StoredKey): string => (tenant === null ? 'all tenants' : `tenant ${printable(tenant)}`);

const expiryOf = ({ expiresMs }: StoredKey): string => {
  if (expiresMs === null) return 'never expires';
  return expiresMs <= Date.now() ? `expired ${dateTime(expiresMs)}` : `until ${dateTime(expiresMs)}`;
};

const timeOf = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

const keyJson = ({ id, tenant, roles, name, expiresMs, by, createdMs, revoked, usedMs }: StoredKey) => ({
  id,
  name,
  tenant,
  roles,
  by,
  created_at: isoTime(createdMs),
  expires_at: timeOf(expiresMs),
  last_used_at: timeOf(usedMs),
  revoked: revoked && { by: revoked.by, why: revoked.why, at: isoTime(revoked.atMs) },
});

const tenantJson = ({ tenant, createdMs, by, suspended }: StoredTenant) => ({
  tenant,
  by,
  created_at: isoTime(createdMs),
  suspended: suspended && { by: suspended.by, why: suspended.why, at: isoTime(suspended.atMs) },
});
