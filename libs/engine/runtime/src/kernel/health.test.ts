/** The health of a coordinator, a worker and a loop, in time that only the test moves. */

import { UnavailableError } from '@tidemark/core';
import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { READY_LAG_KNOWN_MS, READY_LAG_MAX_EVENTS } from '../coordinator/coordinator.ts';
import { BEAT_STALL_MS } from '../worker/limits.ts';
import { startLoop } from './backoff.ts';
import { type Health, progressCheck, UNMOVED_MAX_MS } from './health.ts';

const PARTITIONS = 4;

describe('health', () => {
  let log: SimulatedLog;
  let world: SimulatedWorld;
  let isCold = false;
  beforeEach(() => {
    isCold = false;
    log = new SimulatedLog(PARTITIONS);
    world = new SimulatedWorld(log, PARTITIONS);
  });
  afterEach(() => world.close());

  const failed = ({ ready }: Health): readonly string[] =>
    ready.flatMap(({ name, reason }) => (reason === undefined ? [] : [name]));
  const whileAway = (): void => {
    if (isCold) throw new UnavailableError('store-unavailable', 'away');
  };

  it('of a coordinator: ready once it has its partitions, and not while it can not renew them', async () => {
    expect(failed(world.coordinator.health())).toEqual(['ranges', 'rows', 'lag']);
    await world.coordinator.start();
    await world.ports.clock.run(1_000);
    expect(world.coordinator.health().ready.map(({ name }) => name)).toEqual(['ranges', 'rows', 'lag', 'projection']);
    expect(failed(world.coordinator.health())).toEqual([]);
    for (const operation of ['shareRanges', 'positions'] as const) world.ports.store.on(operation, whileAway);
    isCold = true;
    await world.ports.clock.run(READY_LAG_KNOWN_MS + 10_000);
    expect(failed(world.coordinator.health())).toEqual(['ranges', 'lag']);
    // A restart would not help.
    expect(world.coordinator.health().live.filter(({ reason }) => reason !== undefined)).toEqual([]);
    isCold = false;
    await world.ports.clock.run(10_000);
    expect(failed(world.coordinator.health())).toEqual([]);
  });

  it('of a coordinator: not ready while its rows are far behind the log', async () => {
    await world.coordinator.start();
    const bounds = log.bounds.bind(log);
    let ahead = READY_LAG_MAX_EVENTS;
    log.bounds = async (partitions) => {
      const found = new Map(await bounds(partitions));
      const first = found.get(0 as never)!;
      return found.set(0 as never, { ...first, end: (first.end + ahead) as never });
    };
    await world.ports.clock.run(10_000);
    expect(failed(world.coordinator.health())).toEqual([]);
    ahead++;
    await world.ports.clock.run(10_000);
    expect(world.coordinator.health().ready.at(-1)).toEqual({
      name: 'projection',
      reason: `${ahead} events behind the log, at most ${READY_LAG_MAX_EVENTS}`,
    });
  });

  it('of a worker: ready once its beat was taken, whatever becomes of later ones, until it leaves', async () => {
    const definition = definitionOf({ belief: {}, steps: { a: () => ({ done: 1 }) } });
    const { liveness } = world.ports;
    const beat = liveness.beat.bind(liveness);
    liveness.beat = async () => false;
    const worker = await world.worker([definition]);
    await world.ports.clock.run(BEAT_STALL_MS);
    expect(failed(worker.health())).toEqual(['presence']);
    liveness.beat = beat;
    await world.ports.clock.run(1_000);
    expect(failed(worker.health())).toEqual([]);
    liveness.beat = async () => false;
    await world.ports.clock.run(2 * BEAT_STALL_MS);
    expect(failed(worker.health())).toEqual([]);
    const stopped = worker.stop(0);
    expect(failed(worker.health())).toEqual(['jobs']);
    await world.ports.clock.run(5_000);
    await stopped;
  });

  it('of a duty: given up when it does not move, and not while it moves, fails or pauses', async () => {
    const { clock } = world.ports;
    const reasonOf = (loop: { state(): ReturnType<ReturnType<typeof startLoop>['state']> }) =>
      progressCheck('x', loop.state()).reason;
    const options = { clock, periodMs: 1_000, onError: () => {} };
    let end = (): void => {};
    const stuck = startLoop(() => new Promise<void>((resolve) => (end = resolve)), options);
    const slow = startLoop(async (moved) => {
      for (let at = 0; at < 20; at++) {
        await clock.sleep(UNMOVED_MAX_MS / 10);
        moved();
      }
    }, options);
    const failing = startLoop(() => Promise.reject(new Error('away')), options);
    const pausing = startLoop(async () => {}, options);
    await clock.run(UNMOVED_MAX_MS - 1_000);
    expect(reasonOf(stuck)).toBeUndefined();
    await clock.run(2_000);
    expect(reasonOf(stuck)).toMatch(/it has made no progress for 60[01]\.?\d* s, at most 600 s/);
    for (const loop of [slow, failing, pausing]) expect(reasonOf(loop)).toBeUndefined();
    expect(failing.state().failingMs).toBeGreaterThan(UNMOVED_MAX_MS - 1_000);
    expect(pausing.state().failingMs).toBeUndefined();
    end();
    const ended = Promise.all([stuck, slow, failing, pausing].map((loop) => loop.stop()));
    await clock.run(UNMOVED_MAX_MS * 2);
    await ended;
  });
});
