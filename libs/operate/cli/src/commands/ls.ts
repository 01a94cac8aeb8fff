/** Owns `tidemark ls`: the newest workflows that fit the filters, as a table. */

import type { Answer } from '@tidemark/client';
import { EXIT } from '@tidemark/host/exit-codes';
import { noState } from '../failures.ts';
import { firstOf, type Listed } from '../place/pages.ts';
import { atPlace, nothingKept, type PlaceOptions } from '../place/place.ts';
import { type FilterOptions, queryOf } from '../program/filter-options.ts';
import type { Session } from '../session.ts';
import type { Terminal } from '../terminal.ts';
import { type Column, table } from '../text/table.ts';
import { ago, cost, count, counted } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { ACTIVITY_COLOURS } from '../views/activity.ts';

export interface LsOptions extends FilterOptions, PlaceOptions {
  readonly limit: number;
}

type Workflow = Answer<'GET /v1/workflows'>['workflows'][number];

export async function ls(session: Session, options: LsOptions): Promise<number> {
  const { terminal } = session;
  const { limit, state } = options;
  const query = queryOf(options);
  const shown = await nothingKept(session, options);
  // A named folder takes precedence.
  if (shown !== undefined && state !== undefined) throw noState(shown);
  const found: Listed<Workflow> =
    shown !== undefined
      ? { items: [], next_cursor: null }
      : await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
          firstOf(
            limit,
            (page) => client.list({ ...query, ...page }),
            ({ workflows }) => workflows,
          ),
        );
  const { items, next_cursor } = found;
  terminal.answer({ workflows: items, next_cursor });
  if (shown !== undefined) terminal.line(`No workflows: nothing is kept in ${shown} yet.`);
  else if (items.length === 0) terminal.line(Object.keys(query).length > 0 ? 'No workflow fits.' : 'No workflows yet.');
  else terminal.lines(workflowTable(items, terminal, Date.now()));
  if (next_cursor !== null) {
    terminal.note(terminal.paintNote('dim', `The newest ${counted(limit, 'workflow')}; --limit shows more.`));
  }
  return EXIT.ok;
}

/** Never cut: people copy it. */
const ID: Column = { title: 'ID' };
const DEFINITION: Column = { title: 'WORKFLOW', shrinksTo: 10 };
const STATUS: Column = { title: 'STATUS' };
const CHECKPOINTS: Column = { title: 'CHECKPOINTS', align: 'right' };
const PENDING: Column = { title: 'PENDING', align: 'right' };
const TOKENS: Column = { title: 'TOKENS', align: 'right' };
const COST: Column = { title: 'COST', align: 'right' };
const CHANGED: Column = { title: 'CHANGED' };
const TENANT: Column = { title: 'TENANT', shrinksTo: 6 };
const ACTION: Column = { title: 'LAST ACTION', shrinksTo: 11 };

/** Leaves out columns that are the same in every row. */
function workflowTable(rows: readonly Workflow[], terminal: Terminal, nowMs: number): readonly string[] {
  const { paint, width } = terminal;
  const hasTokens = rows.some((row) => row.tokens > 0);
  const hasCost = rows.some((row) => row.cost_micros > 0);
  const hasTenants = new Set(rows.map((row) => row.tenant)).size > 1;
  const optional = <T>(wanted: boolean, value: T): readonly T[] => (wanted ? [value] : []);
  const columns = [
    ID,
    DEFINITION,
    ...optional(hasTenants, TENANT),
    STATUS,
    CHECKPOINTS,
    PENDING,
    ...optional(hasTokens, TOKENS),
    ...optional(hasCost, COST),
    CHANGED,
    ACTION,
  ];
  const cells = rows.map((row) => [
    printable(row.workflow),
    `${printable(row.definition)} v${row.definition_version}`,
    ...optional(hasTenants, printable(row.tenant)),
    { text: row.activity, paint: (text: string) => paint(ACTIVITY_COLOURS[row.activity], text) },
    count(row.sequence_number),
    count(row.pending_task_count),
    ...optional(hasTokens, row.tokens === 0 ? '' : count(row.tokens)),
    ...optional(hasCost, row.cost_micros === 0 ? '' : cost(row.cost_micros)),
    ago(Date.parse(row.updated_at), nowMs),
    printable(row.reason ?? row.last_action),
  ]);
  return table(columns, cells, { width, title: (text) => paint('bold', text) });
}
