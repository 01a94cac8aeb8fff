/** Owns the route that returns all that happened to a workflow, in short: every accepted event without its content, from any tier. */

import { isoTime, type Offset } from '@tidemark/core';
import { type AcceptedEvent, eventsThrough, openingOffset } from '@tidemark/runtime';
import { z } from 'zod';
import type { Redaction } from '../redaction.ts';
import { ok, route } from '../route.ts';
import { jsonSchema, positionSchema, timeSchema, workflowParams } from '../schemas/common.ts';
import { reportedControl } from '../shapes/control.ts';

/** Events of a timeline in one answer; they are small. */
const TIMELINE_PAGE_COUNT = 20_000;

const momentSchema = z
  .object({
    position: z.int(),
    type: z.string(),
    at: timeSchema,
    epoch: z.int(),
    holder: z.string().nullable(),
    control: z
      .record(z.string(), jsonSchema)
      .meta({ description: 'The clear part without digests and declared tasks.' }),
  })
  .meta({ id: 'Moment', description: "An accepted event in a workflow's timeline, without its content." });

export const getTimeline = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/timeline',
  summary: 'All that happened to a workflow, in short',
  description:
    'Every accepted event from position `from` on, without content: who held the workflow when, its checkpoints, effects, failures, signals and decisions. `next_from` is where the next page begins.',
  right: 'read',
  problems: ['history-forgotten', 'object-archived', 'store-rebuilding'],
  params: workflowParams,
  query: z.object({ from: positionSchema.default(1) }),
  answers: { 200: z.object({ moments: z.array(momentSchema), next_from: z.int().nullable() }) },
  async handle({ params, query, principal, backend, redaction, signal }) {
    const row = await backend.find(principal, params.workflow);
    const opening = await openingOffset(backend.reads, row.workflow);
    const moments: z.input<typeof momentSchema>[] = [];
    for await (const event of eventsThrough(backend.ports.log, row, [opening, Number.MAX_SAFE_INTEGER as Offset])) {
      signal.throwIfAborted();
      // No answer contains what rows don't hold yet.
      if (event.position > row.position) break;
      if (event.position >= query.from) moments.push(momentOf(event, redaction));
      if (moments.length === TIMELINE_PAGE_COUNT) break;
    }
    const last = moments.at(-1)?.position ?? row.position;
    return ok({ moments, next_from: last >= row.position ? null : last + 1 });
  },
});

function momentOf({ position, envelope }: AcceptedEvent, redaction: Redaction): z.input<typeof momentSchema> {
  const { type, atMs, epoch, holder, control } = envelope;
  const shown = Object.entries(reportedControl(control, redaction)).filter(
    ([name]) => !/Digest$|^(tasks|dispatch|trace)$/.test(name),
  );
  return {
    ...{ position, type, epoch },
    at: isoTime(atMs),
    holder: holder === '' ? null : holder,
    control: Object.fromEntries(shown) as z.input<typeof momentSchema>['control'],
  };
}
