/** Owns what a reset is asked to do, of one workflow or of many, and what it reports. */

import { z } from 'zod';
import { nameSchema } from './common.ts';

/** What a reset is asked to do, of one workflow or of many. */
export const resetFields = {
  effects: z.enum(['keep', 'undo', 'ask']).meta({
    description:
      'What becomes of calls that were made after the checkpoint. `keep`: what was done answers the same call again, and only the rest is called. `undo`: it is compensated, then called again; what has no compensation is asked about. `ask`: a person decides before it is called again.',
  }),
  at: z.int().min(0).optional().meta({
    description: 'The checkpoint after which it begins, of the run that answers for the id now; 0: the opening.',
  }),
  before: nameSchema.optional().meta({ description: 'In place of `at`: before the first checkpoint of this step.' }),
  last: z.literal(true).optional().meta({ description: 'In place of `at`: after its newest checkpoint.' }),
  version: z.int().min(0).optional().meta({ description: 'It runs with exactly this version of its definition.' }),
} as const;

const becomesSchema = z.enum(['kept', 'undone', 'asked', 'called']);

export const resetSchema = z
  .object({
    workflow: z.string(),
    run: z.string().meta({ description: 'The run that supersedes it, and answers for its id.' }),
    sequence_number: z.int(),
    created: z.boolean().meta({ description: 'False: it was made before by the same `id`, or is only planned.' }),
    undo: z.string().nullable().meta({ description: 'The undo after whose end the run begins.' }),
    calls: z
      .array(
        z.object({ idempotency_key: z.string(), operation: z.string(), status: z.string(), becomes: becomesSchema }),
      )
      .meta({ description: 'Calls after the checkpoint; the first hundred.' }),
    call_count: z.int(),
    children: z
      .array(
        z.object({
          workflow: z.string(),
          status: z.string(),
          becomes: z.enum(['cancelled', 'terminated', 'runs-on', 'answers', 'stays']).meta({
            description:
              '`answers`: its end is what the same task gets again. `stays`: as it is, and the task starts another.',
          }),
        }),
      )
      .meta({ description: 'Children that were started after the checkpoint; the first hundred.' }),
  })
  .meta({ id: 'Reset' });
