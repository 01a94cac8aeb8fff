/** Waiting for rows: hints wake a waiter, polls do so when hints are lost, and so does its signal; it leaves nothing behind. */

import type { Offset, Partition } from '@tidemark/core';
import { UnavailableError } from '@tidemark/core';
import { quiet, type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import { Applied } from './applied.ts';

const P0 = 0 as Partition;
const P1 = 1 as Partition;
const at = (offset: number): Offset => offset as Offset;

describe('a wait for rows', () => {
  let ports: SimulatedPorts;
  let applied: Applied;
  beforeEach(() => {
    ports = simulatedPorts(new SimulatedLog(2), 2);
    applied = new Applied(ports);
  });

  const watch = (promise: Promise<void>): { done: boolean; error: unknown } => {
    const state: { done: boolean; error: unknown } = { done: false, error: undefined };
    promise.then(
      () => {
        state.done = true;
      },
      (error: unknown) => {
        state.error = error;
      },
    );
    return state;
  };
  const stand = (partition: Partition, offset: number): void => {
    ports.store.partitions.get(partition)!.next = at(offset);
  };

  it('ends at once when the rows are there, and only then', async () => {
    stand(P0, 5);
    await applied.wait(P0, at(5));
    const waiting = watch(applied.wait(P0, at(6)));
    await quiet();
    expect(waiting.done).toBe(false);
    stand(P0, 7);
    ports.hints.publish('applied', P0);
    await quiet();
    expect(waiting.done).toBe(true);
  });

  it('ends without a hint, at the next look', async () => {
    ports.hints.isAway = true;
    const waiting = watch(applied.wait(P0, at(1)));
    await quiet();
    stand(P0, 1);
    await ports.clock.run(50);
    expect(waiting.done).toBe(true);
  });

  it('ends for each of many with few looks', async () => {
    const waiting = Array.from({ length: 500 }, (_, index) =>
      watch(applied.wait(index % 2 === 0 ? P0 : P1, at(index % 7))),
    );
    await quiet();
    const looks = ports.store.calls.get('positions')!;
    stand(P0, 10);
    stand(P1, 10);
    ports.hints.publish('applied', P0);
    await quiet();
    expect(waiting.every(({ done }) => done)).toBe(true);
    expect(ports.store.calls.get('positions')! - looks).toBeLessThanOrEqual(2);
  });

  it('is not looked for at hints of other partitions', async () => {
    const waiting = watch(applied.wait(P0, at(1)));
    await quiet();
    const looks = ports.store.calls.get('positions')!;
    for (let hint = 0; hint < 20; hint++) ports.hints.publish('applied', P1);
    await quiet();
    expect(ports.store.calls.get('positions')).toBe(looks);
    stand(P0, 1);
    ports.hints.publish('applied', P0);
    await quiet();
    expect(waiting.done).toBe(true);
  });

  it('goes on while the store is away', async () => {
    let failures = 3;
    ports.store.on('positions', () => {
      if (failures-- > 0) throw new UnavailableError('store-unavailable', 'away');
    });
    stand(P0, 1);
    const waiting = watch(applied.wait(P0, at(1)));
    await ports.clock.run(200);
    expect(waiting).toEqual({ done: true, error: undefined });
  });

  it('fails with what is wrong with the store, once, and harms nobody else', async () => {
    const waiting = watch(applied.wait(P0, at(1)));
    await quiet();
    ports.store.on('positions', () => {
      throw new Error('odd');
    });
    ports.hints.publish('applied', P0);
    await quiet();
    await ports.clock.run(50);
    expect(waiting.error).toMatchObject({ message: 'odd' });
    ports.store.on('positions', undefined);
    stand(P0, 1);
    await applied.wait(P0, at(1));
  });

  it('is given up by its signal, before and during', async () => {
    const stop = new AbortController();
    const waiting = watch(applied.wait(P0, at(1), stop.signal));
    await quiet();
    stop.abort(new Error('enough'));
    await quiet();
    expect(waiting.error).toMatchObject({ message: 'enough' });
    await expect(applied.wait(P0, at(1), stop.signal)).rejects.toThrow('enough');
    expect(ports.clock.sleeperCount).toBe(0);
  });

  it('listens once for all, and no longer than it is open', async () => {
    stand(P0, 1);
    await Promise.all([applied.wait(P0, at(1)), applied.wait(P0, at(1))]);
    expect(ports.hints.listeners.applied.size).toBe(1);
    await applied.close();
    expect(ports.hints.listeners.applied.size).toBe(0);
    await new Applied(ports).close();
  });
});
