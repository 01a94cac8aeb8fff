/** Owns the types of the API's chapter "Scaling". Made by `node scripts/client-types.ts` from the declarations of the routes. */

export interface ScalingEndpoints {
  /** How much work there is for each pool of workers */
  readonly 'GET /v1/scaling': {
    readonly input: unknown;
    readonly answer: {
      readonly pools: readonly PoolDemand[];
      /** Demand for which no pool is named (TIDEMARK_POOLS). */
      readonly unassigned: number;
      /** Age in milliseconds of the oldest poll of the rows that it is based on. A view older than 15 s is refused (503). */
      readonly age_ms: number;
    };
  };
  /** The same of one pool */
  readonly 'GET /v1/scaling/{pool}': {
    readonly input: unknown;
    readonly answer: {
      readonly pool: string;
      /** Workflows that live workers hold, until they release them. */
      readonly in_flight: number;
      /** Workflows that could run, without a worker. */
      readonly backlog: number;
      /** Workflows that a dead worker held, and no other has claimed yet. */
      readonly recovery_debt: number;
      /** The sum of these three: how many workflows need a worker. */
      readonly demand: number;
      /** Live workers that hold a workflow. */
      readonly busy_workers: number;
      /** Workflows that could run if their queue were not paused; no part of the demand. */
      readonly held: number;
      /** Workflows that could run if their limits were not reached; no part of the demand. */
      readonly limited: number;
      /** Age in milliseconds of the oldest poll of the rows that it is based on. A view older than 15 s is refused (503). */
      readonly age_ms: number;
    };
  };
}

export interface PoolDemand {
  readonly pool: string;
  /** Workflows that live workers hold, until they release them. */
  readonly in_flight: number;
  /** Workflows that could run, without a worker. */
  readonly backlog: number;
  /** Workflows that a dead worker held, and no other has claimed yet. */
  readonly recovery_debt: number;
  /** The sum of these three: how many workflows need a worker. */
  readonly demand: number;
  /** Live workers that hold a workflow. */
  readonly busy_workers: number;
  /** Workflows that could run if their queue were not paused; no part of the demand. */
  readonly held: number;
  /** Workflows that could run if their limits were not reached; no part of the demand. */
  readonly limited: number;
}
