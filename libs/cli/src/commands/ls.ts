/** Owns `tidemark ls`: the newest workflows that fit what was asked for, as a table. */

import { activityOf, workflowJson } from '@tidemark/api/shapes';
import { EXIT } from '@tidemark/host';
import type { WorkflowListing } from '@tidemark/ports';
import { noState } from '../failures.ts';
import type { Session } from '../session.ts';
import { isIdle } from '../state/desk.ts';
import { exists, openToRead, targetOf } from '../state/open-desk.ts';
import type { Terminal } from '../terminal.ts';
import { type Column, table } from '../text/table.ts';
import { ago, cost, count, counted } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { ACTIVITY_COLOURS } from '../views/activity.ts';
import { type FilterOptions, filterOf } from './filter-options.ts';

export interface LsOptions extends FilterOptions {
  readonly state?: string | undefined;
  readonly limit: number;
}

export async function ls({ terminal, env, cwd }: Session, options: LsOptions): Promise<number> {
  const target = targetOf(options.state, env, cwd);
  if (target.kind === 'embedded' && !exists(target)) {
    // A folder that was named was meant.
    if (options.state !== undefined) throw noState(target.shown);
    terminal.document([]);
    terminal.line(`No workflows: nothing is kept in ${target.shown} yet.`);
    return EXIT.ok;
  }
  const desk = await openToRead(target);
  try {
    const { limit } = options;
    const filter = filterOf(options);
    // One more than asked for tells whether there are more.
    const found = await desk.control.search({ ...filter, limit: limit + 1 });
    const rows = found.slice(0, limit);
    const idle = isIdle(desk);
    terminal.document(rows.map((row) => workflowJson(row, idle)));
    if (rows.length === 0) terminal.line(Object.keys(filter).length > 0 ? 'No workflow fits.' : 'No workflows yet.');
    else terminal.lines(workflowTable(rows, idle, terminal, Date.now()));
    if (found.length > limit) {
      terminal.note(terminal.paintNote('dim', `The newest ${counted(limit, 'workflow')}; --limit shows more.`));
    }
  } finally {
    await desk.close();
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

/** Columns that would be the same in every row are left out. */
function workflowTable(
  rows: readonly WorkflowListing[],
  idle: boolean,
  terminal: Terminal,
  nowMs: number,
): readonly string[] {
  const { paint, width } = terminal;
  const hasTokens = rows.some((row) => row.tokens > 0);
  const hasCost = rows.some((row) => row.costMicros > 0);
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
  const cells = rows.map((row) => {
    const activity = activityOf(row, idle);
    return [
      printable(row.workflow),
      `${printable(row.definition)} v${row.version}`,
      ...optional(hasTenants, printable(row.tenant)),
      { text: activity, paint: (text: string) => paint(ACTIVITY_COLOURS[activity], text) },
      count(row.sequence),
      count(row.pendingCount),
      ...optional(hasTokens, row.tokens === 0 ? '' : count(row.tokens)),
      ...optional(hasCost, row.costMicros === 0 ? '' : cost(row.costMicros)),
      ago(row.updatedAtMs, nowMs),
      printable(row.reason ?? row.lastAction),
    ];
  });
  return table(columns, cells, { width, title: (text) => paint('bold', text) });
}
