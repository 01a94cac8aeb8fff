import type { PoolDemand } from '@tidemark/runtime';
import { z } from 'zod';
import { ok, route } from '../route.ts';
import { nameSchema } from '../schemas/common.ts';

const ageSchema = z.int().meta({
  description:
    'Age in milliseconds of the oldest poll of the rows that it is based on. A view older than 15 s is refused (503).',
});

const poolSchema = z
  .object({
    pool: z.string(),
    in_flight: z.int().meta({ description: 'Workflows that live workers hold, until they release them.' }),
    backlog: z.int().meta({ description: 'Workflows that could run, without a worker.' }),
    recovery_debt: z.int().meta({ description: 'Workflows that a dead worker held, and no other has claimed yet.' }),
    demand: z.int().meta({ description: 'The sum of these three: how many workflows need a worker.' }),
    busy_workers: z.int().meta({ description: 'Live workers that hold a workflow.' }),
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
      why: 'The demand of pools is of all tenants together: only callers of all tenants may read it.',
    },
  ],
} as const;
const problems = ['demand-unknown'];

export const listPools = route({
  ...shared,
  path: '/v1/scaling',
  summary: 'How much work there is for each pool of workers',
  description:
    'Of the whole fleet, from any coordinator; answered from memory, so it may be polled often. 503 while it is not known.',
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
