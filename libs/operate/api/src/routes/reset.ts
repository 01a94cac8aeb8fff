/** Owns the operation that resets a workflow: its history ends, superseded by a run that begins at one of its checkpoints. */

import { uuidv7 } from '@tidemark/core';
import { DISCARDED_MAX_COUNT } from '@tidemark/runtime';
import { z } from 'zod';
import type { Backend } from '../backend.ts';
import { ok, route } from '../route.ts';
import { givenJson, nameSchema, textSchema, workflowParams } from '../schemas/common.ts';
import { resetFields, resetSchema } from '../schemas/reset.ts';
import { resetBy, resetJson } from '../shapes/reset.ts';

export const resetWorkflow = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/reset',
  summary: 'Reset a workflow to a checkpoint',
  description:
    'Also one that has ended. Its history ends and stays, superseded by a run that begins at the checkpoint and answers for the id from then on; the holder of a live one is fenced. Signals that came later are delivered again, approvals are asked again. Where people answered something in what is shared, or with another belief, input or discarded outcome, it needs the right to decide. The same `id` resets once.',
  right: 'operate',
  problems: [
    'sequence-unknown',
    'step-unknown',
    'effect-unknown',
    'fork-nothing-left',
    'fork-of-parent',
    'version-unknown',
    'reset-of-replay',
    'reset-of-kept',
    'reset-of-compensated',
    'workflow-reset',
    'workflow-compensating',
    'workflow-cancelling',
    'effect-open',
    'session-busy',
    'fork-too-deep',
    'reset-invalid',
    'reset-too-large',
    'signals-full',
  ],
  needs: [
    {
      of: 'decide',
      when: ({ body }) => ((body as { readonly discard?: readonly string[] }).discard ?? []).length > 0,
      why: 'discard: it takes the place of what a person would be asked, which needs the right to decide.',
    },
  ],
  params: workflowParams,
  body: z
    .strictObject({
      ...resetFields,
      why: textSchema,
      id: nameSchema.optional(),
      input: givenJson.optional().meta({ description: 'In place of its input; from the opening it begins as if new.' }),
      belief: givenJson.optional().meta({ description: 'In place of the belief at the checkpoint.' }),
      discard: z.array(nameSchema).max(DISCARDED_MAX_COUNT).optional().meta({
        description:
          'Keys of calls whose recorded outcome was wrong: they are made again. Without `at`, it begins before the step that made them.',
      }),
      same_keys: z.literal(true).optional().meta({ description: 'They are made under the keys that they had.' }),
      dry_run: z.literal(true).optional().meta({ description: 'Nothing is changed.' }),
    })
    .meta({ id: 'ResetRequest' }),
  answers: { 200: resetSchema },
  edges: {
    commands: [
      {
        name: 'reset',
        about: 'begin a run again at a checkpoint, also one that has ended: its id goes on to answer',
        takes: { workflow: ['<id>', 'id of the run'] },
        loads: true,
        makes: 'id',
        options: {
          effects: 'what becomes of later calls: kept, undone (compensated) first, or asked about',
          at: 'after this checkpoint of the run that answers now; 0: the opening',
          before: 'before the first checkpoint of this step',
          last: 'after its newest checkpoint',
          input: 'another input: JSON, @file, or - for standard input',
          belief: 'another belief: JSON, @file, or - for standard input',
          version: 'run with exactly this version of the workflow',
          discard: 'key of a call whose recorded outcome was wrong; may be repeated',
          same_keys: 'make these calls again under the keys that they had',
          dry_run: 'say what it would do, and do nothing',
          why: 'the reason, kept in the history',
        },
        says: [
          ['dry_run', '{workflow} would be superseded by {run}, from checkpoint {sequence_number} on.'],
          ['undo', '{workflow} is superseded by {run}, from checkpoint {sequence_number} on, once {undo} has ended.'],
          '{workflow} is superseded by {run}, from checkpoint {sequence_number} on.',
        ],
        warns: ['children', 'Child {workflow} ({status}): {becomes}.'],
        rows: {
          of: 'calls',
          none: 'No call was recorded after it.',
          columns: [
            ['CALL', '{idempotency_key}'],
            ['OPERATION', '{operation}', 12],
            ['WAS', '{status}'],
            ['IS', '{becomes}'],
          ],
        },
      },
    ],
  },
  async handle({ params, body, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const { same_keys: sameKeys, dry_run: dryRun, last, at, id = newId(backend), ...fields } = body;
    const place = last === true ? ('last' as const) : at;
    const options = { ...fields, id, at: place, sameKeys, dryRun, ...resetBy(principal, backend) };
    return ok(resetJson(await backend.client.reset(workflow, options)));
  },
});

const newId = ({ ports: { clock, prng } }: Backend): string => uuidv7(clock.nowMs(), prng.bytes(10));
