/**
 * Owns the arithmetic of capacity: from a load and measured costs to processes, machines, partitions, bytes and rates. Linear wherever nothing
 * better is known, which is said in docs/scaling.md. Pure; what queueing adds is in simulation.ts.
 */

import type { Costs } from './costs.ts';

export interface Load {
  readonly workflows: number;
  /** Of all together. */
  readonly checkpointsPerS: number;
  /** Mean life of a workflow, in seconds: how often one is started, claimed and ended. */
  readonly lifeS: number;
}

/** What a deployment chooses. */
export interface Shape {
  readonly replication: number;
  readonly coresPerMachine: number;
  /** Share of a core or machine that is used on purpose: the rest is for peaks, take-overs and rolling upgrades. */
  readonly utilisation: number;
  /** Replicas of partitions that a broker may have. */
  readonly replicasPerBroker: number;
  /** Largest pool of partitions (`TIDEMARK_PARTITIONS_MAX`). */
  readonly partitionsMax: number;
  /** Workflows that one worker runs at once (`TIDEMARK_CONCURRENCY`). */
  readonly workerConcurrency: number;
  readonly hotDays: number;
  readonly warmDays: number;
  /** Segment bytes for each byte of log. */
  readonly segmentRatio: number;
}

export const DEFAULT_SHAPE: Shape = {
  replication: 3,
  coresPerMachine: 8,
  utilisation: 0.5,
  replicasPerBroker: 4_000,
  partitionsMax: 4_096,
  workerConcurrency: 1_000,
  hotDays: 7,
  warmDays: 90,
  segmentRatio: 0.25,
};

export interface Size {
  /** Processes: each of a worker and a coordinator has one thread that does the work. */
  readonly workers: number;
  readonly coordinators: number;
  readonly compactors: number;
  readonly brokers: number;
  readonly brokerCores: number;
  readonly postgresCores: number;
  /** Machines of `coresPerMachine` for all of it, the brokers and Postgres on their own. */
  readonly machines: number;
  readonly partitions: number;
  /** Live workflows in one partition; 1: exclusive. */
  readonly workflowsPerPartition: number;
  readonly log: {
    readonly bytesPerS: number;
    /** With copies for replicas and what projectors and compactors read. */
    readonly brokerOutBytesPerS: number;
    /** What holders read of others' events in a shared partition, at most: each reads all of them once. */
    readonly gapBytesPerS: number;
    /** On all brokers' disks, with replicas. */
    readonly hotBytes: number;
  };
  readonly archive: { readonly bytesPerDay: number; readonly warmBytes: number };
  readonly postgres: { readonly checkpointRowsPerS: number; readonly hotRows: number };
  readonly redis: { readonly commandsPerS: number };
  /** Rows of leases that each coordinator reads a second, whatever the rate is. */
  readonly leaseRowsPerS: number;
}

const DAY_S = 86_400;
/** Beats a second of each worker, and what one beat tells of each lease, as the runtime has it (BEAT_PERIOD_MS, LEASE_LOOK_PERIOD_MS). */
const BEATS_PER_S = 4;
const LEASE_LOOKS_PER_S = 1;
/** Commands of the queue for one run of a workflow: added, taken, extended, done. An estimate. */
const COMMANDS_PER_JOB = 12;
/** Hints are gathered: each process that appends publishes so often at most, a second. An estimate. */
const HINTS_PER_S = 200;

const whole = (value: number): number => Math.max(1, Math.ceil(value - 1e-9));

export function sizeOf({ workflows, checkpointsPerS, lifeS }: Load, costs: Costs, shape: Shape): Size {
  const coresOf = (us: number): number => (us * checkpointsPerS) / 1e6;
  const { cpuUs } = costs;
  // A process in which one thread works has one core, however many the machine has.
  const processes = (us: number): number => whole(coresOf(us) / shape.utilisation);
  const workers = Math.max(processes(cpuUs.worker), whole(workflows / shape.workerConcurrency));
  const coordinators = Math.max(2, processes(cpuUs.coordinator));
  const compactors = processes(cpuUs.compactor);
  // Followers write what leaders write; what that costs was not measured, and is taken as half of it.
  const brokerCores = (coresOf(cpuUs.kafka) * (1 + (shape.replication - 1) / 2)) / shape.utilisation;
  const partitions = Math.min(shape.partitionsMax, powerOfTwo(workflows));
  const brokers = Math.max(
    shape.replication,
    whole(brokerCores / shape.coresPerMachine),
    whole((partitions * shape.replication) / shape.replicasPerBroker),
  );
  const postgresCores = coresOf(cpuUs.postgres) / shape.utilisation;
  const bytesPerS = checkpointsPerS * costs.eventsPerCheckpoint * costs.eventBytes;
  const perDay = bytesPerS * DAY_S;
  const workflowsPerPartition = Math.max(1, workflows / partitions);
  return {
    ...{ workers, coordinators, compactors, brokers, brokerCores, postgresCores, partitions },
    machines:
      brokers +
      whole((workers + coordinators + compactors) / shape.coresPerMachine) +
      whole(postgresCores / shape.coresPerMachine) +
      1,
    workflowsPerPartition,
    log: {
      bytesPerS,
      brokerOutBytesPerS: bytesPerS * (shape.replication - 1 + 2),
      gapBytesPerS: bytesPerS * (workflowsPerPartition - 1),
      hotBytes: perDay * shape.hotDays * shape.replication,
    },
    archive: { bytesPerDay: perDay * shape.segmentRatio, warmBytes: perDay * shape.segmentRatio * shape.warmDays },
    postgres: { checkpointRowsPerS: checkpointsPerS, hotRows: checkpointsPerS * DAY_S * shape.hotDays },
    redis: {
      commandsPerS:
        workers * BEATS_PER_S + (workflows / lifeS) * COMMANDS_PER_JOB + (workers + coordinators) * HINTS_PER_S,
    },
    leaseRowsPerS: workflows * LEASE_LOOKS_PER_S,
  };
}

const powerOfTwo = (count: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, count)));

export interface Bound {
  readonly what: string;
  /** Share of it that is used at this load, where 1 is all; larger: it doesn't fit. */
  readonly used: number;
  readonly why: string;
}

/** What can't be had by adding processes of ours, the tightest first. */
export function boundsOf(
  load: Load,
  size: Size,
  costs: Costs,
  shape: Shape,
  postgresCoresMax: number,
): readonly Bound[] {
  const bounds: Bound[] = [
    {
      what: 'one Postgres',
      used: (size.postgresCores * shape.utilisation) / postgresCoresMax,
      why: `rows of every checkpoint go to one primary; ${postgresCoresMax} cores are taken as its most`,
    },
    {
      what: 'exclusive partitions',
      used: load.workflows / shape.partitionsMax,
      why: 'beyond it live workflows of a tenant share a partition, and an append comes upon others’ events that must be read first',
    },
    {
      what: 'looks at leases',
      used: size.leaseRowsPerS / LEASE_ROWS_PER_S_MAX,
      why: `each coordinator reads every lease once a second; ${LEASE_ROWS_PER_S_MAX} rows a second are taken as what one can`,
    },
    {
      what: 'one Redis',
      used: (costs.cpuUs.redis * load.checkpointsPerS) / 1e6,
      why: 'it has one thread',
    },
  ];
  return bounds.toSorted((a, b) => b.used - a.used);
}

/** What one coordinator can read and look through beside its other work. An estimate, not measured. */
const LEASE_ROWS_PER_S_MAX = 100_000;
