/** Owns the operation that says which signals of a workflow no step has read. */

import { leftOf, streamFromJson } from '@tidemark/core';
import { z } from 'zod';
import { unknownWorkflow } from '../backend.ts';
import { ok, route } from '../route.ts';
import { workflowParams } from '../schemas/common.ts';

export const listUnreadSignals = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/signals/unread',
  summary: "A workflow's signals that no step has read",
  description:
    'In the order in which tasks would receive them, each with the id of its event; one may come while the last step runs, or wait for a task that never comes. After the end: those that no task awaited.',
  right: 'read',
  problems: ['workflow-unknown', 'store-rebuilding'],
  params: workflowParams,
  answers: {
    200: z
      .object({ workflow: z.string(), signals: z.array(z.object({ name: z.string(), event: z.string() })) })
      .meta({ id: 'UnreadSignals' }),
  },
  edges: {
    commands: [
      {
        name: 'signals',
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
