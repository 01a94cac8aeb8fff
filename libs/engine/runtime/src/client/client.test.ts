/** The client: ids are checked and stand for one run; a result is what the log says, whoever waits and however long. */

import type { Partition, WorkflowId } from '@tidemark/core';
import { UnavailableError } from '@tidemark/core';
import { definitionOf, typesOf } from '@tidemark/testkit/engine/simulated-definition';
import { quiet } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StepResult } from '../definition/definition.ts';
import { LamportClock } from '../kernel/ports.ts';
import { WORKFLOW_ID_MAX_CHARS } from '../lease/workflow-name.ts';
import { WorkflowFailedError } from '../run/run-outcome.ts';
import { Client } from './client.ts';

describe('a client', () => {
  let log: SimulatedLog;
  let world: SimulatedWorld;
  beforeEach(async () => {
    log = new SimulatedLog(4);
    world = new SimulatedWorld(log, 4);
    await world.coordinator.start();
  });
  afterEach(() => world.close());

  const trivial = definitionOf({ steps: { a: () => ({ done: { n: 1 } }) } });

  /** The value of a promise that needs the world's time to pass. */
  const inTime = async <T>(promise: Promise<T>, maxMs = 5_000): Promise<T> => {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    settled.catch(() => {});
    await world.ports.clock.runUntil(() => isSettled, maxMs);
    return settled;
  };

  it.each([
    ['', 'empty'],
    ['x'.repeat(WORKFLOW_ID_MAX_CHARS + 1), 'too long'],
    ['a\nb', 'a line feed'],
    ['a\u0000', 'a NUL'],
    ['a\u0085b', 'a C1 control'],
    ['a\ud800b', 'half a surrogate pair'],
  ])('refuses the id %j: %s', async (id) => {
    await expect(world.client.start(trivial, null, { id })).rejects.toMatchObject({ name: 'InvalidError' });
    expect(world.ports.store.placements.size).toBe(0);
  });

  it.each(['x'.repeat(WORKFLOW_ID_MAX_CHARS), 'Gezeiten ☂ 😀', 'a:b c', 'nightly@2026-11-27'])(
    'takes the id %j',
    async (id) => {
      expect((await world.client.start(trivial, null, { id })).id).toBe(id);
    },
  );

  it('refuses a tenant that no event could name, before an id is taken', async () => {
    for (const tenant of ['', 'x'.repeat(600), 'a\u0000']) {
      await expect(world.client.start(trivial, null, { id: 'w', tenant: tenant as never })).rejects.toMatchObject({
        name: 'InvalidError',
      });
    }
    expect(world.ports.store.placements.size).toBe(0);
  });

  it('is refused beyond what may be live, and may still begin the job that ends some', async () => {
    const { ports } = world;
    const client = new Client({ ports, lamport: new LamportClock(), admission: { tenantOpenMax: 1, openMax: 1 } });
    await client.start(trivial, null, { id: 'w' });
    await expect(client.start(trivial, null, { id: 'x' })).rejects.toMatchObject({ code: 'tenant-full' });
    const mend = {
      act: 'terminate',
      filter: { definition: trivial.name },
      signal: null,
      by: 'ana',
      why: 'a flood',
    } as const;
    expect(await client.bulk.start({ ...mend, id: 'mend' })).toMatchObject({ created: true });
    client.close();
  });

  it('makes an id where none is given, and another each time', async () => {
    const runs = [await world.client.start(trivial, null), await world.client.start(trivial, null)];
    expect(new Set(runs.map((run) => run.id)).size).toBe(2);
    expect(runs.every((run) => run.created)).toBe(true);
  });

  it('refuses an option that it does not know, by name: a misspelt id would start another run', async () => {
    const refused = world.client.start(trivial, null, { idd: 'w' } as never);
    await expect(refused).rejects.toMatchObject({ code: 'option-unknown', details: { option: 'idd' } });
    await expect(refused).rejects.toThrow('start takes no option idd. It takes: id, tenant,');
  });

  it('answers the same run for the same id, and says who started it', async () => {
    const first = await world.client.start(trivial, null, { id: 'w' });
    const second = await world.client.start(trivial, 'other input', { id: 'w' });
    expect([first.created, second.created]).toEqual([true, false]);
    expect(second.id).toBe('w');
    await world.worker([trivial]);
    expect(await inTime(second.result())).toEqual({ n: 1 });
    expect((await typesOf(log)).filter((type) => type === 'CheckpointCommitted')).toHaveLength(1);
  });

  it('waits with a start while the store is away', async () => {
    let failures = 3;
    world.ports.store.on('place', () => {
      if (failures-- > 0) throw new UnavailableError('store-unavailable', 'away');
    });
    expect((await inTime(world.client.start(trivial, null, { id: 'w' }))).id).toBe('w');
  });

  describe('a result', () => {
    it('comes with the hint of its partition, and without one within a quarter of a second', async () => {
      const gate = Promise.withResolvers<StepResult>();
      const slow = definitionOf({ steps: { a: () => gate.promise } });
      await world.worker([slow]);
      const run = await world.client.start(slow, null, { id: 'w' });
      const waiting = run.result();
      await world.ports.clock.run(100);
      world.ports.hints.isAway = true;
      gate.resolve({ done: 'late' });
      expect(await inTime(waiting, 10_000)).toBe('late');
    });

    it('is not looked for at each hint of another partition', async () => {
      const gate = Promise.withResolvers<StepResult>();
      const slow = definitionOf({ steps: { a: () => gate.promise } });
      await world.worker([slow]);
      const run = await world.client.start(slow, null, { id: 'w' });
      await world.ports.clock.run(100);
      const waiting = run.result();
      await quiet();
      const { calls, placements } = world.ports.store;
      const looks = calls.get('workflow')!;
      const own = placements.get('w' as WorkflowId)!.partition;
      for (let hint = 0; hint < 50; hint++) world.ports.hints.publish('applied', (own + 1) as Partition);
      await quiet();
      expect(calls.get('workflow')).toBe(looks);
      world.ports.hints.publish('applied', own);
      await quiet();
      expect(calls.get('workflow')).toBe(looks + 2); // the run, and whether another continues it
      gate.resolve({ done: 1 });
      expect(await inTime(waiting)).toBe(1);
      expect(world.ports.hints.listeners.applied.size).toBeLessThanOrEqual(1);
    });

    it('of a workflow that failed is its stored error', async () => {
      const failing = definitionOf({
        steps: {
          a: () => {
            throw Object.assign(new Error('no such order'), { code: 'order-missing' });
          },
        },
      });
      await world.worker([failing]);
      const run = await world.client.start(failing, null, { id: 'w' });
      const failed = await inTime(run.result()).catch((error: unknown) => error as WorkflowFailedError);
      expect(failed).toBeInstanceOf(WorkflowFailedError);
      expect(failed).toMatchObject({
        code: 'workflow-failed',
        details: { workflow: 'w', reason: 'order-missing', error: { message: 'no such order', code: 'order-missing' } },
      });
    });

    it('of an output that is null is null', async () => {
      const none = definitionOf({ steps: { a: () => ({ done: null }) } });
      await world.worker([none]);
      expect(await inTime((await world.client.start(none, null)).result())).toBeNull();
    });

    it('is given up when the caller, or the client, gives up; nothing listens then', async () => {
      const run = await world.client.start(trivial, null, { id: 'w' });
      const listeners = world.ports.hints.listeners.applied.size;
      const stop = new AbortController();
      const waiting = run.result({ signal: stop.signal });
      const other = run.result();
      other.catch(() => {});
      await quiet();
      stop.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
      await expect(run.result({ signal: stop.signal })).rejects.toThrow('enough');
      world.client.close();
      await expect(other).rejects.toMatchObject({ code: 'client-closed' });
      expect(world.ports.hints.listeners.applied.size).toBe(listeners);
    });

    it('of a run that nobody knows is waited for', async () => {
      const run = world.client.run('nobody');
      expect(await run.summary()).toBeUndefined();
      expect(await run.checkpoints()).toEqual([]);
      const stop = new AbortController();
      const waiting = run.result({ signal: stop.signal });
      await world.ports.clock.run(5_000);
      stop.abort();
      await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    });
  });
});
