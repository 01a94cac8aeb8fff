/** Owns the commands that list what others than workflows are: children, questions, rejected events, definitions. */

import { workflowJson } from '@tidemark/api/shapes';
import { isoTime, type WorkflowId } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { WorkflowListing } from '@tidemark/ports';
import type { Session } from '../session.ts';
import { atDesk } from '../state/at-desk.ts';
import { readDefinitions } from '../state/definitions.ts';
import { type Desk, isIdle } from '../state/desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { table } from '../text/table.ts';
import { ago, count, dateTime } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { type Asked, askedIn, askedJson } from '../views/question.ts';
import { filterOf } from './filter-options.ts';

export interface ListOptions {
  readonly limit: number;
  readonly tenant?: string | undefined;
  readonly state?: string | undefined;
}

/** Children in one page of a read. */
const CHILDREN_PAGE_COUNT = 1_000;

export async function children(session: Session, id: string, { limit, state }: ListOptions): Promise<number> {
  const { terminal } = session;
  const { found, idle } = await atDesk(session, { state, how: 'look' }, async (desk) => {
    const { workflow } = await requireWorkflow(desk, id);
    return { found: await childrenOf(desk, workflow, limit), idle: isIdle(desk) };
  });
  terminal.document({ workflow: id, children: found.map((row) => workflowJson(row, idle)) });
  const columns = [
    { title: 'CHILD' },
    { title: 'WORKFLOW', shrinksTo: 10 },
    { title: 'STATUS' },
    { title: 'CHECKPOINTS', align: 'right' },
    { title: 'CHANGED' },
    { title: 'LAST ACTION', shrinksTo: 11 },
  ] as const;
  const rows = found.map((row) => [
    ...[printable(row.workflow), `${printable(row.definition)} v${row.version}`, row.status, count(row.sequence)],
    ...[ago(row.updatedAtMs, Date.now()), printable(row.reason ?? row.lastAction)],
  ]);
  terminal.lines(
    rows.length === 0 ? [`${printable(id)} has started no children.`] : table(columns, rows, { width: terminal.width }),
  );
  return EXIT.ok;
}

async function childrenOf(desk: Desk, parent: WorkflowId, limit: number): Promise<readonly WorkflowListing[]> {
  const found: WorkflowListing[] = [];
  for (let after: WorkflowId | undefined; found.length < limit; ) {
    const wanted = Math.min(CHILDREN_PAGE_COUNT, limit - found.length);
    const page: readonly WorkflowListing[] = await desk.reads.children({ parent, after, limit: wanted });
    found.push(...page);
    if (page.length < wanted) break;
    after = page.at(-1)!.workflow;
  }
  return found;
}

export async function questions(session: Session, { limit, tenant, state }: ListOptions): Promise<number> {
  const { terminal } = session;
  const asked = await atDesk(session, { state, how: 'look' }, async (desk) => {
    const rows = await desk.control.search({ ...filterOf({ tenant }), status: 'parked', limit });
    const found: { readonly row: WorkflowListing; readonly asked: Asked | undefined }[] = [];
    for (const row of rows) found.push({ row, asked: await askedIn(desk.reads, row.workflow, state) });
    return found;
  });
  terminal.document({
    questions: asked.map((one) => ({
      workflow: workflowJson(one.row, false),
      question: one.asked === undefined ? null : askedJson(one.asked),
    })),
  });
  const columns = [
    { title: 'WORKFLOW' },
    { title: 'OF', shrinksTo: 10 },
    { title: 'ASKS' },
    { title: 'SINCE' },
  ] as const;
  const rows = asked.map(({ row }) => [
    ...[printable(row.workflow), `${printable(row.definition)} v${row.version}`, printable(row.reason ?? '')],
    ago(row.updatedAtMs, Date.now()),
  ]);
  terminal.lines(
    rows.length === 0 ? ['No workflow waits for a person.'] : table(columns, rows, { width: terminal.width }),
  );
  if (rows.length > 0)
    terminal.note(terminal.paintNote('dim', 'tidemark show ID tells the evidence, and the commands that answer it.'));
  return EXIT.ok;
}

export async function rejected(session: Session, { limit, state }: ListOptions): Promise<number> {
  const { terminal } = session;
  const found = await atDesk(session, { state, how: 'look' }, (desk) => desk.reads.rejected(limit));
  terminal.document({ rejected: found.map(({ atMs, ...row }) => ({ ...row, at: atMs === 0 ? null : isoTime(atMs) })) });
  const columns = [
    { title: 'AT' },
    { title: 'PARTITION', align: 'right' },
    { title: 'OFFSET', align: 'right' },
    { title: 'WORKFLOW', shrinksTo: 12 },
    { title: 'TYPE' },
    { title: 'REASON' },
  ] as const;
  const rows = found.map((row) => [
    ...[row.atMs === 0 ? '–' : dateTime(row.atMs), String(row.partition), String(row.offset)],
    ...[printable(row.workflow ?? '–'), printable(row.type ?? '–'), printable(row.reason)],
  ]);
  terminal.lines(rows.length === 0 ? ['Nothing was rejected.'] : table(columns, rows, { width: terminal.width }));
  if (rows.length > 0) terminal.note('They changed nothing and are kept for audit; most follow from take-overs.');
  return EXIT.ok;
}

export interface DefinitionsOptions {
  readonly workflows?: readonly string[] | undefined;
  readonly state?: string | undefined;
}

export async function definitions(session: Session, { workflows = [], state }: DefinitionsOptions): Promise<number> {
  const { terminal } = session;
  const given = async () => (workflows.length === 0 ? [] : readDefinitions(workflows, session.cwd));
  const cards = await atDesk(session, { state, how: 'write', definitions: given }, (desk) => desk.definitions());
  terminal.document({ definitions: cards });
  const columns = [
    { title: 'WORKFLOW' },
    { title: 'VERSION', align: 'right' },
    { title: 'STEPS', shrinksTo: 16 },
    { title: 'SIGNALS', shrinksTo: 8 },
  ] as const;
  const namesOf = (of: object | null | undefined): string =>
    of === null || of === undefined ? '–' : Object.keys(of).map(printable).join(', ');
  const rows = cards.map(({ name, version, flow, signals }) => [
    ...[printable(name), String(version), namesOf(flow)],
    namesOf(signals),
  ]);
  terminal.lines(
    rows.length === 0
      ? ['No definitions are known here: name modules with --workflows.']
      : table(columns, rows, { width: terminal.width }),
  );
  return EXIT.ok;
}
