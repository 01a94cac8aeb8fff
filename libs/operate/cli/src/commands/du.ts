/** Owns `tidemark du`: what history takes, in rows and in the archive. */

import { EXIT } from '@tidemark/host/exit-codes';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { bytes, count } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface DuOptions extends PlaceOptions {
  readonly by: 'tenant' | 'workflow';
  readonly limit: number;
}

export async function du(session: Session, options: DuOptions): Promise<number> {
  const { by, limit, state, context } = options;
  const answer = await atPlace(session, { state, context, how: 'read' }, ({ client }) =>
    client.ask('GET /v1/storage', { query: { by, limit } }),
  );
  const { terminal } = session;
  terminal.answer(answer);
  if (answer.log_bytes !== null) terminal.line(`Log: ${bytes(answer.log_bytes)}.`);
  const hasForks = answer.storage.some(({ fork_of }) => fork_of !== undefined);
  const columns = [
    { title: by.toUpperCase(), shrinksTo: 12 },
    { title: 'WORKFLOWS', align: 'right' },
    { title: 'ROWS', align: 'right' },
    { title: 'ARCHIVED EVENTS', align: 'right' },
    { title: 'AS LOG', align: 'right' },
    { title: 'ARCHIVED', align: 'right' },
    { title: 'SMALLER', align: 'right' },
    ...(hasForks ? [{ title: 'FORK OF', shrinksTo: 12 }] : []),
  ] as const;
  const rows = answer.storage.map((use) => [
    printable(use.name),
    count(use.workflow_count),
    bytes(use.hot_bytes),
    count(use.archived_event_count),
    bytes(use.archived_raw_bytes),
    bytes(use.archived_bytes),
    use.archived_raw_bytes === 0 || use.archived_bytes > use.archived_raw_bytes
      ? ''
      : `${(100 * (1 - use.archived_bytes / use.archived_raw_bytes)).toFixed(1)} %`,
    ...(hasForks ? [printable(use.fork_of ?? '')] : []),
  ]);
  terminal.lines(table(columns, rows, { width: terminal.width }));
  return EXIT.ok;
}
