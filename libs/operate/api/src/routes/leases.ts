/** Owns the operation that says what workers hold: which run is on which of them, and whether that one lives. */

import { isSystemDefinition } from '@tidemark/core';
import { z } from 'zod';
import { tenantFor } from '../backend.ts';
import { BY_WORKFLOW } from '../cursor.ts';
import { ok, route } from '../route.ts';
import { nameSchema, nextCursorSchema, paged } from '../schemas/common.ts';
import { whose } from '../whose.ts';

const held = { workflow: z.string(), tenant: z.string(), definition: z.string(), holder: z.string(), epoch: z.int() };
const alive = z.boolean().nullable().meta({ description: 'Null: not known yet.' });

export const listLeases = route({
  method: 'GET',
  path: '/v1/leases',
  summary: 'List what workers hold',
  description: 'In order of ids. What a dead worker holds, another one takes over within seconds.',
  right: 'read',
  query: whose.extend({
    worker: nameSchema.optional().meta({ description: 'Of this worker: a `holder` in the state of the fleet.' }),
    ...paged,
  }),
  answers: { 200: z.object({ leases: z.array(z.object({ ...held, alive })), next_cursor: nextCursorSchema }) },
  edges: {
    commands: [
      {
        name: 'leases',
        about: 'which run is on which worker, and whether that one lives',
        options: { tenant: 'of this tenant only', worker: 'of this worker only' },
        rows: {
          of: 'leases',
          none: 'Nothing of {tenant|any tenant} is held by {worker|any worker}.',
          columns: [
            ['WORKER', '{holder}', 12],
            ['ALIVE', '{alive|not known}'],
            ['WORKFLOW', '{workflow}', 12],
            ['OF', '{definition}', 10],
          ],
        },
      },
    ],
  },
  async handle({ query: { limit, cursor, worker, ...of }, principal, backend, fleet }) {
    const only = tenantFor(principal, of.tenant, undefined) ?? null;
    const after = BY_WORKFLOW.placeOf(cursor)?.workflow ?? '';
    const [all, { workers }] = [await backend.reads.leases(), await fleet.view(only)];
    const lives = new Map(workers.map(({ holder, alive }) => [holder, alive]));
    const rows = all.flatMap(({ workflow, tenant, definition, holder, epoch }) => {
      const isAsked = (only ?? tenant) === tenant && (worker ?? holder) === holder && workflow > after;
      const row = { workflow, tenant, definition, holder, epoch, alive: lives.get(holder) ?? null };
      return isAsked && !isSystemDefinition(definition) ? [row] : [];
    });
    rows.sort((a, b) => (a.workflow < b.workflow ? -1 : 1));
    const { page, next_cursor } = BY_WORKFLOW.pageIn(rows, limit);
    return ok({ leases: [...page], next_cursor });
  },
});
