/** Paused queues: none of their workflows is claimed, whatever hints at it; running steps finish; once resumed, all of them run. */

import { DEFAULT_TENANT, LimitError, type TenantId, UnavailableError } from '@tidemark/core';
import type { Job } from '@tidemark/ports';
import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { quiet } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { QUEUES_HELD_MAX_COUNT, QUEUES_KNOWN_MS } from '../control/limits.ts';
import { PausedQueues, QueuePauses } from '../control/paused-queues.ts';
import type { StepResult } from '../definition/definition.ts';
import { QUEUES_HELD_OF_TENANT_MAX_COUNT, QUEUES_HELD_OF_TENANTS_MAX_COUNT } from './queues.ts';

const ASK = { by: 'ana', why: 'the provider is down' };
const OTHER = 'globex' as TenantId;
const LONG_MS = 30_000;

describe('a queue that is held', () => {
  let world: SimulatedWorld;
  beforeEach(async () => {
    world = new SimulatedWorld(new SimulatedLog(8), 8);
    await world.coordinator.start();
  });
  afterEach(() => world.close());

  const trivial = definitionOf({ steps: { a: () => ({ done: 'end' }) } });
  const later = async <T>(asked: Promise<T>): Promise<T> => {
    asked.catch(() => {});
    await world.ports.clock.run(2_000);
    return asked;
  };
  const pause = (tenant: TenantId | null = null, definition = 'd') =>
    later(world.client.queues.pause({ definition, tenant }, ASK));
  const resume = (tenant: TenantId | null = null) =>
    later(world.client.queues.resume({ definition: 'd', tenant }, { by: 'ben', why: 'it is back' }));
  const jobFor = (workflow: string): Job =>
    ({
      workflow,
      tenant: DEFAULT_TENANT,
      definition: 'd',
      version: 1,
      pinned: false,
      partition: 0,
      offset: 0,
      lamport: 1,
    }) as Job;

  it('takes starts and claims none of them until it is resumed; then they go on at once', async () => {
    await world.worker([trivial]);
    expect(await pause()).toEqual({ definition: 'd', tenant: null, changed: true, held: true });
    expect(await pause()).toMatchObject({ changed: false, held: true });
    const w = await world.start(trivial);
    await world.ports.clock.run(LONG_MS);
    expect(world.status(w)).toBe('open');
    // Its starter's job alone, which the worker has dropped.
    expect(world.ports.queue.enqueued.map(({ begins }) => begins)).toEqual([true]);
    expect(await world.client.queues.list(null)).toMatchObject([
      { definition: 'd', tenant: DEFAULT_TENANT, readyCount: 1, runningCount: 0, held: [{ ...ASK, tenant: null }] },
    ]);
    const asked = world.client.queues.resume({ definition: 'd', tenant: null }, ASK);
    expect(await world.until(w, 'completed', 5_000)).toBeLessThan(3_000);
    expect(await asked).toEqual({ definition: 'd', tenant: null, changed: true, held: false });
    expect(await resume()).toMatchObject({ changed: false, held: false });
    expect(world.errors).toEqual([]);
  });

  it('that nobody knows is not resumed where its caller says which are known', async () => {
    const queue = { definition: 'misspelt', tenant: null };
    const scope = { definitions: [trivial], tenant: null };
    await expect(later(world.client.queues.resume(queue, ASK, scope))).rejects.toMatchObject({
      code: 'definition-unknown',
    });
    expect(await later(world.client.queues.resume({ ...queue, definition: 'd' }, ASK, scope))).toMatchObject({
      changed: false,
    });
  });

  it.each([
    ['guarded', undefined, 'open'],
    ['unguarded (control)', { known: async () => new PausedQueues([]), isHeld: async () => false }, 'completed'],
  ])('is not claimed by a worker whom a job hints at it: %s', async (_, pauses, status) => {
    await world.worker([trivial], { pauses });
    await pause();
    const w = await world.start(trivial);
    await world.ports.queue.enqueue([jobFor(w)]);
    await world.ports.clock.run(LONG_MS);
    expect(world.status(w)).toBe(status);
  });

  it('lets steps under way finish, and starts nothing after them', async () => {
    const gate = Promise.withResolvers<StepResult>();
    const done: string[] = [];
    const slow = definitionOf({
      steps: {
        a: async () => {
          await gate.promise;
          done.push('a');
          return { next: [{ step: 'b', input: null }] };
        },
        b: () => {
          done.push('b');
          return { done: 'end' };
        },
      },
    });
    await world.worker([slow]);
    const w = await world.start(slow);
    await world.ports.clock.runUntil(() => world.ports.store.rows.get(w)?.stream.holder != null, LONG_MS);
    await pause();
    gate.resolve({});
    await world.ports.clock.run(LONG_MS);
    expect(done).toEqual(['a']);
    expect(world.ports.store.rows.get(w)?.stream).toMatchObject({ holder: null, runnable: true, sequence: 1 });
    await resume();
    await world.until(w, 'completed');
    expect(done).toEqual(['a', 'b']);
  });

  it("of one tenant holds nobody else's; what is held for all is not resumed for one", async () => {
    await world.worker([trivial]);
    await pause(OTHER);
    const own = await world.start(trivial, null, { id: 'own' });
    const others = await world.start(trivial, null, { id: 'others', tenant: OTHER });
    await world.until(own, 'completed');
    await world.ports.clock.run(LONG_MS);
    expect(world.status(others)).toBe('open');
    expect(await world.client.queues.held(DEFAULT_TENANT)).toEqual([]);
    await pause();
    expect(await resume(OTHER)).toMatchObject({ changed: true, held: true });
    await world.ports.clock.run(LONG_MS);
    expect(world.status(others)).toBe('open');
    await resume();
    await world.until(others, 'completed');
  });

  it('waits for rows that are being rebuilt before it says that nothing is held (Q1)', async () => {
    const held = new QueuePauses(world.ports);
    await pause();
    const ready = world.ports.store.ready;
    world.ports.store.ready = async () => false;
    await expect(held.isHeld({ definition: 'd', tenant: DEFAULT_TENANT })).rejects.toBeInstanceOf(UnavailableError);
    world.ports.store.ready = ready;
    expect(await held.isHeld({ definition: 'd', tenant: DEFAULT_TENANT })).toBe(true);
    expect(await held.isHeld({ definition: 'd~undo', tenant: DEFAULT_TENANT })).toBe(true);
    expect(await held.isHeld({ definition: 'd~schedule', tenant: DEFAULT_TENANT })).toBe(false);
    await resume();
    // Q2: an earlier read does not keep it paused.
    expect(await held.isHeld({ definition: 'd', tenant: DEFAULT_TENANT })).toBe(false);
  });

  it.each([
    ['nothing', '', 'definition-invalid', /definition/],
    ['control characters', 'a\u0007b', 'definition-invalid', /definition/],
    ['too much', 'x'.repeat(100_000), 'definition-invalid', /definition/],
    ["the system's", 'tidemark.bulk', 'queue-system', /definition/],
    ['an undo', 'd~undo', 'queue-derived', /'d'/],
    ['a schedule', 'd~schedule', 'queue-derived', /definition/],
  ])('is not named by %s', async (_, definition, code, message) => {
    const asked = world.client.queues.pause({ definition, tenant: null }, ASK);
    await expect(asked).rejects.toMatchObject({ name: 'InvalidError', code });
    await expect(asked).rejects.toThrow(message);
  });

  it('says by whom and why', async () => {
    const of = { definition: 'd', tenant: null };
    await expect(world.client.queues.pause(of, { by: '', why: 'x' })).rejects.toMatchObject({ code: 'by-invalid' });
    await expect(world.client.queues.resume(of, { by: 'x', why: ' ' })).rejects.toMatchObject({ code: 'why-invalid' });
  });

  it.each([
    ['one of so many', QUEUES_HELD_MAX_COUNT, null, null],
    ["one of a tenant's so many", QUEUES_HELD_OF_TENANT_MAX_COUNT, OTHER, OTHER],
    ["one of all tenants' so many", QUEUES_HELD_OF_TENANTS_MAX_COUNT, OTHER, DEFAULT_TENANT],
  ])('can only be %s', async (_, count, holder, tenant) => {
    const { store } = world.ports;
    const value = JSON.stringify({ definition: 'other', tenant: holder, ...ASK, sinceMs: 1 });
    let length = count;
    store.memories = async () => Array.from({ length }, (_, at) => ({ key: `held:${at}`, value })) as never;
    await expect(pause(tenant)).rejects.toBeInstanceOf(LimitError);
    length -= 1;
    expect(await pause(tenant)).toMatchObject({ changed: true });
  });

  it('can be held for everybody, whatever tenants hold', async () => {
    const value = JSON.stringify({ definition: 'other', tenant: OTHER, ...ASK, sinceMs: 1 });
    world.ports.store.memories = async () =>
      Array.from({ length: QUEUES_HELD_OF_TENANTS_MAX_COUNT }, (_, at) => ({ key: `held:${at}`, value })) as never;
    expect(await pause()).toMatchObject({ changed: true });
  });
});

test('what is known is read again after its time, and once for all who ask at once', async () => {
  const world = new SimulatedWorld(new SimulatedLog(1), 1);
  let readCount = 0;
  world.ports.store.ready = async () => true;
  world.ports.store.memories = async () => {
    readCount += 1;
    await quiet(1);
    return [];
  };
  const held = new QueuePauses(world.ports);
  await Promise.all([held.known(), held.known(), held.known()]);
  expect(readCount).toBe(1);
  world.ports.clock.jump(QUEUES_KNOWN_MS);
  await held.known();
  expect(readCount).toBe(1);
  world.ports.clock.jump(1);
  await held.known();
  expect(readCount).toBe(2);
  await Promise.all([held.poll(), held.poll(), held.poll()]);
  expect(readCount).toBe(4);
});
