/**
 * A task that failed for good is retried when workers of another build announce themselves: once for each build, on that build, without a
 * loop.
 */

import { holderId } from '@tidemark/core';
import { controlsOf, definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Definition } from '../definition/definition.ts';
import type { Inbox } from '../lease/index.ts';
import { NewBuilds } from './new-builds.ts';

describe('a task that failed on one build', () => {
  let log: SimulatedLog;
  let world: SimulatedWorld;
  /** Steps that began, with the build on which they did. */
  let begun: string[];

  beforeEach(async () => {
    log = new SimulatedLog(4);
    world = new SimulatedWorld(log, 4);
    begun = [];
    await world.coordinator.start();
  });
  afterEach(() => world.close());

  const agent = (build: string, isBroken: boolean, onFailure: Definition['onFailure'] = 'retry-on-new-build') =>
    definitionOf({
      onFailure,
      steps: {
        plan: () => {
          begun.push(`plan ${build}`);
          return { next: [{ step: 'act', input: { cents: 5 } }] };
        },
        act: () => {
          begun.push(`act ${build}`);
          if (isBroken) throw new TypeError(`a bug of ${build}`);
          return { done: build };
        },
      },
    });
  const deploy = (build: string, isBroken: boolean, onFailure?: Definition['onFailure']) =>
    world.worker([agent(build, isBroken, onFailure)], { build });
  const start = (id = 'w') => world.start(agent('caller', false), null, { id });
  const decided = async () => (await controlsOf(log, 'RetryDecided')).map(({ build }) => build);
  const aWhile = () => world.ports.clock.run(60_000);

  it('goes on where it failed when another build announces itself, and nothing before it is done again', async () => {
    await deploy('one', true);
    const w = await start();
    await world.until(w, 'parked');
    const [asked] = await world.ports.store.workflows({ status: 'parked', limit: 1 });
    expect(asked).toMatchObject({ question: { code: 'step-failed' }, failedOn: { builds: ['one'] } });
    // Another worker of the same build changes nothing.
    await deploy('one', true);
    await aWhile();
    expect(world.status(w)).toBe('parked');
    await deploy('two', false);
    await world.until(w, 'completed', 2_000);
    expect(begun).toEqual(['plan one', 'act one', 'act two']);
    expect(await decided()).toEqual(['two']);
  });

  it('goes on on the new build while most workers are of the old one, and fails on these no more', async () => {
    for (let n = 0; n < 3; n++) await deploy('one', true);
    const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => start(`w${n}`)));
    for (const id of ids) await world.until(id, 'parked');
    expect(begun.filter((step) => step === 'act one')).toHaveLength(20);
    await deploy('two', false);
    const tookMs = [];
    for (const id of ids) tookMs.push(await world.until(id, 'completed'));
    expect(tookMs.reduce((sum, ms) => sum + ms)).toBeLessThan(2_000);
    expect(begun.filter((step) => step === 'act one')).toHaveLength(20);
    expect(begun.filter((step) => step === 'act two')).toHaveLength(20);
    // What fails on an old worker while the new one lives is retried there as well.
    const late = await Promise.all(Array.from({ length: 8 }, (_, n) => start(`late${n}`)));
    for (const id of late) await world.until(id, 'completed');
    expect(begun.filter((step) => step === 'act one').length).toBeGreaterThan(20);
  });

  it('parks again on a build that fails as well, and waits for the next: builds that failed beside each other are no loop', async () => {
    await deploy('one', true);
    const w = await start();
    await world.until(w, 'parked');
    await deploy('two', true);
    await world.ports.clock.runUntil(() => begun.includes('act two'), 10_000);
    await world.until(w, 'parked');
    await world.ports.clock.run(2_000);
    expect(begun).toEqual(['plan one', 'act one', 'act two']);
    await deploy('one', true);
    await aWhile();
    expect(begun).toEqual(['plan one', 'act one', 'act two']);
    await deploy('three', false);
    await world.until(w, 'completed');
    expect(await decided()).toEqual(['two', 'three']);
  });

  it('waits for a third build where two tasks beside each other fail, each on another build', async () => {
    // A step of 500 ms is running when its sibling fails.
    const beside = (build: string) => {
      const act = (failing: string) => async (own: string) => {
        begun.push(`${own} ${build}`);
        if (build === failing) throw new TypeError(`a bug of ${build}`);
        await world.ports.clock.sleep(500);
        return { done: own };
      };
      const [a, b] = [act('one'), act('two')];
      return definitionOf({
        onFailure: 'retry-on-new-build',
        steps: {
          plan: () => ({ next: ['a', 'b'].map((step) => ({ step, input: null })) }),
          a: () => a('a'),
          b: () => b('b'),
        },
      });
    };
    await world.worker([beside('one')], { build: 'one' });
    const w = await start();
    await world.until(w, 'parked');
    await world.worker([beside('two')], { build: 'two' });
    await world.ports.clock.run(2_000);
    expect(world.status(w)).toBe('parked');
    expect(await decided()).toEqual(['two']);
    await world.worker([beside('three')], { build: 'three' });
    await world.until(w, 'completed');
    expect(await decided()).toEqual(['two', 'three']);
  });

  it('goes back to a build on which it has not failed, as a deploy that breaks is taken back', async () => {
    const broken = await deploy('broken', true);
    const w = await start();
    await world.until(w, 'parked');
    await broken.die();
    await deploy('good', false);
    await world.until(w, 'completed');
    expect(begun.at(-1)).toBe('act good');
  });

  it('is a person’s where the definition does not say so; who retries lets it go on anywhere', async () => {
    await deploy('one', true, 'park');
    const w = await start();
    await world.until(w, 'parked');
    await deploy('two', true, 'park');
    await aWhile();
    expect(world.status(w)).toBe('parked');
    await world.client.decide(w, { resolution: 'retry', by: 'ann', why: 'mended' });
    await world.ports.clock.runUntil(() => begun.length === 3, 10_000);
    await world.until(w, 'parked');
    expect(await decided()).toEqual([]);
  });

  it('goes on where its partition comes to a coordinator only after the new build has announced itself', async () => {
    await deploy('one', true);
    const w = await start();
    await world.until(w, 'parked');
    const { store } = world.ports;
    const { ranges } = store;
    store.ranges = [];
    await aWhile();
    await deploy('two', false);
    await aWhile();
    expect(await decided()).toEqual([]);
    store.ranges = ranges;
    await aWhile();
    expect(await decided()).toEqual(['two']);
    await world.until(w, 'completed');
  });

  it('is decided once by two coordinators: the event of a question and a build is one', async () => {
    await deploy('one', true);
    const w = await start();
    await world.until(w, 'parked');
    const ids: string[] = [];
    const inbox = { write: async (_: unknown, id: string) => void ids.push(id) } as unknown as Pick<Inbox, 'write'>;
    for (const owned of [true, true, false]) {
      const builds = new NewBuilds({ store: world.ports.store, inbox, owns: () => owned });
      const view = {
        trusted: true,
        holders: new Map(),
        announced: new Map(),
        builds: new Map([['two', new Set(['1 d'])]]),
        isGone: () => false,
      };
      expect(builds.seen({ ...view, trusted: false })).toBe(false);
      expect(builds.seen(view)).toBe(true);
      await builds.poll();
      expect(builds.seen(view)).toBe(false);
    }
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toMatch(/^retry:.+:two$/);
  });

  it('waits for another build where the one that it was to go on on is gone, and is cancelled by any', async () => {
    await deploy('one', true);
    const w = await start();
    await world.until(w, 'parked');
    world.ports.liveness.announced.set(holderId('worker-2'), { build: 'two', serves: ['1 d'], routes: ['1 d'] });
    await world.until(w, 'open');
    world.ports.liveness.announced.clear();
    await aWhile();
    expect(begun).toEqual(['plan one', 'act one']);
    expect(world.status(w)).toBe('open');
    const [waiting] = await world.ports.store.search({ limit: 1 });
    expect(waiting).toMatchObject({ holder: null, runnable: true });
    const { state } = (await world.ports.store.frontiers([w], 1)).get(w)!;
    expect(JSON.parse(state)).toMatchObject({ failedOn: { builds: ['one'], next: 'two' } });
    const cancelling = world.client.cancel(w, { by: 'ann', why: 'enough' });
    await world.until(w, 'failed');
    await cancelling;
  });

  it('goes on on any other build where the one that it was to go on on is gone', async () => {
    const first = await deploy('one', true);
    const w = await start();
    await world.until(w, 'parked');
    world.ports.liveness.announced.set(holderId('worker-2'), { build: 'two', serves: ['1 d'], routes: ['1 d'] });
    await world.until(w, 'open');
    world.ports.liveness.announced.clear();
    await first.die();
    await deploy('three', false);
    await world.until(w, 'completed');
    expect(begun).toEqual(['plan one', 'act one', 'act three']);
  });
});
