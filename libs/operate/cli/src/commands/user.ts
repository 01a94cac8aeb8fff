/** Owns `tidemark user get`, `set`, `list` and `forget`: standing preferences of a user. */

import { EXIT } from '@tidemark/host/exit-codes';
import { readJson } from '../input.ts';
import { atPlace, type OfTenant } from '../place/place.ts';
import type { Session } from '../session.ts';
import { jsonText } from '../text/json.ts';
import { table } from '../text/table.ts';
import { ago } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface OfUser extends OfTenant {
  readonly user: string;
}

export interface SetOptions extends OfUser {
  readonly source?: string | undefined;
}

export async function userGet(session: Session, key: string, options: OfUser): Promise<number> {
  const input = { params: { user: options.user, key }, query: { tenant: options.tenant } };
  const found = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('GET /v1/users/{user}/preferences/{key}', input),
  );
  session.terminal.answer(found);
  session.terminal.line(jsonText(found.value ?? null));
  return EXIT.ok;
}

/** Anything but JSON, and what doesn't begin like it, is text. */
export async function userSet(session: Session, key: string, given: string, options: SetOptions): Promise<number> {
  const { user, source } = options;
  const value = isText(given) ? given : await readJson('VALUE', given, session);
  const done = await atPlace(session, { ...options, how: 'write' }, ({ client }) =>
    client.ask(
      'PUT /v1/users/{user}/preferences/{key}',
      { params: { user, key }, query: { tenant: options.tenant }, body: { value, source } },
      { isRepeatable: true },
    ),
  );
  session.terminal.answer(done);
  session.terminal.line(`${printable(key)} of ${printable(user)} is ${printable(JSON.stringify(value))} now.`);
  return EXIT.ok;
}

const isText = (given: string): boolean => !/^(?:\s*[[{"]|@|-$|\s*(?:true|false|null|-?\d[\d.eE+-]*)\s*$)/.test(given);

export async function userList(session: Session, prefix: string | undefined, options: OfUser): Promise<number> {
  const { user } = options;
  const { terminal } = session;
  const query = { tenant: options.tenant, prefix: prefix === '' ? undefined : prefix };
  const answer = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('GET /v1/users/{user}/preferences', { params: { user }, query }),
  );
  terminal.answer(answer);
  const { preferences } = answer;
  if (preferences.length === 0) terminal.line(`${printable(user)} has no preferences.`);
  else {
    const columns = [
      { title: 'KEY' },
      { title: 'VALUE', shrinksTo: 12 },
      { title: 'SOURCE', shrinksTo: 6 },
      { title: 'SINCE' },
    ];
    const nowMs = Date.now();
    const rows = preferences.map(({ key, value = null, source, at }) => [
      printable(key),
      printable(JSON.stringify(value)),
      printable(source),
      ago(Date.parse(at), nowMs),
    ]);
    terminal.lines(table(columns, rows, { width: terminal.width, title: (name) => terminal.paint('dim', name) }));
  }
  return EXIT.ok;
}

export async function userForget(session: Session, key: string, { user, ...place }: OfUser): Promise<number> {
  const input = { params: { user, key }, query: { tenant: place.tenant } };
  const done = await atPlace(session, { ...place, how: 'read' }, ({ client }) =>
    client.ask('DELETE /v1/users/{user}/preferences/{key}', input),
  );
  session.terminal.answer(done);
  session.terminal.line(`Forgot ${printable(key)} of ${printable(user)}.`);
  return EXIT.ok;
}
