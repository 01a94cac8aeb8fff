/** Owns `tidemark access` and `tidemark audit`: who is let in over HTTP, and what they did. */

import { Option } from '@commander-js/extra-typings';
import type { Answer } from '@tidemark/client';
import { InvalidError, isoTime } from '@tidemark/core';
import { duration, nameText, wholeNumber } from '../arguments.ts';
import { UsageError } from '../failures.ts';
import { addDeclared } from '../program/declared.ts';
import { type KeyOptions, keyOptions } from '../program/key-options.ts';
import { group, list, type ProgramKit } from '../program/program-kit.ts';
import { by, places, why } from '../program/shared-options.ts';
import type { Session } from '../session.ts';
import type { Columns } from '../text/table.ts';
import { dateTime } from '../text/units.ts';
import { printable } from '../text/width.ts';

/** Keys or tenants that one command lists at most. */
const ACCESS_LIST_MAX_COUNT = 10_000;
/** Entries of the audit that one command shows: by default, and at most. */
const AUDIT_SHOWN_COUNT = 50;
const AUDIT_SHOWN_MAX_COUNT = 10_000;

type Key = Answer<'GET /v1/keys/{key}'>;

export function addAccess(kit: ProgramKit): void {
  const sub = group(kit, 'access', 'who is let in over HTTP: API keys and tenants');
  addKeys(kit, sub);
  addDeclared(kit, 'access', sub);
  addAudit(kit);
}

function addKeys({ asks }: ProgramKit, sub: ReturnType<typeof group>): void {
  keyOptions(by(sub('create-key', 'create an API key, and print it this once'))).action(
    asks('write', (options) => {
      const body = keyBody(options);
      return async ({ client, place, session }) => {
        reportKey(session, await client.ask(CREATE_KEY, { body }));
        if (place.kind === 'server') return;
        session.terminal.note(
          'The server of a folder lets everybody on this machine in as admin, and asks for no key; keys count on a cluster with TIDEMARK_AUTH=on.',
        );
      };
    }),
  );
  sub('list-keys', 'the keys, without their secrets')
    .option('--tenant <name>', 'of this tenant alone (default: all that you may see)', nameText)
    .option('--all', 'revoked ones as well')
    .action(
      asks('read', ({ tenant, all }) => async (asked) => {
        const query = { tenant, revoked: all === true ? ('true' as const) : ('false' as const) };
        const ask = (page: object) => asked.client.ask('GET /v1/keys', { query: { ...page, ...query } });
        const none = tenant === undefined ? 'No keys.' : `No keys of ${printable(tenant)}.`;
        await list(asked, 'keys', ACCESS_LIST_MAX_COUNT, ask, { columns: KEYS, none });
      }),
    );
  why(sub('revoke-key', 'revoke an API key'), 'it')
    .argument('<id>', 'id of the key')
    .action(
      asks('read', (id, { why }) => {
        const input = { params: { key: bareId(id) }, body: { why } };
        return async ({ client, report }) => {
          const key = await client.ask('POST /v1/keys/{key}/revoke', input, { isRepeatable: true });
          const { by, at } = key.revoked!;
          const said = `Key ${key.key} was revoked by ${printable(by)} at ${timeOf(at)}. Within seconds nobody is let in by it.`;
          report(key, said);
        };
      }),
    );
}

const KEYS: Columns<Key> = [
  ['KEY', ({ key }) => key],
  ['NAME', ({ name }) => name, 12],
  ['TENANT', ({ tenant }) => tenant ?? '(all)', 10],
  ['ROLES', ({ roles }) => roles.join(','), 8],
  ['STATE', (key) => (key.revoked === null ? expiryOf(key) : `revoked by ${key.revoked.by}`)],
  ['LAST USED', ({ last_used_at: at }) => (at === null ? '–' : timeOf(at))],
];

export const CREATE_KEY = 'POST /v1/keys';
type Made = Answer<typeof CREATE_KEY>;

/** Throws `UsageError`. */
export function keyBody({ name, role, tenant, allTenants = false, expires }: KeyOptions) {
  if (allTenants && tenant !== undefined) throw new UsageError('give --tenant or --all-tenants, not both');
  return {
    ...{ name, roles: role, tenant },
    all_tenants: allTenants ? (true as const) : undefined,
    expires_at: typeof expires === 'number' ? isoTime(Date.now() + expires) : expires,
  };
}

export function reportKey({ terminal }: Session, made: Made): void {
  const owner = made.tenant === null ? 'all tenants' : `tenant ${printable(made.tenant)}`;
  terminal.answer(made);
  terminal.lines([
    made.secret,
    `Key ${made.key} (${printable(made.name)}) of ${owner}: ${made.roles.join(', ')}; ${expiryOf(made)}.`,
    'It is shown this once: only a hash of it is kept.',
  ]);
}

/** A pasted whole key would show its secret, so it is sent nowhere. Throws `InvalidError` (`key-unknown`). */
function bareId(id: string): string {
  if (!id.startsWith('tmk_')) return id.replace(/^key:/, '');
  throw new InvalidError(
    'key-unknown',
    'Give the id of the key alone, the part between tmk_ and the next underscore: the rest is its secret.',
  );
}

function addAudit({ command, asks }: ProgramKit): void {
  places(command('audit', 'who read and did what over HTTP, the newest first'))
    .option('--tenant <name>', 'whose workflows (default: your own, else default)', nameText)
    .option('--subject <name>', 'by this one: key:ID or token:SUBJECT')
    .option('--action <name>', 'of this kind: the name of the operation, such as getWorkflow')
    .option('--target <id>', 'to this workflow or key')
    .addOption(new Option('--outcome <outcome>', 'how it went').choices(['done', 'refused', 'failed']))
    .option('--since <time>', 'not longer ago: 24h', duration)
    .option('--limit <count>', 'at most this many', wholeNumber(1, AUDIT_SHOWN_MAX_COUNT), AUDIT_SHOWN_COUNT)
    .action(
      asks('read', ({ subject, action, target, outcome, since, limit, tenant }) => async (asked) => {
        const from = since === undefined ? undefined : isoTime(Date.now() - since);
        const filters = { tenant, subject, action, target, outcome, from };
        const ask = (page: object) => asked.client.ask('GET /v1/audit', { query: { ...filters, ...page } });
        const of = tenant === undefined ? '' : ` of tenant ${printable(tenant)}`;
        await list(asked, 'entries', limit, ask, {
          columns: ENTRIES,
          none: `No entry${of} matches.`,
        });
        if (tenant !== undefined) return;
        asked.terminal.note(
          "These are the entries of your own tenant, or of 'default' if you have none; --tenant names another.",
        );
      }),
    );
}

const ENTRIES: Columns<Answer<'GET /v1/audit'>['entries'][number]> = [
  ['AT', ({ at }) => timeOf(at)],
  ['WHO', ({ subject }) => subject, 16],
  ['DID', ({ action }) => action],
  ['TO', ({ target }) => target ?? '–', 12],
  ['OUTCOME', ({ outcome, code }) => (code === null ? outcome : `${outcome}: ${code}`)],
];

const timeOf = (iso: string): string => dateTime(Date.parse(iso));

function expiryOf({ expires_at: at }: Pick<Key, 'expires_at'>): string {
  if (at === null) return 'never expires';
  return Date.parse(at) <= Date.now() ? `expired ${timeOf(at)}` : `until ${timeOf(at)}`;
}
