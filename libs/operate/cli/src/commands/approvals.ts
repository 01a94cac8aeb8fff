/** Owns `tidemark approvals`, and the answers of `approve --task` and `reject --task`: the questions of tasks that wait for people. */

import type { Answer, Input } from '@tidemark/client';
import { DEFAULT_TENANT, type Json } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { continuesWith } from '../place/next-holder.ts';
import { firstOf } from '../place/pages.ts';
import { atPlace, type Place, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import type { Terminal } from '../terminal.ts';
import { jsonLines } from '../text/json.ts';
import { type At, atWords, commandLine } from '../text/shell.ts';
import { ago } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface ApprovalsOptions extends PlaceOptions {
  readonly assignee?: readonly string[] | undefined;
  readonly tenant?: string | undefined;
  readonly mine?: boolean | undefined;
  readonly limit: number;
}

type Approval = Answer<'GET /v1/approvals'>['approvals'][number];

const INDENT = '  ';
/** Lines of a form or a detail that are shown; all of it is in the JSON. */
const VALUE_LINES_MAX = 24;

export async function approvals(session: Session, options: ApprovalsOptions): Promise<number> {
  const { terminal } = session;
  const { assignee, tenant, mine, limit } = options;
  const query = {
    ...(assignee !== undefined && { assignee }),
    ...(tenant !== undefined && { tenant }),
    ...(mine === true && { mine: 'true' as const }),
  };
  const { items, next_cursor } = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    firstOf(
      limit,
      (page) => client.ask('GET /v1/approvals', { query: { ...query, ...page } }),
      (page) => page.approvals,
    ),
  );
  terminal.answer({ approvals: items, next_cursor });
  for (const line of items.flatMap((one) => approvalLines(one, options, terminal))) terminal.line(line);
  if (items.length === 0) terminal.line('Nobody is asked for an approval.');
  return EXIT.ok;
}

function approvalLines(one: Approval, at: At, { paint, width }: Terminal): readonly string[] {
  const style = { indent: INDENT.repeat(2), linesMax: VALUE_LINES_MAX, columns: width };
  const of = one.tenant === DEFAULT_TENANT ? '' : ` of tenant ${printable(one.tenant)}`;
  const whom = one.assignee === null ? 'anybody' : printable(one.assignee);
  const answer = (name: string): string =>
    `${commandLine('tidemark', name, one.workflow, '--task', one.task, ...atWords(at))}`;
  return [
    `${paint('bold', printable(one.title ?? one.name))}  ${printable(one.definition)} ${printable(one.workflow)}${of}, task ${one.task}; asks ${whom}, ${ago(Date.parse(one.asked_at), Date.now())}`,
    ...(one.detail == null ? [] : jsonLines(one.detail as Json, style)),
    `${INDENT}Form:`,
    ...jsonLines((one.form ?? null) as Json, style),
    `${INDENT}${paint('cyan', `${printable(answer('approve'))} --value JSON --why TEXT`)}`,
    `${INDENT}${paint('cyan', `${printable(answer('reject'))} --why TEXT`)}`,
  ];
}

/** The answer to one approval. */
export async function answerApproval(
  { terminal }: Session,
  place: Place,
  workflow: string,
  task: string,
  body: Input<'POST /v1/workflows/{workflow}/approvals/{task}'>['body'],
): Promise<void> {
  const endpoint = 'POST /v1/workflows/{workflow}/approvals/{task}';
  const done = await place.client.ask(endpoint, { params: { workflow, task }, body }, { isRepeatable: true });
  terminal.answer(done);
  const what = body.approved ? 'approved' : 'rejected';
  const said = done.changed
    ? `task ${printable(task)} is ${what}. ${continuesWith(place)}`
    : `task ${printable(task)} was ${what} so before. Nothing changed.`;
  terminal.line(`${printable(done.workflow)}: ${said}`);
}
