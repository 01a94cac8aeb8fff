/** Owns `tidemark memory recall`, `remember`, `list` and `forget`: what is known of a user. */

import { isoTime } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { RecalledEntry } from '@tidemark/mcp';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { ago, counted } from '../text/units.ts';
import { printable, printableLines } from '../text/width.ts';
import { atDesk, COMMAND_SOURCE, type OfUser } from './memory-place.ts';

export interface RecallOptions extends OfUser {
  readonly limit: number;
  readonly kind?: 'summary' | 'fact' | undefined;
}

export interface RememberOptions extends OfUser {
  readonly source?: string | undefined;
}

export interface FactsOptions extends OfUser {
  readonly limit: number;
}

export async function memoryRecall(session: Session, query: string, options: RecallOptions): Promise<number> {
  const { user, limit, kind } = options;
  const kinds = kind === undefined ? (['summary', 'fact'] as const) : [kind];
  const { terminal } = session;
  const answer = await atDesk(session, options, 'look', (desk, tenant) =>
    desk.memory.recall(tenant, { user, query, limit, kinds }),
  );
  terminal.document(answer);
  if (answer.warning !== null) terminal.warn(printable(answer.warning));
  const how = answer.by === 'words' ? 'by words alone' : 'by words and meaning';
  terminal.note(
    answer.entries.length === 0
      ? `Nothing fits (${how}).`
      : `${counted(answer.entries.length, 'entry', 'entries')}, ${how}.`,
  );
  terminal.lines(answer.entries.filter(({ kind: of }) => of === 'fact').map(factLine));
  if (answer.continuation !== '') terminal.lines(printableLines(answer.continuation));
  return EXIT.ok;
}

const factLine = ({ value, source, at }: RecalledEntry): string =>
  `- ${printable((value as { readonly text: string }).text)} (${printable(source)}, ${at.slice(0, 'YYYY-MM-DD'.length)})`;

export async function memoryRemember(session: Session, text: string, options: RememberOptions): Promise<number> {
  const { user, source = COMMAND_SOURCE } = options;
  const key = await atDesk(session, options, 'write', (desk, tenant) =>
    desk.memory.remember(tenant, user, text, source),
  );
  session.terminal.document({ user, key });
  session.terminal.line(`Remembered of ${printable(user)}, as ${key}.`);
  return EXIT.ok;
}

export async function memoryList(session: Session, options: FactsOptions): Promise<number> {
  const { user, limit } = options;
  const { terminal } = session;
  const facts = await atDesk(session, options, 'look', (desk, tenant) => desk.memory.facts(tenant, user, limit));
  terminal.document({ user, facts: facts.map(({ atMs, ...rest }) => ({ ...rest, at: isoTime(atMs) })) });
  if (facts.length === 0) terminal.line(`No facts are known about ${printable(user)}.`);
  else {
    const columns = [
      { title: 'FACT', shrinksTo: 16 },
      { title: 'SOURCE', shrinksTo: 6 },
      { title: 'SINCE' },
      { title: 'KEY' },
    ];
    const nowMs = Date.now();
    const rows = facts.map(({ text, source, atMs, key }) => [
      printable(text),
      printable(source),
      ago(atMs, nowMs),
      key,
    ]);
    terminal.lines(table(columns, rows, { width: terminal.width, title: (name) => terminal.paint('dim', name) }));
  }
  return EXIT.ok;
}

export async function memoryForget(session: Session, key: string, options: OfUser): Promise<number> {
  const { user } = options;
  await atDesk(session, options, 'look', (desk, tenant) => desk.memory.forgetFact(tenant, user, key));
  session.terminal.document({ user, key, forgotten: true });
  session.terminal.line(`Forgot ${printable(key)} of ${printable(user)}.`);
  return EXIT.ok;
}
