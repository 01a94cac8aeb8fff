/** Who runs beside whom: a run that kills its workers is found among its neighbours, and none of those waits for a person. */

import type { Partition, WorkflowId } from '@tidemark/core';
import { definitionOf, effectOf, entriesOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Company } from './company.ts';

const never = new AbortController().signal;

describe('a company', () => {
  const narrowed: (number | undefined)[] = [];
  const memberOf = (besideMax?: number) => {
    const stop = {
      isHeld: false,
      aborted: false,
      hold: () => {
        stop.isHeld = true;
      },
    };
    return { besideMax, stop };
  };

  beforeEach(() => {
    narrowed.length = 0;
  });

  it('lets everybody in while nobody is suspected, and narrows nothing', () => {
    const company = new Company((max) => narrowed.push(max));
    expect(Array.from({ length: 100 }, () => company.join(memberOf())).every((each) => each)).toBe(true);
    expect(narrowed).toEqual([]);
  });

  it('makes room for a suspect by handing over the newest, and takes no more until it has made progress', async () => {
    const company = new Company((max) => narrowed.push(max));
    const others = Array.from({ length: 4 }, () => memberOf());
    for (const other of others) company.join(other);
    const suspect = memberOf(1);
    expect(company.join(suspect)).toBe(true);
    // Nobody is sent away for one that is not claimed yet.
    expect(others.some(({ stop }) => stop.isHeld)).toBe(false);
    const room = company.room(suspect);
    expect(others.map(({ stop }) => stop.isHeld)).toEqual([false, true, true, true]);
    expect(narrowed).toEqual([2]);
    // Meanwhile nobody else begins here.
    expect(company.join(memberOf())).toBe(false);
    company.leave(others[3]!);
    company.leave(others[2]!);
    expect(company.isWaiting(suspect)).toBe(true);
    company.leave(others[1]!);
    await room;
    expect(company.isWaiting(suspect)).toBe(false);
    expect(company.join(memberOf())).toBe(false);
    company.restrict(suspect, undefined);
    expect(narrowed).toEqual([2, undefined]);
    expect(company.join(memberOf())).toBe(true);
  });

  it('one that is to be alone is not sent away for another, nor waited for', () => {
    const company = new Company((max) => narrowed.push(max));
    const [first, second] = [memberOf(0), memberOf(0)];
    expect([company.join(first), company.join(second)]).toEqual([true, false]);
    expect(first.stop.isHeld).toBe(false);
    company.leave(first);
    expect(company.join(second)).toBe(true);
    company.leave(second);
    expect(narrowed).toEqual([1, undefined, 1, undefined]);
  });

  it('keeps a share of what runs: runs go as they come between two steps, and none comes in their place until it may take more', async () => {
    const company = new Company((max) => narrowed.push(max));
    const members = Array.from({ length: 4 }, () => memberOf());
    const [first, second, third] = members;
    for (const member of members) company.join(member);
    let hasLeft = false;
    const left = company.keep(2).then(() => {
      hasLeft = true;
    });
    expect(narrowed).toEqual([2]);
    // What was on its way is let in.
    const late = memberOf();
    expect(company.join(late)).toBe(true);
    for (const member of [second!, third!, late, first!]) company.between(member);
    expect([...members, late].map(({ stop }) => stop.isHeld)).toEqual([false, true, true, false, true]);
    for (const member of [second!, third!]) company.leave(member);
    await Promise.resolve();
    expect(hasLeft).toBe(false);
    company.leave(late);
    await left;
    await company.keep(Number.POSITIVE_INFINITY);
    expect(narrowed).toEqual([2, undefined]);
  });

  it('counts who goes already as gone, and whoever waits for a share hears of the next', async () => {
    const company = new Company(() => {});
    const members = Array.from({ length: 6 }, () => memberOf());
    for (const member of members) company.join(member);
    const asked = company.keep(4);
    for (const member of members) company.between(member);
    const lifted = company.keep(Number.POSITIVE_INFINITY);
    await Promise.all([asked, lifted]);
    void company.keep(4);
    for (const member of members) company.between(member);
    expect(members.filter(({ stop }) => stop.isHeld)).toHaveLength(2);
  });

  it('keeps a share beside a suspect that allows fewer', async () => {
    const company = new Company((max) => narrowed.push(max));
    const suspect = memberOf(2);
    company.join(suspect);
    await company.keep(5);
    expect(narrowed).toEqual([3]);
    company.restrict(suspect, undefined);
    await company.keep(Number.POSITIVE_INFINITY);
    expect(narrowed).toEqual([3, 5, undefined]);
  });

  it('whoever leaves while waiting leaves nothing behind', async () => {
    const company = new Company((max) => narrowed.push(max));
    company.join(memberOf());
    const suspect = memberOf(0);
    company.join(suspect);
    const room = company.room(suspect);
    company.leave(suspect);
    await room;
    expect(narrowed).toEqual([1, undefined]);
    expect(company.join(memberOf())).toBe(true);
  });
});

