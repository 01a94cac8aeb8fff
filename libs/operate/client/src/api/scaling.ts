/** Owns the types of the API's chapter "Scaling". Made by `node scripts/client-types.ts` from the declarations of the routes. */

export interface ScalingEndpoints {
  /** How much work there is for each pool of workers */
  readonly 'GET /v1/scaling': {
    readonly input: unknown;
    readonly answer: {
      readonly pools: readonly PoolDemand[];
      /** Demand for which no pool is named (TIDEMARK_POOLS). */
      readonly unassigned: number;
      /** Age in milliseconds of the oldest look at the rows that it rests on. What is older than 15 s is not told (503). */
      readonly age_ms: number;
    };
  };
  /** The same of one pool */
  readonly 'GET /v1/scaling/{pool}': {
    readonly input: unknown;
    readonly answer: {
      readonly pool: string;
      /** Workflows in the hands of living workers: what is in progress counts to its end. */
      readonly in_flight: number;
      /** Workflows that could run, without a worker. */
      readonly backlog: number;
      /** Workflows that a dead worker had, and no other has yet. */
      readonly recovery_debt: number;
      /** The sum of these three: for as many there must be workers. */
      readonly demand: number;
      /** Living workers that have something in flight. */
      readonly busy_workers: number;
      /** Workflows that could run if their queue were not paused; no part of the demand. */
      readonly held: number;
      /** Workflows that could run if their limits were not reached; no part of the demand. */
      readonly limited: number;
      /** Age in milliseconds of the oldest look at the rows that it rests on. What is older than 15 s is not told (503). */
      readonly age_ms: number;
    };
  };
}

export interface PoolDemand {
  readonly pool: string;
  /** Workflows in the hands of living workers: what is in progress counts to its end. */
  readonly in_flight: number;
  /** Workflows that could run, without a worker. */
  readonly backlog: number;
  /** Workflows that a dead worker had, and no other has yet. */
  readonly recovery_debt: number;
  /** The sum of these three: for as many there must be workers. */
  readonly demand: number;
  /** Living workers that have something in flight. */
  readonly busy_workers: number;
  /** Workflows that could run if their queue were not paused; no part of the demand. */
  readonly held: number;
  /** Workflows that could run if their limits were not reached; no part of the demand. */
  readonly limited: number;
}
