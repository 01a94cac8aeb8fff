/** Owns the routes by which people and programs speak to a workflow: signals, decisions, confirmations, pins, leases. */

import { RESOLUTIONS } from '@tidemark/runtime';
import { z } from 'zod';
import { ok, route } from '../route.ts';
import { byWhy, givenJson, nameSchema, textSchema, workflowParams } from '../schemas/common.ts';
import { inQuestion, uncheckedOperation, underToken } from '../shapes/unchecked.ts';

const done = z.object({ workflow: z.string() }).meta({ id: 'Done' });
const unchecked = z.string().nullable().meta({
  description: 'The operation whose response was taken as given, since no definition that is loaded here has it.',
});

export const signalWorkflow = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/signals',
  summary: 'Send a signal',
  description:
    'Answered once the workflow has it. With a `key` it counts once, however often it is sent, as long as it is among the last 256 inbox events of the workflow. Where the definition is loaded here, the name and the value are checked against its `signals`. Without a `value` it is null.',
  right: 'operate',
  problems: ['workflow-closed', 'signals-full', 'signal-unknown', 'signal-unfit', 'signal-reserved'],
  params: workflowParams,
  body: z
    .strictObject({ name: nameSchema, value: givenJson.optional(), key: nameSchema.optional() })
    .meta({ id: 'Signal' }),
  answers: { 200: done },
  async handle({ params, body, principal, backend }) {
    const row = await backend.find(principal, params.workflow);
    const { name, value = null, key } = body;
    await backend.client.signal(row.workflow, name, value, { key, definitions: backend.definitions });
    return ok({ workflow: row.workflow });
  },
});

export const decide = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/decisions',
  summary: 'Answer the question of a parked workflow',
  description:
    'The same person may repeat the same answer; a different one is refused once one was accepted. Without `question` it answers what this very workflow asks, not one that continues it.',
  right: 'decide',
  problems: ['not-asked', 'already-decided', 'question-differs', 'resolution-unfit', 'workflow-closed'],
  params: workflowParams,
  body: z
    .strictObject({
      resolution: z.enum(
        RESOLUTIONS as readonly [string, ...string[]] as readonly ['retry', 'done', 'not-done', 'compensate', 'fail'],
      ),
      ...byWhy,
      response: givenJson
        .optional()
        .meta({ description: 'What the effect in question answered; for `done`, and only for it.' }),
      question: nameSchema.optional().meta({ description: 'The question that is answered; the open one when absent.' }),
    })
    .meta({ id: 'Decision' }),
  answers: { 200: z.object({ workflow: z.string(), question: z.string(), resolution: z.string(), unchecked }) },
  async handle({ params, body, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const of = body.response === undefined ? null : await uncheckedOperation(backend, workflow, inQuestion);
    const decided = await backend.client.decide(workflow, { ...body, by: principal.subject }, backend.effects);
    return ok({ ...decided, unchecked: of });
  },
});

export const confirm = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/confirmations',
  summary: 'Report the outcome of an effect that was accepted outside',
  description:
    'It is named by the token that its receiver gave for it; may be repeated. Give `response`, or `error` when it was not done.',
  right: 'report',
  problems: ['token-unknown', 'already-confirmed', 'workflow-closed'],
  params: workflowParams,
  body: z
    .union([
      z.strictObject({ token: nameSchema, error: textSchema }),
      z.strictObject({ token: nameSchema, response: givenJson }),
    ])
    .meta({ id: 'Confirmation' }),
  answers: { 200: z.object({ workflow: z.string(), unchecked }).meta({ id: 'Confirmed' }) },
  async handle({ params, body, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const said = 'error' in body ? { error: body.error } : { response: body.response };
    const of = 'error' in body ? null : await uncheckedOperation(backend, workflow, underToken(body.token));
    await backend.client.confirm(workflow, body.token, said, backend.effects);
    return ok({ workflow, unchecked: of });
  },
});

export const pinWorkflow = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/pin',
  summary: 'Keep a workflow to its version, or let it use newer ones',
  right: 'operate',
  problems: ['workflow-closed'],
  params: workflowParams,
  body: z.strictObject({ pinned: z.boolean(), ...byWhy }).meta({ id: 'Pin' }),
  answers: {
    200: z
      .object({ workflow: z.string(), definition: z.string(), definition_version: z.int(), pinned: z.boolean() })
      .meta({ id: 'Pinned' }),
  },
  edges: {
    commands: [
      {
        name: 'pin',
        about: 'keep a workflow to the version that it has',
        takes: { workflow: ['<id>', 'id of the run'] },
        sends: { pinned: true },
        says: '{workflow} stays with {definition} v{definition_version}.',
      },
      {
        name: 'unpin',
        about: 'let a pinned workflow use newer versions',
        takes: { workflow: ['<id>', 'id of the run'] },
        sends: { pinned: false },
        says: '{workflow} may use versions after {definition} v{definition_version}.',
      },
    ],
    forms: [
      {
        on: 'workflow',
        title: 'Keep it to version {definition_version}?',
        verb: 'Pin',
        sends: { pinned: true },
        when: '!pinned',
      },
      {
        on: 'workflow',
        title: 'Let it use newer versions?',
        verb: 'Unpin',
        sends: { pinned: false },
        when: 'pinned',
      },
    ],
  },
  async handle({ params, body, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    await backend.client.pin(workflow, { ...body, by: principal.subject });
    // The version that it is pinned to is known only now: it may have been upgraded until then.
    const { definition, version } = await backend.find(principal, workflow);
    return ok({ workflow, definition, definition_version: version, pinned: body.pinned });
  },
});

export const judgeRecord = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/judgements',
  summary: "Skip a record that can't be read, or read it again",
  description:
    'For a workflow that such a record stops: `skip` continues without it; `take` reads it again, once what was missing is back, or accepts what was written before encryption was turned on.',
  right: 'administer',
  problems: ['workflow-closed', 'record-readable', 'record-unreadable', 'opening-not-skipped'],
  params: workflowParams,
  body: z.strictObject({ judgement: z.enum(['skip', 'take']), ...byWhy }).meta({ id: 'Judgement' }),
  answers: {
    200: z
      .object({ workflow: z.string(), judgement: z.string(), offset: z.int(), problem: z.string() })
      .meta({ id: 'Judged' }),
  },
  async handle({ params, body: { judgement, why }, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const { offset, problem } = await backend.client.judge(workflow, judgement, { by: principal.subject, why });
    return ok({ workflow, judgement, offset, problem });
  },
});

export const revokeLease = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/revocations',
  summary: 'Revoke the live lease of a workflow',
  description:
    'Another worker resumes the workflow; whatever the former holder still writes is rejected. Null: nobody held it.',
  right: 'operate',
  problems: ['workflow-closed'],
  params: workflowParams,
  answers: {
    200: z.object({
      workflow: z.string(),
      lease: z.object({ epoch: z.int(), holder: z.string() }).nullable(),
    }),
  },
  edges: {
    forms: [
      {
        on: 'workflow',
        title: 'Revoke its lease?',
        verb: 'Revoke its lease',
        isDangerous: true,
        follows:
          'Another worker resumes from the last checkpoint. Whatever the present holder still writes is rejected.',
        when: 'holder',
      },
    ],
  },
  async handle({ params, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const lease = await backend.client.revoke(workflow);
    return ok({ workflow, lease: lease && { epoch: lease.epoch, holder: lease.holder } });
  },
});
