/** Owns the commands that list children, questions, rejected events and definitions. */

import { EXIT } from '@tidemark/host/exit-codes';
import { readDefinitions } from '../definitions.ts';
import { firstOf } from '../place/pages.ts';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { ago, count, dateTime } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface ListOptions extends PlaceOptions {
  readonly limit: number;
  readonly tenant?: string | undefined;
}

/** As many as a page of questions has. */
const QUESTIONS_PAGE_COUNT = 100;

export async function children(session: Session, workflow: string, options: ListOptions): Promise<number> {
  const { terminal } = session;
  const { items, next_cursor } = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    firstOf(
      options.limit,
      (query) => client.ask('GET /v1/workflows/{workflow}/children', { params: { workflow }, query }),
      (page) => page.children,
    ),
  );
  terminal.answer({ children: items, next_cursor });
  const columns = [
    { title: 'CHILD' },
    { title: 'WORKFLOW', shrinksTo: 10 },
    { title: 'STATUS' },
    { title: 'CHECKPOINTS', align: 'right' },
    { title: 'CHANGED' },
    { title: 'LAST ACTION', shrinksTo: 11 },
  ] as const;
  const rows = items.map((row) => [
    ...[printable(row.workflow), `${printable(row.definition)} v${row.definition_version}`, row.status],
    ...[count(row.sequence_number), ago(Date.parse(row.updated_at), Date.now())],
    printable(row.reason ?? row.last_action),
  ]);
  const none = [`${printable(workflow)} has started no children.`];
  terminal.lines(rows.length === 0 ? none : table(columns, rows, { width: terminal.width }));
  return EXIT.ok;
}

export async function questions(session: Session, options: ListOptions): Promise<number> {
  const { terminal } = session;
  const { tenant, limit } = options;
  const { items, next_cursor } = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    firstOf(
      limit,
      ({ limit: wanted, ...page }) => {
        const most = Math.min(wanted, QUESTIONS_PAGE_COUNT);
        const query = { ...page, limit: most, ...(tenant !== undefined && { tenant }) };
        return client.ask('GET /v1/questions', { query });
      },
      (page) => page.questions,
    ),
  );
  terminal.answer({ questions: items, next_cursor });
  const columns = [
    { title: 'WORKFLOW' },
    { title: 'OF', shrinksTo: 10 },
    { title: 'ASKS' },
    { title: 'SINCE' },
    { title: 'SAYS', shrinksTo: 20 },
  ] as const;
  const rows = items.map(({ workflow: row, question }) => [
    ...[
      printable(row.workflow),
      `${printable(row.definition)} v${row.definition_version}`,
      printable(row.reason ?? ''),
    ],
    ago(Date.parse(row.updated_at), Date.now()),
    printable(question.message ?? ''),
  ]);
  terminal.lines(
    rows.length === 0 ? ['No workflow waits for a person.'] : table(columns, rows, { width: terminal.width }),
  );
  if (rows.length > 0)
    terminal.note(terminal.paintNote('dim', 'tidemark show ID shows the evidence, and the commands that answer it.'));
  return EXIT.ok;
}

export async function rejected(session: Session, options: ListOptions): Promise<number> {
  const { terminal } = session;
  const { items, next_cursor } = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    firstOf(
      options.limit,
      (query) => client.ask('GET /v1/rejected', { query }),
      (page) => page.rejected,
    ),
  );
  terminal.answer({ rejected: items, next_cursor });
  const columns = [
    { title: 'AT' },
    { title: 'PARTITION', align: 'right' },
    { title: 'OFFSET', align: 'right' },
    { title: 'WORKFLOW', shrinksTo: 12 },
    { title: 'TYPE' },
    { title: 'REASON' },
  ] as const;
  const rows = items.map((row) => [
    ...[row.at === null ? '–' : dateTime(Date.parse(row.at)), String(row.partition), String(row.offset)],
    ...[printable(row.workflow ?? '–'), printable(row.type ?? '–'), printable(row.reason)],
  ]);
  terminal.lines(rows.length === 0 ? ['Nothing was rejected.'] : table(columns, rows, { width: terminal.width }));
  if (rows.length > 0) terminal.note('They changed nothing and are kept for audit; most follow from take-overs.');
  return EXIT.ok;
}

export interface DefinitionsOptions extends PlaceOptions {
  readonly workflows?: readonly string[] | undefined;
}

export async function definitions(session: Session, options: DefinitionsOptions): Promise<number> {
  const { terminal } = session;
  const { workflows = [] } = options;
  const given = async () => (workflows.length === 0 ? [] : readDefinitions(workflows, session.cwd));
  const answer = await atPlace(session, { ...options, how: 'write', definitions: given }, ({ client }) =>
    client.ask('GET /v1/definitions', {}),
  );
  terminal.answer(answer);
  const columns = [
    { title: 'WORKFLOW' },
    { title: 'VERSION', align: 'right' },
    { title: 'STEPS', shrinksTo: 16 },
    { title: 'SIGNALS', shrinksTo: 8 },
  ] as const;
  const namesOf = (of: object | null): string => (of === null ? '–' : Object.keys(of).map(printable).join(', '));
  const rows = answer.definitions.map(({ name, version, flow, signals }) => [
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
