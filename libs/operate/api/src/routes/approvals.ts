/** Owns the routes of approvals, the questions of tasks that wait for people: the inbox, and the answer. */

import { assigneeNames, isAssignee } from '@tidemark/access';
import { AccessError, isoTime, type TaskId, type TenantId, type WorkflowId } from '@tidemark/core';
import { mayDo, type Principal } from '@tidemark/ports';
import { z } from 'zod';
import { tenantFor } from '../backend.ts';
import { BY_ASKING } from '../cursor.ts';
import { content } from '../redaction.ts';
import { ok, route } from '../route.ts';
import {
  contentQuerySchema,
  cursorSchema,
  flagSchema,
  givenJson,
  jsonSchema,
  nameSchema,
  nextCursorSchema,
  taskIdSchema,
  tenantSchema,
  textSchema,
  timeSchema,
  workflowParams,
} from '../schemas/common.ts';

/** Approvals in one page: at most, and by default. */
const APPROVALS_MAX_COUNT = 100;
const APPROVALS_DEFAULT_COUNT = 50;

const approvalSchema = z
  .object({
    workflow: z.string(),
    tenant: z.string(),
    definition: z.string(),
    task: z.string(),
    step: z.string().meta({ description: 'The step that waits for the answer.' }),
    name: z.string(),
    assignee: z.string().nullable().meta({
      description:
        'Who is to answer: a subject, `user:…`, `group:…`, `team:…` or `role:…`; null: anybody who may decide.',
    }),
    asked_at: timeSchema,
    answerable: z.boolean().meta({ description: 'Whether you may answer it.' }),
    title: content(z.string().nullable()),
    detail: content(jsonSchema),
    form: content(jsonSchema),
  })
  .meta({ id: 'Approval', description: 'What a task asks a person. `form` is the JSON Schema of the answer.' });

type ApprovalFacts = Pick<z.output<typeof approvalSchema>, 'workflow' | 'tenant'>;

export const listApprovals = route({
  method: 'GET',
  path: '/v1/approvals',
  summary: 'List approvals: what tasks ask people, and wait for',
  description: 'The oldest first, page by page. Those of workflows that are paused or being cancelled are left out.',
  right: 'read',
  query: z.object({
    tenant: tenantSchema.optional(),
    assignee: z
      .union([nameSchema, z.array(nameSchema).min(1).max(APPROVALS_MAX_COUNT)])
      .optional()
      .meta({ description: 'Those of this assignee; several: of any of them.' }),
    mine: flagSchema.meta({ description: '`true`: those for you, under any of the names that `whoAmI` returns.' }),
    content: contentQuerySchema,
    limit: z.coerce.number().int().min(1).max(APPROVALS_MAX_COUNT).default(APPROVALS_DEFAULT_COUNT),
    cursor: cursorSchema.optional(),
  }),
  reports: ({ body }) =>
    ((body as { readonly approvals: readonly ApprovalFacts[] } | undefined)?.approvals ?? []).map((approval) => ({
      target: approval.workflow,
      tenant: approval.tenant as TenantId,
    })),
  answers: { 200: z.object({ approvals: z.array(approvalSchema), next_cursor: nextCursorSchema }) },
  async handle({ query, principal, backend, redaction }) {
    const { limit, cursor } = query;
    const page = await backend.client.approvals({
      tenant: tenantFor(principal, query.tenant, undefined),
      assignees: assigneesIn(query, principal),
      content: redaction.content,
      after: BY_ASKING.placeOf(cursor),
      limit,
    });
    const approvals = page.approvals.map(({ askedAtMs, title = null, detail = null, ...one }) => ({
      ...{ workflow: one.workflow, tenant: one.tenant, definition: one.definition, task: one.task, step: one.step },
      ...{ name: one.name, assignee: one.assignee, asked_at: isoTime(askedAtMs), title, detail, form: one.form },
      answerable: mayDo(principal, 'decide') && isAssignee(principal, one.assignee),
    }));
    return ok({ approvals, next_cursor: page.next && BY_ASKING.cursorOf(page.next) });
  },
});

export const answerApproval = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/approvals/{task}',
  summary: 'Answer what a task asks',
  description:
    'Where it names an assignee, only that person (a subject such as `token:ana` or `key:…`, or one with that `user:…`, `group:…`, `team:…` or `role:…`) or an admin may answer. The same person may repeat the same answer; a different one is refused once one was accepted.',
  right: 'decide',
  problems: ['assignee-differs', 'not-asked', 'approval-unfit', 'already-answered', 'workflow-closed'],
  params: workflowParams.extend({ task: taskIdSchema }),
  body: z
    .strictObject({
      approved: z.boolean(),
      value: givenJson.optional().meta({ description: 'What was entered in the form; absent in a rejection.' }),
      why: textSchema.optional(),
    })
    .meta({ id: 'ApprovalAnswer' }),
  answers: {
    200: z.object({
      workflow: z.string(),
      task: z.string(),
      changed: z.boolean().meta({ description: 'False: the same answer was given before.' }),
    }),
  },
  async handle({ params, body, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const { changed } = await backend.client.approve(workflow, params.task, {
      ...{ approved: body.approved, by: principal.subject, why: body.why, value: body.value },
      admit: (assignee) => checkAssignee(principal, assignee, workflow, params.task as TaskId),
    });
    return ok({ workflow, task: params.task, changed });
  },
});

/** Undefined: all. The named assignees, or those of them that are the caller's, where both are requested. */
function assigneesIn(
  { assignee, mine }: { readonly assignee?: string | readonly string[] | undefined; readonly mine: boolean },
  principal: Principal,
): readonly string[] | undefined {
  const named = assignee === undefined ? undefined : [assignee].flat();
  if (!mine) return named;
  const own = assigneeNames(principal);
  return named === undefined ? own : own.filter((name) => named.includes(name));
}

function checkAssignee(principal: Principal, assignee: string | null, workflow: WorkflowId, task: TaskId): void {
  if (isAssignee(principal, assignee)) return;
  throw new AccessError(
    'assignee-differs',
    `Task ${task} of ${workflow} does not ask ${principal.subject}. Its assignee or an admin may answer.`,
    { workflow, task },
  );
}
