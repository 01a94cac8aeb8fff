/** Owns the routes about agents that run elsewhere: how their runs compare, the shares that are observed and run here, and who runs an id. */

import { isoTime } from '@tidemark/core';
import { SHADOW_OBSERVE_MS, SHADOW_SHARES, SHADOW_WORKFLOWS_MIN, type ShadowAccount } from '@tidemark/runtime';
import { z } from 'zod';
import { content } from '../redaction.ts';
import { ok, type RequestParts, route } from '../route.ts';
import { flagSchema, nameSchema, timeSchema } from '../schemas/common.ts';

const shared = {
  params: z.object({ definition: nameSchema.meta({ description: 'Name of the agent, as it reports.' }) }),
  problems: ['rows-behind'],
  reports: ({ params }: RequestParts) => [{ target: String(params.definition), tenant: null }],
} as const;

const differenceSchema = z.object({
  workflow: z.string(),
  sequence: z.int().meta({ description: 'Of the checkpoint; 0: the opening.' }),
  path: z.string(),
  what: z.string(),
});

const shadowSchema = z
  .object({
    definition: z.string(),
    share: z.int().meta({ description: 'Percent of its workflows; 0: none is observed.' }),
    active: z.int().meta({ description: 'Percent that Tidemark runs itself, of those; 0: the agent runs all.' }),
    since: timeSchema.nullable(),
    by: z.string().nullable(),
    observe_ms: z.int().nullable().meta({ description: 'What was asked for when it was promoted.' }),
    runs_min: z.int().nullable(),
    steps: z.int().meta({ description: 'Steps that were compared.' }),
    agreed: z.int().meta({ description: 'Runs that ended and agree in everything.' }),
    differing: z.int(),
    open: z.int(),
    incomplete: z.int().meta({ description: 'Runs of which reports were lost.' }),
    difference_count: z.int(),
    cut: z.boolean().meta({ description: 'Older runs were not compared.' }),
    differences: content(z.array(differenceSchema).readonly()).meta({ description: 'The first 1,000.' }),
  })
  .meta({ id: 'Shadow', description: 'How the observed runs of an agent compare since its share was set.' });

function shadowJson(account: ShadowAccount, seesDifferences: boolean): z.input<typeof shadowSchema> {
  const { rollout } = account;
  return {
    definition: account.definition,
    share: rollout?.share ?? 0,
    active: rollout?.active ?? 0,
    since: rollout === undefined ? null : isoTime(rollout.sinceMs),
    by: rollout?.by ?? null,
    observe_ms: rollout?.observeMs ?? null,
    runs_min: rollout?.workflowsMin ?? null,
    steps: account.stepCount,
    agreed: account.agreedCount,
    differing: account.differingCount,
    open: account.openCount,
    incomplete: account.incompleteCount,
    difference_count: account.differenceCount,
    cut: account.isCut,
    ...(seesDifferences && { differences: account.differences }),
  };
}

const OF_ALL = {
  of: 'all-tenants',
  why: 'Runs of all tenants are compared together: only callers of all tenants may read this, and promote.',
} as const;

export const getShadow = route({
  ...shared,
  method: 'GET',
  path: '/v1/shadows/{definition}',
  summary: 'How the observed runs of an agent compare',
  description:
    'Rebuilt from the log of every run that was opened since the share was set, at most the newest 10,000. With `differences` each of them is listed, which needs the right to content. For callers of all tenants.',
  right: 'read',
  needs: [
    OF_ALL,
    {
      of: 'content',
      when: ({ query }) => query.differences === true,
      why: "differences: they need the right 'content'; leave it out.",
    },
  ],
  query: z.object({ differences: flagSchema }),
  answers: { 200: shadowSchema },
  async handle({ params, query: { differences }, backend }) {
    return ok(shadowJson(await backend.client.shadows.account(params.definition), differences));
  },
});

export const routeShadow = route({
  ...shared,
  method: 'POST',
  path: '/v1/shadows/{definition}/routes/{id}',
  summary: 'Who runs a workflow of an agent',
  description:
    'To be asked before it begins: the agent itself, unobserved (`agent`) or observed, or Tidemark, where it is to be started. It follows from the id and the shares. What is left to the agent is recorded, and stays with it whatever the shares become; so asking again is harmless. For callers of all tenants.',
  right: 'operate',
  needs: [OF_ALL],
  problems: [...shared.problems, 'workflow-id-invalid', 'workflow-id-reserved'],
  params: shared.params.extend({ id: nameSchema.meta({ description: 'The agent’s own id of the run.' }) }),
  answers: { 200: z.object({ route: z.enum(['agent', 'observed', 'tidemark']) }).meta({ id: 'ShadowRoute' }) },
  async handle({ params: { definition, id }, backend }) {
    return ok({ route: await backend.client.route({ name: definition }, { id }) });
  },
});

export const promoteShadow = route({
  ...shared,
  method: 'POST',
  path: '/v1/shadows/{definition}/promotions',
  summary: 'Observe, or run, another share of an agent’s runs',
  description:
    'To the next share only after its observation, with enough runs that agree, and without a difference; `refusals` says what is missing. A lower share, or the present one, is always accepted, and restarts the observation. With the mode `active` it is the share that Tidemark runs itself, of what is observed; `observe` without `to` ends that. For callers of all tenants.',
  right: 'operate',
  needs: [OF_ALL],
  problems: [...shared.problems, 'rollout-changed', 'shadow-share-invalid', 'shadow-promotion-invalid'],
  body: z
    .strictObject({
      mode: z.enum(['observe', 'active']).default('observe'),
      to: z.literal(SHADOW_SHARES).optional(),
      observe_ms: z.int().min(0).default(SHADOW_OBSERVE_MS),
      runs: z.int().min(1).max(999_999).default(SHADOW_WORKFLOWS_MIN),
    })
    .meta({ id: 'ShadowPromotion' }),
  answers: {
    200: z
      .object({
        promoted: z.boolean(),
        from: z.int(),
        to: z.int(),
        by: z.string(),
        refusals: z.array(z.object({ code: z.string(), message: z.string() })).readonly(),
        shadow: shadowSchema.meta({ description: 'What it was judged by.' }),
      })
      .meta({ id: 'ShadowPromoted' }),
  },
  async handle({ params, body, principal, backend, redaction }) {
    const { mode, to: wanted, observe_ms: observeMs, runs: workflowsMin } = body;
    const { subject: by } = principal;
    const how = { mode, to: wanted, by, observeMs, workflowsMin };
    const { from, to, refusals, account } = await backend.client.shadows.promote(params.definition, how);
    const shadow = shadowJson(account, redaction.content);
    return ok({ promoted: refusals.length === 0, from, to, by, refusals, shadow });
  },
});
