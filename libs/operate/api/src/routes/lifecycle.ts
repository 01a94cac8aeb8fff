/** Owns the routes that steer a workflow's life: cancel, terminate, pause and resume it, and let a parked one try again. */

import { decodePayload } from '@tidemark/codec';
import { isOpen, type WorkflowId } from '@tidemark/core';
import { z } from 'zod';
import type { Backend } from '../backend.ts';
import type { Call } from '../route.ts';
import { ok, route } from '../route.ts';
import { askSchema as ask, workflowParams } from '../schemas/common.ts';

/** Highest number that is reported of calls that may have happened when an end leaves them open. */
const OPEN_EFFECTS_MAX_COUNT = 100;

const changed = z
  .object({ workflow: z.string(), changed: z.boolean().meta({ description: 'False: nothing changed.' }) })
  .meta({ id: 'Changed' });

type ChangeCall = Call<z.output<typeof workflowParams>, undefined, z.output<typeof ask>>;

async function asked(call: ChangeCall, act: 'cancel' | 'terminate' | 'pause' | 'resume') {
  const { params, body, principal, backend } = call;
  const workflow = await backend.check(principal, params.workflow);
  const done = await backend.client[act](workflow, { by: principal.subject, why: body.why });
  return ok({ workflow: done.workflow, changed: done.changed });
}

const problems = ['workflow-closed', 'workflow-compensating', 'workflow-cancelling'];
const shared = {
  right: 'operate',
  problems,
  params: workflowParams,
  body: ask,
  answers: { 200: changed },
} as const;

export const cancelWorkflow = route({
  ...shared,
  method: 'POST',
  path: '/v1/workflows/{workflow}/cancel',
  summary: 'Cancel a workflow',
  description:
    'No further task starts; what was done is compensated where that is registered, and it ends as `compensated` or `failed`. Answered once the request is recorded.',
  edges: {
    commands: [
      {
        name: 'cancel',
        about:
          'end a workflow in good order: no further task starts, and what it did is compensated where that is registered',
        takes: { workflow: ['<id>', 'id of the run'] },
        says: [
          ['changed', '{workflow} is being cancelled: {holder} compensates what it can of it, and ends it.'],
          '{workflow} was cancelled before.',
        ],
      },
    ],
    forms: [
      {
        on: 'workflow',
        title: 'Cancel it?',
        verb: 'Cancel',
        isDangerous: true,
        follows: 'No further task starts. What was done is compensated where that is registered, and it ends.',
      },
    ],
  },
  handle: (call) => asked(call, 'cancel'),
});

export const terminateWorkflow = route({
  ...shared,
  method: 'POST',
  path: '/v1/workflows/{workflow}/terminate',
  summary: 'End a workflow at once',
  description: 'Even while a worker holds it; nothing is compensated.',
  edges: {
    commands: [
      {
        name: 'terminate',
        about: 'end a workflow at once, wherever it runs, without compensating anything',
        takes: { workflow: ['<id>', 'id of the run'] },
        says: [['changed', '{workflow} has ended: nothing was compensated.'], '{workflow} was ended before.'],
        warns: [
          'open_effects',
          '{operation} ({idempotency_key}) may have been called, and Tidemark no longer finds out whether it happened.',
        ],
      },
    ],
    forms: [
      {
        on: 'workflow',
        title: 'Terminate it?',
        verb: 'Terminate',
        isDangerous: true,
        follows: 'It ends at once, even while a worker holds it, and nothing is compensated.',
      },
    ],
  },
  answers: {
    200: changed
      .extend({
        open_effects: z
          .array(z.object({ operation: z.string(), idempotency_key: z.string() }))
          .meta({ description: 'Calls that may have happened; whether they did stays unknown.' }),
      })
      .meta({ id: 'Terminated' }),
  },
  async handle(call) {
    const { backend, principal, params } = call;
    const workflow = await backend.check(principal, params.workflow);
    // Runs before the action: if these can't be read, a completed action must not be reported as failed.
    const open_effects = await mayHaveHappened(backend, workflow);
    const { body } = await asked(call, 'terminate');
    return ok({ ...body, open_effects });
  },
});

/** A fork's replayed calls are answered from its base, and never made. */
async function mayHaveHappened({ reads }: Backend, workflow: WorkflowId) {
  const open = (await reads.effectListings(workflow, {})).filter(isOpen).slice(0, OPEN_EFFECTS_MAX_COUNT);
  const tasks = [...new Set(open.map(({ task }) => task))];
  const all = await Promise.all(tasks.map((task) => reads.effects(workflow, { task })));
  return all
    .flat()
    .filter((effect) => isOpen(effect))
    .filter(({ request }) => request === null || decodePayload('EffectIntended', request).replays === undefined)
    .map(({ operation, key }) => ({ operation, idempotency_key: key }));
}

export const pauseWorkflow = route({
  ...shared,
  method: 'POST',
  path: '/v1/workflows/{workflow}/pause',
  summary: 'Pause a workflow',
  description: 'No further task starts until it is resumed; what comes meanwhile is kept.',
  edges: {
    commands: [
      {
        name: 'pause',
        about: 'start no further task of a workflow until it is resumed',
        takes: { workflow: ['<id>', 'id of the run'] },
        says: [
          ['changed', '{workflow} is paused: steps under way finish, and nothing further starts.'],
          '{workflow} is paused already.',
        ],
      },
    ],
    forms: [
      {
        on: 'workflow',
        title: 'Pause it?',
        verb: 'Pause',
        when: '!is_paused',
        follows: 'Steps under way finish, and nothing further starts until it is resumed.',
      },
    ],
  },
  handle: (call) => asked(call, 'pause'),
});

export const resumeWorkflow = route({
  ...shared,
  method: 'POST',
  path: '/v1/workflows/{workflow}/resume',
  summary: 'Resume a paused workflow',
  edges: {
    commands: [
      {
        name: 'resume',
        about: 'resume a paused workflow',
        takes: { workflow: ['<id>', 'id of the run'] },
        says: [['changed', '{workflow} is resumed.'], "{workflow} isn't paused."],
      },
    ],
    forms: [
      {
        on: 'workflow',
        title: 'Resume it?',
        verb: 'Resume',
        when: 'is_paused',
        follows: 'It continues with the tasks that are ready, and with what arrived meanwhile.',
      },
    ],
  },
  handle: (call) => asked(call, 'resume'),
});

export const retryWorkflow = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/retry',
  summary: 'Let a parked workflow try again',
  description: 'Answers its question with `retry`: it resumes as if nothing had failed.',
  right: 'decide',
  problems: ['not-asked', 'workflow-closed'],
  params: workflowParams,
  body: ask,
  answers: { 200: z.object({ workflow: z.string(), question: z.string(), resolution: z.string() }) },
  async handle({ params, body, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const decision = { resolution: 'retry', by: principal.subject, why: body.why } as const;
    return ok({ ...(await backend.client.decide(workflow, decision, backend.effects)) });
  },
});
