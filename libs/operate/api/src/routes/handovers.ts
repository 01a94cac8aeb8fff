/** Owns the route that lists how a workflow's phases handed over to one another, and how the keys of two hand-overs differ. */

import { InvalidError, isoTime } from '@tidemark/core';
import { type PhaseHandover, phaseHandovers } from '@tidemark/runtime';
import { z } from 'zod';
import { HANDOVERS_MAX_COUNT } from '../limits.ts';
import { content } from '../redaction.ts';
import { ok, route } from '../route.ts';
import { sequenceSchema, timeSchema, workflowParams } from '../schemas/common.ts';

const keysSchema = z.array(z.string()).readonly();

const handoverSchema = z
  .object({
    sequence_number: z.int().meta({ description: 'The checkpoint that handed over.' }),
    at: timeSchema,
    system_context_version: z
      .int()
      .meta({ description: 'Version of the definition whose system context was in force.' }),
    from_phase: z.string().nullable(),
    to_phase: z.string(),
    carried_keys: keysSchema.meta({ description: 'Keys that the new phase began with.' }),
    left_keys: keysSchema.meta({ description: 'Keys that stayed behind, and are out of scope from then on.' }),
    summary: content(z.string()),
    against: z
      .int()
      .nullable()
      .meta({ description: 'The hand-over that its carried keys are compared with; null: there is none before it.' }),
    added_keys: keysSchema,
    removed_keys: keysSchema,
    kept_keys: keysSchema,
  })
  .meta({ id: 'PhaseHandover', description: 'What a phase of a workflow handed over to the next one.' });

export const listPhaseHandovers = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/handovers',
  summary: 'Hand-overs between the phases of a workflow',
  description:
    'The newest first. The carried keys of each are compared with those of the hand-over before it, or of the one that `against` names. Those that a fork shares are its base’s.',
  right: 'read',
  problems: ['handover-unknown', 'store-rebuilding'],
  params: workflowParams,
  query: z.object({
    before: sequenceSchema.optional().meta({ description: 'Those before this sequence.' }),
    against: sequenceSchema.optional().meta({ description: 'The sequence of the hand-over to compare with.' }),
    limit: z.coerce.number().int().min(1).max(HANDOVERS_MAX_COUNT).default(20),
  }),
  answers: { 200: z.object({ handovers: z.array(handoverSchema), next_before: z.int().nullable() }) },
  async handle({ params, query, principal, backend }) {
    const { reads } = backend;
    const { workflow, sequence } = await backend.find(principal, params.workflow);
    const { before = sequence + 1, against, limit } = query;
    // One more shows whether there is another page, and is what the last one is compared with.
    const found = await phaseHandovers(reads, workflow, { before: Math.min(before, sequence + 1), limit: limit + 1 });
    const other = against === undefined ? undefined : await oneAt(reads, workflow, against);
    const page = found.slice(0, limit);
    const handovers = page.map((each, at) => handoverJson(each, other ?? found[at + 1]));
    return ok({ handovers, next_before: found.length > limit ? page.at(-1)!.sequence : null });
  },
});

async function oneAt(
  reads: Parameters<typeof phaseHandovers>[0],
  workflow: Parameters<typeof phaseHandovers>[1],
  sequence: number,
): Promise<PhaseHandover> {
  const [found] = await phaseHandovers(reads, workflow, { before: sequence + 1, limit: 1 });
  if (found?.sequence === sequence) return found;
  throw new InvalidError(
    'handover-unknown',
    `against: checkpoint ${sequence} of ${workflow} handed nothing over to another phase. Give the sequence_number of a hand-over.`,
    { workflow, sequence },
  );
}

function handoverJson(each: PhaseHandover, other: PhaseHandover | undefined) {
  const { sequence, atMs, version, from, to, carried, left, summary } = each;
  const [now, before] = [new Set(carried), new Set(other?.carried)];
  return {
    sequence_number: sequence,
    ...{ at: isoTime(atMs), system_context_version: version },
    ...{ from_phase: from, to_phase: to, carried_keys: carried, left_keys: left, summary },
    against: other?.sequence ?? null,
    added_keys: carried.filter((key) => !before.has(key)),
    removed_keys: [...before].filter((key) => !now.has(key)),
    kept_keys: carried.filter((key) => before.has(key)),
  };
}
