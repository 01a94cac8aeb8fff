import type { PoolDemand } from '@tidemark/runtime';
import { z } from 'zod';
import { ok, route } from '../route.ts';
import { nameSchema } from '../schemas/common.ts';

const ageSchema = z.int().meta({
  description:
    'Age in milliseconds of the oldest look at the rows that it rests on. What is older than 15 s is not told (503).',
});

const poolSchema = z
  .object({
    pool: z.string(),
    in_flight: z
      .int()
      .meta({ description: 'Workflows in the hands of living workers: what is in progress counts to its end.' }),
    backlog: z.int().meta({ description: 'Workflows that could run, without a worker.' }),
    recovery_debt: z.int().meta({ description: 'Workflows that a dead worker had, and no other has yet.' }),
    demand: z.int().meta({ description: 'The sum of these three: for as many there must be workers.' }),
    busy_workers: z.int().meta({ description: 'Living workers that have something in flight.' }),
    held: z.int().meta({
      description: 'Workflows that could run if their queue were not paused; no part of the demand.',
    }),
    limited: z.int().meta({
      description: 'Workflows that could run if their limits were not reached; no part of the demand.',
    }),
  })
  .meta({ id: 'PoolDemand' });

const poolJson = (demand: PoolDemand): z.input<typeof poolSchema> => ({
  pool: demand.pool,
  in_flight: demand.inFlightCount,
  backlog: demand.backlogCount,
  recovery_debt: demand.recoveryDebtCount,
  demand: demand.demandCount,
  busy_workers: demand.busyWorkerCount,
  held: demand.heldCount,
  limited: demand.limitedCount,
});

const shared = {
  method: 'GET',
  right: 'scale',
  needs: [
    {
      of: 'all-tenants',
      why: 'The demand of pools is of all tenants together: only callers of all tenants are told.',
    },
  ],
} as const;
const problems = ['right-missing', 'demand-unknown'];

export const listPools = route({
  ...shared,
  path: '/v1/scaling',
  summary: 'How much work there is for each pool of workers',
  description:
    'Of the whole, whichever coordinator is asked; from memory, so that it may be asked often. 503 where it is not known.',
  problems,
  answers: {
    200: z.object({
      pools: z.array(poolSchema),
      unassigned: z.int().meta({ description: 'Demand for which no pool is named (TIDEMARK_POOLS).' }),
      age_ms: ageSchema,
    }),
  },
  async handle({ backend }) {
    const { pools, unassignedCount, ageMs } = backend.demand.snapshot();
    return ok({ pools: pools.map(poolJson), unassigned: unassignedCount, age_ms: Math.round(ageMs) });
  },
});

export const getPool = route({
  ...shared,
  path: '/v1/scaling/{pool}',
  summary: 'The same of one pool',
  description: "What KEDA's scaler `metrics-api` asks, with the value `demand`.",
  problems: [...problems, 'pool-unknown'],
  params: z.object({
    pool: nameSchema.meta({ description: 'As TIDEMARK_POOLS names it; `default` where that is empty.' }),
  }),
  answers: { 200: poolSchema.extend({ age_ms: ageSchema }) },
  async handle({ params, backend }) {
    const demand = backend.demand.of(params.pool);
    return ok({ ...poolJson(demand), age_ms: Math.round(demand.ageMs) });
  },
});
