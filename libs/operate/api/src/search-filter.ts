/** Owns the filters by which lists and jobs find workflows, and what they mean to the store. */

import type { Principal, WorkflowSearch } from '@tidemark/ports';
import { TAGS_MAX_COUNT } from '@tidemark/runtime';
import { z } from 'zod';
import { tenantFor } from './backend.ts';
import { nameSchema, tagSchema, tenantSchema } from './schemas/common.ts';
import { statusSchema } from './schemas/workflow.ts';

export const tagsSchema = z.array(tagSchema).max(TAGS_MAX_COUNT);

export const filterFields = {
  text: nameSchema.optional().meta({
    description:
      'Each of its words begins a word of the id, the definition, the session, the user or a tag. What workflows hold is not searched.',
  }),
  status: statusSchema.optional(),
  definition: nameSchema.optional(),
  tenant: tenantSchema.optional(),
  session: nameSchema.optional(),
  user: nameSchema.optional(),
  reason: nameSchema
    .optional()
    .meta({ description: 'Why it is in that status, such as `budget_exceeded` or `paused`.' }),
  error: z
    .string()
    .regex(/^[0-9a-f]{12}$/, 'expected the fingerprint of an error: 12 hexadecimal digits')
    .optional()
    .meta({ description: 'The fingerprint of its newest error, while it has not got past it.' }),
  opened_from: z.iso.datetime({ offset: true }).optional(),
  opened_to: z.iso.datetime({ offset: true }).optional().meta({ description: 'Opened before then.' }),
} as const;

type Filter = z.output<z.ZodObject<typeof filterFields>> & {
  readonly tags?: readonly string[] | undefined;
  readonly roots?: boolean | undefined;
};

/** R1: only workflows of the caller's tenant are searched, whatever the filters say. */
export function searchOf(filter: Filter, principal: Principal): Omit<WorkflowSearch, 'limit' | 'after'> {
  const { text, status, definition, session, user, tags, reason, error, opened_from: from, opened_to: to } = filter;
  return {
    ...{ text, status, definition, session, user, reason, tags },
    failure: error,
    roots: filter.roots === true ? true : undefined,
    tenant: tenantFor(principal, filter.tenant, undefined),
    openedFromMs: from === undefined ? undefined : Date.parse(from),
    openedToMs: to === undefined ? undefined : Date.parse(to),
  };
}
