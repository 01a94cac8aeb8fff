/** Owns the routes about budgets: what may be spent, what was spent, and raising the limit. */

import { DEFAULT_TENANT, NO_SPEND, spendJson, streamFromJson, type TenantId } from '@tidemark/core';
import { sharedSpends, spentByWorkflow } from '@tidemark/runtime';
import { z } from 'zod';
import { tenantFor, tenantToChange, unknownWorkflow } from '../backend.ts';
import { ok, route } from '../route.ts';
import { byWhy, nameSchema, spendShape, tenantSchema, workflowParams } from '../schemas/common.ts';

const amount = z.int().min(0);
const spendSchema = z.object(spendShape).meta({ id: 'Spend' });

export const getWorkflowSpend = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/budget',
  summary: 'What a workflow has spent, and what was added to its budgets',
  right: 'read',
  params: workflowParams,
  answers: {
    200: z.object({
      workflow: z.string(),
      tenant: z.string(),
      user: z.string().nullable(),
      spent: spendSchema.meta({ description: 'Spent and reserved.' }),
      raised: z.object({ tokens: z.number(), cost_micros: z.number() }),
    }),
  },
  async handle({ params, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const [snapshot] = await backend.ports.store.loadStreams([workflow], { payloads: false });
    if (snapshot === undefined) throw unknownWorkflow(workflow);
    const state = streamFromJson(snapshot.state, snapshot.tasks);
    const { tenant, user = null, raised = NO_SPEND } = state;
    const added = { tokens: raised.tokens, cost_micros: raised.costMicros };
    return ok({ workflow, tenant, user, spent: spendJson(spentByWorkflow(state)), raised: added });
  },
});

export const raiseBudget = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/budget',
  summary: 'Let a workflow spend more',
  description: 'Added to its budgets; one that is paused for lack of budget resumes.',
  right: 'administer',
  problems: ['workflow-closed', 'budget-invalid'],
  params: workflowParams,
  body: z
    .strictObject({ tokens: amount.optional(), cost_micros: amount.optional(), ...byWhy })
    .meta({ id: 'BudgetRaise' }),
  answers: { 200: z.object({ workflow: z.string() }) },
  async handle({ params, body, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const { tokens, cost_micros: costMicros, why } = body;
    await backend.client.memory.raiseBudget(workflow, { tokens, costMicros, by: principal.subject, why });
    return ok({ workflow });
  },
});

const PERIODS = ['hour', 'day', 'month', 'total'] as const;

const whose = z.object({
  tenant: tenantSchema.optional(),
  user: nameSchema.optional().meta({ description: "A user's; without it the tenant's own." }),
});

export const listBudgets = route({
  method: 'GET',
  path: '/v1/budgets',
  summary: 'Budgets of a tenant and of one of its users, with what was spent of them',
  description:
    'Those that are set. `reserved` is what calls under way may cost at most; what is `unknown` is held as well.',
  right: 'read',
  query: whose,
  answers: {
    200: z.object({
      budgets: z.array(
        z.object({
          of: z.string(),
          tokens: z.number().nullable(),
          cost_micros: z.number().nullable(),
          period: z.string(),
          spent: spendSchema,
          reserved: spendSchema,
        }),
      ),
    }),
  },
  async handle({ query, principal, backend }) {
    const tenant = tenantFor(principal, query.tenant, DEFAULT_TENANT);
    const found = await sharedSpends(backend.ports, tenant, query.user);
    const budgets = found.map(({ of, budget, spent }) => ({
      of,
      tokens: budget.tokens ?? null,
      cost_micros: budget.costMicros ?? null,
      period: budget.period,
      spent: spendJson(spent.settled),
      reserved: spendJson(spent.reserved),
    }));
    return ok({ budgets });
  },
});

export const setBudget = route({
  method: 'PUT',
  path: '/v1/budgets',
  summary: 'Set or remove a budget',
  description:
    'Of the tenant, or of one of its users. Without `tokens` and `cost_micros` it is removed. Workflows that are paused for lack of it check it again.',
  right: 'administer',
  problems: ['tenant-invalid', 'budget-invalid'],
  query: whose,
  reports: ({ query }) => {
    const tenant = (query.tenant ?? DEFAULT_TENANT) as TenantId;
    return [{ target: String(query.user ?? tenant), tenant }];
  },
  body: z
    .strictObject({
      tokens: amount.optional(),
      cost_micros: amount.optional(),
      period: z.enum(PERIODS).default('total'),
    })
    .meta({ id: 'Budget' }),
  answers: { 200: z.object({ tenant: z.string(), user: z.string().nullable() }) },
  async handle({ query, body, principal, backend }) {
    const tenant = tenantToChange(principal, query.tenant, DEFAULT_TENANT);
    const { user } = query;
    const { tokens, cost_micros: costMicros, period } = body;
    const budget = tokens === undefined && costMicros === undefined ? undefined : { tokens, costMicros, period };
    await backend.client.memory.setBudget(tenant, user === undefined ? {} : { user }, budget);
    return ok({ tenant, user: user ?? null });
  },
});
