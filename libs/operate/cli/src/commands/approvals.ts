/** Owns `tidemark approvals`: the questions of tasks that wait for people. */

import type { Answer } from '@tidemark/client';
import { DEFAULT_TENANT, type Json } from '@tidemark/core';
import { nameText } from '../arguments.ts';
import { WAITING_PAGE_COUNT } from '../limits.ts';
import { firstOf } from '../place/pages.ts';
import type { ProgramKit } from '../program/program-kit.ts';
import { limited, places } from '../program/shared-options.ts';
import type { Terminal } from '../terminal.ts';
import { jsonLines } from '../text/json.ts';
import { type At, approvalCommands } from '../text/shell.ts';
import { ago } from '../text/units.ts';
import { cut, printable, widthOf } from '../text/width.ts';

type Approval = Answer<'GET /v1/approvals'>['approvals'][number];

const INDENT = '  ';
/** Columns between the title and where it is asked. */
const GAP = 2;
/** Lines of a form or a detail that are shown; all of it is in the JSON. */
const VALUE_LINES_MAX = 24;

export function addApprovals({ command, asks }: ProgramKit): void {
  const approvals = command('approvals', 'list the questions of tasks that wait for people, the oldest first')
    .option('--assignee <names...>', 'those of any of these only')
    .option('--mine', 'those that ask for you')
    .option('--tenant <name>', 'those of this tenant only', nameText);
  limited(places(approvals)).action(
    asks('read', ({ assignee, tenant, mine, limit, ...at }) => async ({ client, terminal, report }) => {
      const query = { assignee, tenant, mine: mine && ('true' as const) };
      const { items, next_cursor } = await firstOf(
        limit,
        (page) => client.ask('GET /v1/approvals', { query: { ...query, ...page } }),
        (page) => page.approvals,
        WAITING_PAGE_COUNT,
      );
      const lines = items.flatMap((one) => approvalLines(one, at, terminal));
      const by = [...(assignee ? [assignee.map(printable).join(' or ')] : []), ...(mine ? ['you'] : [])];
      const none = `No task${tenant === undefined ? '' : ` of ${printable(tenant)}`} waits for an approval${by.length > 0 ? ` by ${by.join(' and ')}` : ''}.`;
      report({ approvals: items, next_cursor }, ...(lines.length === 0 ? [none] : lines));
    }),
  );
}

function approvalLines(one: Approval, at: At, { paint, width }: Terminal): readonly string[] {
  const style = { indent: INDENT.repeat(2), linesMax: VALUE_LINES_MAX, columns: width };
  const of = one.tenant === DEFAULT_TENANT ? '' : ` of tenant ${printable(one.tenant)}`;
  const whom = one.assignee === null ? 'anybody' : printable(one.assignee);
  const title = printable(one.title ?? one.name);
  const where = `${printable(one.definition)} ${printable(one.workflow)}${of}, task ${one.task}; asks ${whom}, ${ago(Date.parse(one.asked_at), Date.now())}`;
  const isNarrow = width !== undefined && widthOf(title) + GAP + widthOf(where) > width;
  return [
    ...(isNarrow
      ? [paint('bold', cut(title, width)), `${INDENT}${where}`]
      : [`${paint('bold', title)}${' '.repeat(GAP)}${where}`]),
    ...(one.detail == null ? [] : jsonLines(one.detail as Json, style)),
    `${INDENT}Form:`,
    ...jsonLines((one.form ?? null) as Json, style),
    ...approvalCommands(one.workflow, one.task, at).map((command) => `${INDENT}${paint('cyan', printable(command))}`),
  ];
}
