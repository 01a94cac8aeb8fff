/** Owns the operation that counts errors that are alike. */

import { decodePayload } from '@tidemark/codec';
import { isoTime, type StreamState, type TenantId, type WorkflowId } from '@tidemark/core';
import { z } from 'zod';
import { type Backend, tenantFor } from '../backend.ts';
import { content } from '../redaction.ts';
import { ok, route } from '../route.ts';
import { contentQuerySchema, nameSchema, tenantSchema, timeSchema } from '../schemas/common.ts';

/** Newest events of a workflow among which its error is searched for. */
const EVENTS_READ_COUNT = 50;

const errorSchema = z
  .object({
    fingerprint: z.string().meta({ description: 'By which lists and jobs find its workflows (`error`).' }),
    definition: z.string(),
    step: z.string().meta({ description: "Empty: it is no step's." }),
    code: z.string(),
    message: content(z.string()).meta({ description: 'Of the newest.' }),
    count: z.int().meta({ description: 'Workflows that have not got past it.' }),
    parked_count: z.int().meta({ description: 'Of these: those that wait for a person.' }),
    failed_count: z.int().meta({ description: 'Of these: those that have failed.' }),
    newest: z.string().meta({ description: 'The workflow that was opened last.' }),
    tenant: z.string().meta({ description: 'Whose that is.' }),
    at: timeSchema.meta({ description: 'When that changed last.' }),
  })
  .meta({ id: 'Error' });

type Failing = Required<Pick<StreamState, 'failure' | 'definition' | 'tenant'>> & {
  readonly failure: NonNullable<StreamState['failure']>;
};

export const listErrors = route({
  method: 'GET',
  path: '/v1/errors',
  summary: 'Count errors that are alike',
  description:
    'The commonest first: of workflows that have not got past them, those that are tried again included. Errors are alike in definition, step, code and message without numbers, ids, times and quoted values; where histories are encrypted, in definition, step and code. A workflow that failed counts until its history is archived.',
  right: 'read',
  query: z.object({
    tenant: tenantSchema.optional(),
    definition: nameSchema.optional(),
    content: contentQuerySchema,
    limit: z.coerce.number().int().min(1).max(100).default(20),
  }),
  reports: ({ body }) =>
    ((body as { readonly errors: readonly z.output<typeof errorSchema>[] } | undefined)?.errors ?? []).map(
      ({ newest, tenant }) => ({ target: newest, tenant: tenant as TenantId }),
    ),
  answers: { 200: z.object({ errors: z.array(errorSchema) }) },
  edges: {
    commands: [
      {
        name: 'errors',
        about: "errors that are alike, with their workflows' number; ls and jobs find these by --error",
        options: { tenant: 'of this tenant only', definition: 'of runs of this workflow only' },
        rows: {
          of: 'errors',
          none: [
            ['definition', 'No run of {definition} has an error that it has not got past.'],
            ['tenant', 'No workflow of {tenant} has an error that it has not got past.'],
            'No workflow has an error that it has not got past.',
          ],
          columns: [
            ['ERROR', '{fingerprint}'],
            ['COUNT', '{count}', 'right'],
            ['PARKED', '{parked_count}', 'right'],
            ['FAILED', '{failed_count}', 'right'],
            ['OF', '{definition} {step}', 10],
            ['CODE', '{code}', 8],
            ['NEWEST', '{newest}'],
            ['SAYS', '{message}', 20],
          ],
          note: 'tidemark ls --error ERROR lists them; tidemark jobs start retry --error ERROR tries again those that are parked.',
        },
      },
    ],
  },
  async handle({ query: { limit, definition, tenant }, principal, backend, redaction }) {
    const of = { tenant: tenantFor(principal, tenant, undefined), definition };
    const found = await backend.reads.failureCounts(of, limit);
    const errors = found.map(async ({ fingerprint, state, newest, ...counts }) => {
      const { failure, definition, tenant } = JSON.parse(state) as Failing;
      return {
        ...{ fingerprint, definition, step: failure.step, code: failure.code },
        ...(redaction.content && { message: await messageOf(backend, newest, fingerprint) }),
        ...{ count: counts.count, parked_count: counts.parkedCount, failed_count: counts.failedCount },
        ...{ newest, tenant, at: isoTime(counts.updatedAtMs) },
      };
    });
    return ok({ errors: await Promise.all(errors) });
  },
});

/** Empty where it isn't among the newest events any more. */
async function messageOf({ reads }: Backend, workflow: WorkflowId, fingerprint: string): Promise<string> {
  const events = await reads.events(workflow, EVENTS_READ_COUNT);
  const failed = events.findLast(({ control }) => control.includes(`"fingerprint":"${fingerprint}"`));
  return failed === undefined ? '' : decodePayload('StepFailed', failed.payload).error.message;
}
