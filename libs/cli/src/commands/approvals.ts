/** Owns `tidemark approvals`, and the answers of `approve --task` and `reject --task`: what people are asked by tasks that wait for them. */

import { DEFAULT_TENANT, isoTime } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { ApprovalPlace } from '@tidemark/ports';
import type { Approval, ApprovalAnswer } from '@tidemark/runtime';
import type { Session } from '../session.ts';
import { noticeStall } from '../stall.ts';
import { atDesk } from '../state/at-desk.ts';
import type { Desk } from '../state/desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { whoGoesOn } from '../state/who-goes-on.ts';
import type { Terminal } from '../terminal.ts';
import { jsonLines } from '../text/json.ts';
import { commandLine, stateWords } from '../text/shell.ts';
import { ago } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface ApprovalsOptions {
  readonly assignee?: readonly string[] | undefined;
  readonly tenant?: string | undefined;
  readonly limit: number;
  readonly state?: string | undefined;
}

const INDENT = '  ';
/** Lines of a form or a detail that are shown; all of it is in the JSON. */
const VALUE_LINES_MAX = 24;

export async function approvals(session: Session, options: ApprovalsOptions): Promise<number> {
  const { terminal } = session;
  const { state } = options;
  const found = await atDesk(session, { state, how: 'look' }, (desk) => asked(desk, options));
  terminal.document({ approvals: found.map(approvalJson) });
  for (const line of found.flatMap((one) => approvalLines(one, state, terminal))) terminal.line(line);
  if (found.length === 0) terminal.line('Nobody is asked for an approval.');
  return EXIT.ok;
}

async function asked(desk: Desk, { assignee: assignees, tenant, limit }: ApprovalsOptions): Promise<Approval[]> {
  const found: Approval[] = [];
  for (let after: ApprovalPlace | undefined; found.length < limit; ) {
    const page = await desk.approvals({ assignees, tenant, after, limit: limit - found.length });
    found.push(...page.approvals);
    if (page.next === null) break;
    after = page.next;
  }
  return found;
}

const approvalJson = (one: Approval) => ({
  workflow: one.workflow,
  tenant: one.tenant,
  definition: one.definition,
  task: one.task,
  step: one.step,
  name: one.name,
  assignee: one.assignee,
  asked_at: isoTime(one.askedAtMs),
  title: one.title ?? null,
  detail: one.detail ?? null,
  form: one.form,
});

function approvalLines(one: Approval, state: string | undefined, { paint, width }: Terminal): readonly string[] {
  const look = { indent: INDENT.repeat(2), linesMax: VALUE_LINES_MAX, columns: width };
  const of = one.tenant === DEFAULT_TENANT ? '' : ` of tenant ${printable(one.tenant)}`;
  const whom = one.assignee === null ? 'anybody' : printable(one.assignee);
  const answer = (name: string): string =>
    `${commandLine('tidemark', name, one.workflow, '--task', one.task, ...stateWords(state))}`;
  return [
    `${paint('bold', printable(one.title ?? one.name))}  ${printable(one.definition)} ${printable(one.workflow)}${of}, task ${one.task}; asks ${whom}, ${ago(one.askedAtMs, Date.now())}`,
    ...(one.detail === undefined ? [] : jsonLines(one.detail, look)),
    `${INDENT}Form:`,
    ...jsonLines(one.form, look),
    `${INDENT}${paint('cyan', `${printable(answer('approve'))} --value JSON --by NAME --why TEXT`)}`,
    `${INDENT}${paint('cyan', `${printable(answer('reject'))} --by NAME --why TEXT`)}`,
  ];
}

/** The answer to one approval. */
export async function answerApproval(
  { terminal }: Session,
  desk: Desk,
  id: string,
  task: string,
  answer: ApprovalAnswer,
): Promise<void> {
  const { workflow } = await requireWorkflow(desk, id);
  const { changed } = await noticeStall(terminal, desk.place, desk.answer(workflow, task, answer));
  const { approved, by, why } = answer;
  terminal.document({ workflow, task, approved, changed, by, why });
  const what = approved ? 'approved' : 'rejected';
  const settled = `task ${printable(task)} was answered so before: ${what} by ${printable(by)}. Nothing changed.`;
  const done = `${printable(by)} ${what} task ${printable(task)}. ${whoGoesOn(desk)}`;
  terminal.line(`${printable(workflow)}: ${changed ? done : settled}`);
}
