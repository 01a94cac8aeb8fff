/** The model of capacity: its simulation against queueing theory, and its arithmetic against what must hold. */

import { describe, expect, it } from 'vitest';
import { costsFrom, MEASURED, roles } from './costs.ts';
import { boundsOf, DEFAULT_SHAPE, sizeOf } from './model.ts';
import { type SimulatedWay, simulate } from './simulation.ts';

describe('the simulation', () => {
  /** One thread alone: what comes after it takes no time. */
  const thread = (perWorkerPerS: number): SimulatedWay => ({
    ...{ perWorkerPerS, workerMs: 1, workersPerBroker: 1, brokerCores: 1, brokerMs: 0, requestMs: 0 },
    ...{ roundTripMs: 0, gatherMs: 0, beforeShare: 1 },
  });

  it.for([0.3, 0.6, 0.85])('agrees with theory on one server with constant service at %d', (utilisation) => {
    const { meanMs, workerBusy } = simulate(thread(utilisation * 1_000), 400_000);
    // Pollaczek-Khinchine for M/D/1: service and half of what M/M/1 would wait.
    const expected = 1 + utilisation / (2 * (1 - utilisation));
    expect(workerBusy).toBeCloseTo(utilisation, 1);
    expect(meanMs / expected).toBeGreaterThan(0.95);
    expect(meanMs / expected).toBeLessThan(1.05);
  });

  it('is the sum of its parts where nobody waits', () => {
    const way = { ...thread(1), workerMs: 4, beforeShare: 0.5, brokerMs: 1, requestMs: 2, roundTripMs: 5 };
    expect(simulate(way, 500).p50Ms).toBeCloseTo(12);
  });

  it('takes larger requests as more waits, so that a slow round trip costs time and not throughput', () => {
    const slow = (roundTripMs: number) =>
      simulate({ ...thread(500), requestMs: 0.1, brokerMs: 0.1, roundTripMs }, 50_000);
    expect(slow(1).batch).toBeLessThan(2);
    expect(slow(100).batch).toBeGreaterThan(40);
    // One that comes while a request is under way waits for it and then for its own.
    expect(slow(100).p50Ms).toBeGreaterThan(140);
    expect(slow(100).p99Ms).toBeLessThan(250);
  });

  it('gathers for so long that requests leave as far apart as they must, and no longer', () => {
    const { batch, p50Ms, p99Ms } = simulate({ ...thread(500), gatherMs: 20 }, 50_000);
    expect(batch).toBeCloseTo(10, 0);
    expect(p50Ms).toBeGreaterThan(9);
    expect(p99Ms).toBeLessThan(24);
  });
});

describe('the sizing', () => {
  const load = { workflows: 100_000, checkpointsPerS: 20_000, lifeS: 600 };
  const size = sizeOf(load, MEASURED, DEFAULT_SHAPE);

  it('leaves each worker and coordinator at the chosen utilisation or below', () => {
    const busy = (us: number, processes: number): number => (us * load.checkpointsPerS) / 1e6 / processes;
    expect(busy(MEASURED.cpuUs.worker, size.workers)).toBeLessThanOrEqual(DEFAULT_SHAPE.utilisation);
    expect(busy(MEASURED.cpuUs.coordinator, size.coordinators)).toBeLessThanOrEqual(DEFAULT_SHAPE.utilisation);
    expect(size.workers).toBeGreaterThanOrEqual(load.workflows / DEFAULT_SHAPE.workerConcurrency);
  });

  it('grows with the rate where the rate is what it takes, and not where workflows are', () => {
    const more = sizeOf({ ...load, checkpointsPerS: 200_000 }, MEASURED, DEFAULT_SHAPE);
    expect(more.log.bytesPerS).toBeCloseTo(size.log.bytesPerS * 10);
    expect(more.coordinators).toBeGreaterThan(size.coordinators * 9);
    expect({ partitions: more.partitions, leases: more.leaseRowsPerS }).toEqual({
      partitions: size.partitions,
      leases: size.leaseRowsPerS,
    });
  });

  it('shares partitions where there are more workflows than they may be', () => {
    expect(size.workflowsPerPartition).toBeCloseTo(100_000 / 4_096);
    const few = sizeOf({ ...load, workflows: 1_000 }, MEASURED, DEFAULT_SHAPE);
    expect(few).toMatchObject({ partitions: 1_024, workflowsPerPartition: 1, log: { gapBytesPerS: 0 } });
    expect(size.log.gapBytesPerS).toBeGreaterThan(20 * size.log.bytesPerS);
    expect(few.brokers).toBeGreaterThanOrEqual(DEFAULT_SHAPE.replication);
  });

  it('names the tightest bound first', () => {
    const used = boundsOf(load, size, MEASURED, DEFAULT_SHAPE, 64).map((bound) => bound.used);
    expect(used).toEqual(used.toSorted((a, b) => b - a));
  });
});

describe('costs of a run', () => {
  const lines = [
    ...roles.map((role) => ({ name: `load.cpu.${role}.us_per_checkpoint`, value: 10 })),
    { name: 'load.events', value: 130 },
    { name: 'load.checkpoints', value: 100 },
    { name: 'load.event_bytes', value: 900 },
  ];
  const text = (some: readonly object[]): string => some.map((line) => JSON.stringify(line)).join('\n');

  it('are read from its JSON lines', () => {
    expect(costsFrom(text(lines))).toMatchObject({ eventsPerCheckpoint: 1.3, eventBytes: 900, cpuUs: { kafka: 10 } });
  });

  it('must be whole', () => {
    expect(() => costsFrom(text(lines.slice(1)))).toThrow(/no load\.cpu\.worker\.us_per_checkpoint/);
  });
});
