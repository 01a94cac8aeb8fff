/** Owns `tidemark ls`: the newest workflows that fit the filters, as a table. */

import type { Answer } from '@tidemark/client';
import { EXIT } from '@tidemark/host/exit-codes';
import { noState } from '../failures.ts';
import { firstOf, type Listed } from '../place/pages.ts';
import { atPlace, nothingKept } from '../place/place.ts';
import { queryOf } from '../program/filter-options.ts';
import type { RunningOptions } from '../program/running-options.ts';
import type { Session } from '../session.ts';
import type { Terminal } from '../terminal.ts';
import { type Columns, tableOf } from '../text/table.ts';
import { ago, costCell, count, counted, tokenCell } from '../text/units.ts';
import { ACTIVITY_COLOURS, lastWords } from '../views/activity.ts';

type Workflow = Answer<'GET /v1/workflows'>['workflows'][number];

export async function ls(session: Session, options: RunningOptions['ls']): Promise<number> {
  const { terminal } = session;
  const { limit, state, children } = options;
  const query = queryOf(options);
  const roots = children === true ? {} : { roots: 'true' as const };
  const shown = await nothingKept(session, options);
  // A named folder takes precedence.
  if (shown !== undefined && state !== undefined) throw noState(shown);
  const found: Listed<Workflow> =
    shown !== undefined
      ? { items: [], next_cursor: null }
      : await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
          firstOf(
            limit,
            (page) => client.list({ ...query, ...roots, ...page }),
            ({ workflows }) => workflows,
          ),
        );
  const { items, next_cursor } = found;
  terminal.answer({ workflows: items, next_cursor });
  if (shown !== undefined) terminal.line(`No workflows: nothing is kept in ${shown} yet.`);
  else if (items.length === 0) terminal.line(noneWords(Object.keys(query).length > 0, children));
  else terminal.lines(workflowTable(items, terminal, Date.now()));
  if (next_cursor !== null) {
    terminal.note(terminal.paintNote('dim', `The newest ${counted(limit, 'workflow')}; --limit shows more.`));
  }
  return EXIT.ok;
}

const noneWords = (isSearch: boolean, hasChildren = false): string =>
  !isSearch
    ? 'No workflows yet.'
    : hasChildren
      ? 'No workflow matches.'
      : 'No workflow matches that was started by itself; --children searches those that others have started, too.';

/** Leaves out columns that are the same in every row; never cuts an id, which people copy. */
function workflowTable(rows: readonly Workflow[], { paint, width }: Terminal, nowMs: number): readonly string[] {
  const optional = (isWanted: boolean, ...column: Columns<Workflow>[number]): Columns<Workflow> =>
    isWanted ? [column] : [];
  const columns: Columns<Workflow> = [
    ['ID', ({ workflow }) => workflow],
    ['WORKFLOW', (row) => `${row.definition} v${row.definition_version}`, 10],
    ...optional(new Set(rows.map(({ tenant }) => tenant)).size > 1, 'TENANT', ({ tenant }) => tenant, 6),
    ['STATUS', ({ activity }) => activity, undefined, ({ activity }, text) => paint(ACTIVITY_COLOURS[activity], text)],
    ['CHECKPOINTS', (row) => count(row.sequence_number), 'right'],
    ['PENDING', (row) => count(row.pending_task_count), 'right'],
    ...optional(
      rows.some(({ tokens }) => tokens > 0),
      ...(['TOKENS', tokenCell, 'right'] as const),
    ),
    ...optional(
      rows.some((row) => costCell(row) !== ''),
      ...(['COST', costCell, 'right'] as const),
    ),
    ['CHANGED', (row) => ago(Date.parse(row.updated_at), nowMs)],
    ['LAST ACTION', lastWords, 11],
  ];
  return tableOf(columns, rows, width, (text) => paint('bold', text));
}
