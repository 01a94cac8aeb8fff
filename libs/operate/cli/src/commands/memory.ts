/** Owns `tidemark memory recall`, `remember`, `list` and `forget`: what is known about users, domains and a tenant. */

import type { Answer } from '@tidemark/client';
import { EXIT } from '@tidemark/host/exit-codes';
import { UsageError } from '../failures.ts';
import { atPlace, type OfTenant } from '../place/place.ts';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { ago, counted } from '../text/units.ts';
import { printable, printableLines } from '../text/width.ts';

export interface OfSubject extends OfTenant {
  readonly user?: string | undefined;
  /** `user:NAME`, `domain:NAME`, `tenant`. */
  readonly about?: string | undefined;
}

export interface RecallOptions extends OfSubject {
  readonly limit: number;
  readonly kind?: 'summary' | 'fact' | undefined;
}

export interface RememberOptions extends OfSubject {
  readonly source?: string | undefined;
}

export interface FactsOptions extends OfSubject {
  readonly limit: number;
}

const RECALL = 'POST /v1/memory/{about}/recall';

function subjectOf({ user, about }: OfSubject): string {
  if (user !== undefined && about !== undefined) throw new UsageError('Give --user or --about, not both.');
  const subject = about ?? (user === undefined ? undefined : `user:${user}`);
  if (subject !== undefined) return subject;
  throw new UsageError("Say what it is about: --user NAME, or --about 'domain:NAME' or 'tenant'.");
}

export async function memoryRecall(session: Session, asked: string, options: RecallOptions): Promise<number> {
  const { limit, kind } = options;
  const { terminal } = session;
  const input = {
    params: { about: subjectOf(options) },
    query: { tenant: options.tenant },
    body: { query: asked, limit, kinds: kind === undefined ? (['summary', 'fact'] as const) : [kind] },
  };
  const answer = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask(RECALL, input, { isRepeatable: true }),
  );
  terminal.answer(answer);
  const { by, warning, entries, continuation = '' } = answer;
  if (warning !== null) terminal.warn(printable(warning));
  const how = by === 'words' ? 'by words alone' : 'by words and meaning';
  terminal.note(
    entries.length === 0 ? `Nothing fits (${how}).` : `${counted(entries.length, 'entry', 'entries')}, ${how}.`,
  );
  terminal.lines(entries.filter(({ kind: of }) => of === 'fact').map(factLine));
  if (continuation !== '') terminal.lines(printableLines(continuation));
  return EXIT.ok;
}

const factLine = ({ value, source, at }: Answer<typeof RECALL>['entries'][number]): string =>
  `- ${printable((value as { readonly text: string }).text)} (${printable(source)}, ${at.slice(0, 'YYYY-MM-DD'.length)})`;

export async function memoryRemember(session: Session, text: string, options: RememberOptions): Promise<number> {
  const about = subjectOf(options);
  const input = { params: { about }, query: { tenant: options.tenant }, body: { text, source: options.source } };
  const done = await atPlace(session, { ...options, how: 'write' }, ({ client }) =>
    client.ask('POST /v1/memory/{about}/facts', input, { isRepeatable: true }),
  );
  session.terminal.answer(done);
  session.terminal.line(`Remembered of ${printable(about)}, as ${done.key}.`);
  return EXIT.ok;
}

export async function memoryList(session: Session, options: FactsOptions): Promise<number> {
  const { limit } = options;
  const about = subjectOf(options);
  const { terminal } = session;
  const answer = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('GET /v1/memory/{about}/facts', { params: { about }, query: { tenant: options.tenant, limit } }),
  );
  terminal.answer(answer);
  const { facts } = answer;
  if (facts.length === 0) terminal.line(`No facts are known about ${printable(about)}.`);
  else {
    const columns = [
      { title: 'FACT', shrinksTo: 16 },
      { title: 'SOURCE', shrinksTo: 6 },
      { title: 'SINCE' },
      { title: 'KEY' },
    ];
    const nowMs = Date.now();
    const rows = facts.map(({ text = '', source, at, key }) => [
      printable(text),
      printable(source),
      ago(Date.parse(at), nowMs),
      key,
    ]);
    terminal.lines(table(columns, rows, { width: terminal.width, title: (name) => terminal.paint('dim', name) }));
  }
  return EXIT.ok;
}

export async function memoryForget(session: Session, key: string, options: OfSubject): Promise<number> {
  const about = subjectOf(options);
  const input = { params: { about, key }, query: { tenant: options.tenant } };
  const done = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('DELETE /v1/memory/{about}/facts/{key}', input),
  );
  session.terminal.answer(done);
  session.terminal.line(`Forgot ${printable(key)} of ${printable(about)}.`);
  return EXIT.ok;
}
