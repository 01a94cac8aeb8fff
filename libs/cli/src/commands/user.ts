/** Owns `tidemark user get`, `set`, `list` and `forget`: standing preferences of a user. */

import { InvalidError, isoTime, type Json } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import { readJson } from '../input.ts';
import type { Session } from '../session.ts';
import { jsonText } from '../text/json.ts';
import { table } from '../text/table.ts';
import { ago } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { atDesk, COMMAND_SOURCE, type OfUser } from './memory-place.ts';

export interface SetOptions extends OfUser {
  readonly source?: string | undefined;
}

export async function userGet(session: Session, key: string, options: OfUser): Promise<number> {
  const { user } = options;
  const found = await atDesk(session, options, 'look', (desk, tenant) => desk.memory.userState(tenant, user, key));
  if (found === null) throw new InvalidError('state-key-unknown', `${user} has no preference '${key}'.`, { key });
  const { atMs, ...rest } = found;
  session.terminal.document({ user, ...rest, at: isoTime(atMs) });
  session.terminal.line(jsonText(found.value as Json));
  return EXIT.ok;
}

/** What is no JSON, and doesn't begin like any, is text. */
export async function userSet(session: Session, key: string, given: string, options: SetOptions): Promise<number> {
  const { user, source = COMMAND_SOURCE } = options;
  const value = isText(given) ? given : await readJson('VALUE', given, session);
  await atDesk(session, options, 'write', (desk, tenant) => desk.memory.setUserState(tenant, user, key, value, source));
  session.terminal.document({ user, key, value });
  session.terminal.line(`${printable(key)} of ${printable(user)} is ${printable(JSON.stringify(value))} now.`);
  return EXIT.ok;
}

const isText = (given: string): boolean => !/^(?:\s*[[{"]|@|-$|\s*(?:true|false|null|-?\d[\d.eE+-]*)\s*$)/.test(given);

export async function userList(session: Session, prefix: string | undefined, options: OfUser): Promise<number> {
  const { user } = options;
  const { terminal } = session;
  const found = await atDesk(session, options, 'look', (desk, tenant) =>
    desk.memory.userStates(tenant, user, prefix ?? ''),
  );
  terminal.document({ user, entries: found.map(({ atMs, ...rest }) => ({ ...rest, at: isoTime(atMs) })) });
  if (found.length === 0) terminal.line(`${printable(user)} has no preferences.`);
  else {
    const columns = [
      { title: 'KEY' },
      { title: 'VALUE', shrinksTo: 12 },
      { title: 'SOURCE', shrinksTo: 6 },
      { title: 'SINCE' },
    ];
    const nowMs = Date.now();
    const rows = found.map(({ key, value, source, atMs }) => [
      printable(key),
      printable(JSON.stringify(value)),
      printable(source),
      ago(atMs, nowMs),
    ]);
    terminal.lines(table(columns, rows, { width: terminal.width, title: (name) => terminal.paint('dim', name) }));
  }
  return EXIT.ok;
}

export async function userForget(session: Session, key: string, options: OfUser): Promise<number> {
  const { user } = options;
  await atDesk(session, options, 'look', (desk, tenant) => desk.memory.forgetUserState(tenant, user, key));
  session.terminal.document({ user, key, forgotten: true });
  session.terminal.line(`Forgot ${printable(key)} of ${printable(user)}.`);
  return EXIT.ok;
}
