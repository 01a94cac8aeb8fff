/** Owns the route that returns who the caller is here and what it may do, so that a client offers nothing that would be refused. */

import { assigneeNames } from '@tidemark/access';
import { mayDo, RIGHTS, ROLES } from '@tidemark/ports';
import { z } from 'zod';
import { ok, route } from '../route.ts';
import { OWN_VERSION } from '../version.ts';

export const whoAmI = route({
  method: 'GET',
  path: '/v1/me',
  summary: 'Who you are here, and what you may do',
  description: 'So that a program that shows these routes to people offers no button that would be refused.',
  right: 'read',
  answers: {
    200: z
      .object({
        subject: z.string(),
        tenant: z.string().nullable().meta({ description: 'Null: may see all tenants.' }),
        kind: z.enum(['key', 'token', 'local']),
        roles: z.array(z.enum(ROLES)).readonly(),
        rights: z.array(z.enum(RIGHTS)),
        asked_as: z
          .array(z.string())
          .readonly()
          .meta({ description: 'Names of assignees for whom you may answer approvals.' }),
        server: z.object({
          version: z.string(),
          holder: z
            .object({ pid: z.int(), command: z.string() })
            .nullable()
            .meta({ description: 'The command that holds the folder; null where state is in no folder.' }),
        }),
      })
      .meta({ id: 'Me' }),
  },
  handle: async ({ principal, backend }) => {
    const { subject, tenant, kind, roles } = principal;
    const rights = RIGHTS.filter((right) => mayDo(principal, right));
    const server = { version: OWN_VERSION, holder: backend.holder ?? null };
    return ok({ subject, tenant, kind, roles, rights, asked_as: assigneeNames(principal), server });
  },
});