describe('runs that kill their workers', () => {
  const PARTITIONS = 64;
  const STEP_MS = 20_000;
  const LONG_MS = 900_000;
  let log: SimulatedLog;
  let world: SimulatedWorld;

  beforeEach(async () => {
    log = new SimulatedLog(PARTITIONS);
    world = new SimulatedWorld(log, PARTITIONS);
    await world.coordinator.start();
  });

  afterEach(() => world.close());

  const slow = definitionOf({
    name: 'slow',
    steps: { a: async () => world.ports.clock.sleep(STEP_MS, never).then(() => ({ done: 'end' })) },
  });
  const poison = definitionOf({ name: 'poison', steps: { a: () => ({ done: 'lived' }) } });

  /** A worker that dies in a step of `poison` if that attempt is deadly, and then another; the number of deaths. */
  async function beginWorkers(isDeadly: (attempt: number) => boolean): Promise<() => number> {
    let [deaths, attempts] = [0, 0];
    const begin = async (): Promise<void> => {
      const deadly = {
        ...poison,
        steps: definitionOf({
          steps: {
            a: async () => {
              // Its neighbours are all there by then.
              await world.ports.clock.sleep(1_000, never);
              if (!isDeadly(attempts++)) return { done: 'lived' };
              deaths++;
              await worker.die();
              void begin();
              return new Promise(() => {});
            },
          },
        }).steps,
      };
      const worker = await world.worker([slow, deadly]);
    };
    await begin();
    return () => deaths;
  }

  async function startAll(counts: { readonly slow: number; readonly poison: number }): Promise<readonly WorkflowId[]> {
    const before = await Promise.all(
      Array.from({ length: counts.slow / 2 }, (_, at) => world.start(slow, null, { id: `before${at}` })),
    );
    for (let at = 0; at < counts.poison; at++) await world.start(poison, null, { id: `guilty${at}` });
    const after = Array.from({ length: counts.slow / 2 }, (_, at) => world.start(slow, null, { id: `after${at}` }));
    return [...before, ...(await Promise.all(after))];
  }

  /** Runs until each has ended or waits for a person. */
  const settled = (all: readonly WorkflowId[]): Promise<number> => {
    const isSettled = (each: WorkflowId): boolean => ['completed', 'parked'].includes(world.status(each)!);
    return world.ports.clock.runUntil(() => all.every(isSettled), LONG_MS);
  };

  it.each([1, 2])(
    '%i of them: found and parked, and no neighbour is, though none gets on between two deaths',
    async (count) => {
      const deaths = await beginWorkers(() => true);
      const neighbours = await startAll({ slow: 24, poison: count });
      for (let at = 0; at < count; at++) {
        await world.until(`guilty${at}` as WorkflowId, 'parked', LONG_MS);
        expect(world.ports.store.rows.get(`guilty${at}` as WorkflowId)!.stream.reason).toBe('recovery-limit');
      }
      const crashes = neighbours.map(
        (each) => JSON.parse(world.ports.store.rows.get(each)!.stream.state).crashCount ?? 0,
      );
      expect(crashes).toEqual(neighbours.map(() => 0));
      await settled(neighbours);
      expect(neighbours.map((each) => world.status(each))).toEqual(neighbours.map(() => 'completed'));
      expect(deaths()).toBeLessThanOrEqual(11 * count);
    },
  );

  it('one that kills two workers of three ends as its neighbours do', async () => {
    const deaths = await beginWorkers((attempt) => attempt % 3 !== 2);
    const neighbours = await startAll({ slow: 24, poison: 1 });
    const all = [...neighbours, 'guilty0' as WorkflowId];
    await settled(all);
    expect(all.map((each) => world.status(each))).toEqual(all.map(() => 'completed'));
    expect(deaths()).toBe(2);
  });

  it('a suspect makes room on one worker alone, however long the steps there are', async () => {
    let isDeadly = true;
    const suspect = definitionOf({
      name: 'poison',
      steps: {
        a: async () => {
          if (!isDeadly) return { done: 'lived' };
          await worker.die();
          return new Promise(() => {});
        },
      },
    });
    let worker = await world.worker([suspect]);
    const run = await world.start(poison, null, { id: 'suspect' });
    for (let deaths = 0; deaths < 2; deaths++) {
      await world.ports.clock.run(10_000);
      if (deaths === 0) worker = await world.worker([suspect]);
    }
    expect(JSON.parse(world.ports.store.rows.get(run)!.stream.state)).toMatchObject({ crashCount: 2, besideMax: 0 });
    await world.client.pause(run, { by: 'ana', why: 'test' });
    isDeadly = false;
    const pause = () => world.ports.clock.sleep(STEP_MS, never);
    const twice = definitionOf({
      name: 'twice',
      steps: {
        a: async () => pause().then(() => ({ next: [{ step: 'b', input: null }] })),
        b: async () => pause().then(() => ({ done: 'end' })),
      },
    });
    for (let at = 0; at < 3; at++) await world.worker([twice, suspect], { concurrency: 10 });
    const others = await Promise.all(Array.from({ length: 24 }, (_, at) => world.start(twice, null, { id: `n${at}` })));
    await world.ports.clock.run(2_000);
    await world.client.resume(run, { by: 'ana', why: 'test' });
    await settled([run, ...others]);
    expect([run, ...others].every((each) => world.status(each) === 'completed')).toBe(true);
    const events = await Promise.all(Array.from({ length: PARTITIONS }, (_, at) => entriesOf(log, at as Partition)));
    const handedOver = events
      .flat()
      .filter((entry) => entry.kind === 'event' && entry.envelope.type === 'LeaseReleased')
      .filter(
        (entry) =>
          entry.kind === 'event' && 'reason' in entry.envelope.control && entry.envelope.control.reason === 'drain',
      ).length;
    expect(handedOver).toBeGreaterThan(0);
    expect(handedOver).toBeLessThanOrEqual(10);
  });

  it('a worker that dies every few seconds of something else finishes a step of many calls', async () => {
    const call = effectOf({ kind: 'idempotent', call: () => world.ports.clock.sleep(1_000, never).then(() => 'ok') });
    const long = definitionOf({
      name: 'long',
      steps: {
        a: async (context) => {
          for (let at = 0; at < 40; at++) await context.effect(call, { at });
          return { done: 'end' };
        },
      },
    });
    let worker = await world.worker([long]);
    const run = await world.start(long, null, { id: 'long' });
    let deaths = 0;
    while (world.status(run) !== 'completed' && world.status(run) !== 'parked') {
      await world.ports.clock.run(3_000 + 1_500 * (deaths++ % 5));
      await worker.die();
      worker = await world.worker([long]);
    }
    expect(world.status(run)).toBe('completed');
    expect(deaths).toBeGreaterThan(5);
  });
});
