/** Owns the operations on signals of a workflow that no step has read: which there are, to amend one, and to discard one. */

import { leftOf, streamFromJson } from '@tidemark/core';
import { z } from 'zod';
import { unknownWorkflow } from '../backend.ts';
import { ok, route } from '../route.ts';
import { byWhy, givenJson, nameSchema, workflowParams } from '../schemas/common.ts';

export const listUnreadSignals = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/signals/unread',
  summary: "A workflow's signals that no step has read",
  description:
    'In the order in which tasks would receive them, each with the id of its event; one may come while the last step runs, or wait for a task that never comes. After the end: those that no task awaited.',
  right: 'read',
  problems: ['store-rebuilding'],
  params: workflowParams,
  answers: {
    200: z
      .object({ workflow: z.string(), signals: z.array(z.object({ name: z.string(), event: z.string() })) })
      .meta({ id: 'UnreadSignals' }),
  },
  edges: {
    commands: [
      {
        name: 'signals list',
        isDefault: true,
        about: 'the signals of a workflow that no step has read; after its end, those that no task awaited',
        takes: { workflow: ['<id>', 'id of the run'] },
        rows: {
          of: 'signals',
          none: 'Every signal that {workflow} accepted was read by a step, or none came.',
          columns: [
            ['SIGNAL', '{name}', 12],
            ['EVENT', '{event}'],
          ],
        },
      },
    ],
  },
  async handle({ params, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const [snapshot] = await backend.reads.loadStreams([workflow], { payloads: false });
    if (snapshot === undefined) throw unknownWorkflow(workflow);
    const left = leftOf(streamFromJson(snapshot.state, snapshot.tasks));
    return ok({ workflow, signals: left.map(({ name, event }) => ({ name, event })) });
  },
});

const signalParams = workflowParams.extend({ event: nameSchema.meta({ description: 'The event that brought it.' }) });
const changed = z
  .object({ workflow: z.string(), signal: z.string(), changed: z.boolean() })
  .meta({ id: 'ChangedSignal', description: '`changed` is false where the same change was made before.' });
const problems = ['workflow-closed', 'signal-read'];
const takes = {
  workflow: ['<id>', 'id of the run'],
  event: ['<event>', 'its event, as tidemark signals has it'],
} as const;

export const amendSignal = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/signals/unread/{event}/amend',
  summary: 'Give an unread signal another value',
  description:
    'It keeps its place, and the history keeps both values. Checked as a signal is. One that a step has read, or may be reading, is refused: pause the workflow first.',
  right: 'operate',
  problems: [...problems, 'signal-unknown', 'signal-unfit', 'signals-full'],
  params: signalParams,
  body: z.strictObject({ value: givenJson, ...byWhy }).meta({ id: 'AmendSignal' }),
  answers: { 200: changed },
  edges: {
    commands: [
      {
        name: 'signals amend',
        about: 'give an unread signal another value',
        takes,
        options: { value: 'the value: JSON, @file, or - for standard input' },
        says: [['changed', '{signal} of {workflow} has another value now.'], 'It was amended so before.'],
      },
    ],
  },
  async handle({ params, body, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const change = { by: principal.subject, why: body.why, definitions: backend.definitions };
    const done = await backend.client.amendSignal(workflow, params.event, body.value, change);
    return ok({ workflow, signal: params.event, ...done });
  },
});

export const discardSignal = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/signals/unread/{event}/discard',
  summary: 'Discard an unread signal',
  description:
    'No step ever gets it; a task for which it came waits again. One that a step has read, or may be reading, is refused: pause the workflow first.',
  right: 'operate',
  problems,
  params: signalParams,
  body: z.strictObject({ ...byWhy }).meta({ id: 'DiscardSignal' }),
  answers: { 200: changed },
  edges: {
    commands: [
      {
        name: 'signals discard',
        about: 'let no step ever get an unread signal',
        takes,
        says: [['changed', '{signal} of {workflow} is discarded.'], 'It was discarded before.'],
      },
    ],
  },
  async handle({ params, body, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const ask = { by: principal.subject, why: body.why };
    const done = await backend.client.discardSignal(workflow, params.event, ask);
    return ok({ workflow, signal: params.event, ...done });
  },
});
