/**
 * Owns the contract of HintBus as tests; every adapter runs it. `open` gives a bus of its own for each test; `another`
 * opens one that hears the same hints, as a second process would (the same bus where the adapter is in process).
 */

import { type Partition, partition } from '@tidemark/core';
import type { HintBus } from '@tidemark/ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';

export interface OpenedHintBus {
  readonly bus: HintBus;
  another(): Promise<HintBus>;
  close(): Promise<void>;
}

export function hintBusContract(name: string, open: () => Promise<OpenedHintBus>): void {
  describe(`hint bus contract: ${name}`, () => {
    let opened: OpenedHintBus;
    let bus: HintBus;
    let other: HintBus;
    beforeEach(async () => {
      opened = await open();
      bus = opened.bus;
      other = await opened.another();
    });
    afterEach(() => opened.close());

    test('hints of a turn arrive together, each partition once, in order', async () => {
      const calls: (readonly Partition[])[] = [];
      await other.subscribe('appended', (partitions) => calls.push(partitions));
      // A first exchange, so that the connection stands and nothing is dropped.
      await eventually(() => {
        bus.publish('appended', partition(9_999));
        return calls.length > 0;
      });
      await quiet(bus, calls);
      for (const number of [70_000, 3, 0, 4_095, 3, 128, 127, 3]) bus.publish('appended', partition(number));
      await eventually(() => calls.length > 0);
      expect(calls).toEqual([[0, 3, 127, 128, 4_095, 70_000]]);
    });

    test('the first hint of a bus arrives, though nothing was connected before it', async () => {
      const heard = new Set<number>();
      await other.subscribe('appended', (partitions) => add(heard, partitions));
      bus.publish('appended', partition(7));
      await eventually(() => heard.has(7));
    });

    test('a hint for which nobody waits comes too, and once where another of its partition comes before it', async () => {
      const heard: Partition[] = [];
      await other.subscribe('appended', (partitions) => heard.push(...partitions));
      await eventually(() => {
        bus.publish('appended', partition(9_999));
        return heard.length > 0;
      });
      for (const number of [1, 2]) bus.publish('appended', partition(number), 'later');
      for (const number of [2, 3]) bus.publish('appended', partition(number));
      await eventually(() => [1, 2, 3].every((number) => heard.includes(partition(number))));
      expect(heard.filter((number) => number < 9_999).toSorted()).toEqual([1, 2, 3]);
    });

    test('topics are apart, and every subscriber hears', async () => {
      const heard: Record<string, Set<number>> = { a: new Set(), b: new Set(), applied: new Set() };
      await other.subscribe('appended', (partitions) => add(heard.a!, partitions));
      await bus.subscribe('appended', (partitions) => add(heard.b!, partitions));
      await bus.subscribe('applied', (partitions) => add(heard.applied!, partitions));
      await eventually(() => {
        bus.publish('appended', partition(1));
        bus.publish('applied', partition(2));
        return heard.a!.size > 0 && heard.b!.size > 0 && heard.applied!.size > 0;
      });
      expect(heard).toEqual({ a: new Set([1]), b: new Set([1]), applied: new Set([2]) });
    });

    test('an ended subscription hears nothing more, others do', async () => {
      const ended: number[] = [];
      const going = new Set<number>();
      const end = await other.subscribe('appended', (partitions) => void ended.push(...partitions));
      await other.subscribe('appended', (partitions) => add(going, partitions));
      await eventually(() => {
        bus.publish('appended', partition(1));
        return ended.length > 0;
      });
      await end();
      const before = ended.length;
      await eventually(() => {
        bus.publish('appended', partition(2));
        return going.has(2);
      });
      expect(ended.length).toBe(before);
    });

    test('a thousand hints in a turn all arrive', async () => {
      const heard = new Set<number>();
      await other.subscribe('applied', (partitions) => add(heard, partitions));
      await eventually(() => {
        bus.publish('applied', partition(0));
        return heard.has(0);
      });
      for (let number = 1; number <= 1_000; number += 1) bus.publish('applied', partition(number * 7));
      await eventually(() => heard.size === 1_001);
    });

    test('publish on a closed bus is harmless', async () => {
      await bus.close();
      bus.publish('appended', partition(1));
    });
  });
}

function add(to: Set<number>, partitions: readonly Partition[]): void {
  for (const each of partitions) to.add(each);
}

/** Waits until the hints sent so far have come: sends an unused one and waits for it. */
async function quiet(bus: HintBus, calls: (readonly Partition[])[]): Promise<void> {
  bus.publish('appended', partition(123_456));
  await eventually(() => calls.some((partitions) => partitions.includes(partition(123_456))));
  calls.length = 0;
}
