/** Owns the contract suite of WatchBus: the same tests for every adapter. `another` opens one in what stands for a second process. */

import type { WorkflowId } from '@tidemark/core';
import { WATCH_KEPT_MAX_BYTES, type WatchBus } from '@tidemark/ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';

export interface OpenedWatchBus {
  readonly bus: WatchBus;
  another(): Promise<WatchBus>;
  close(): Promise<void>;
}

const [W1, W2] = ['w1' as WorkflowId, 'w2' as WorkflowId];

export function watchBusContract(name: string, open: () => Promise<OpenedWatchBus>): void {
  describe(`watch bus contract: ${name}`, () => {
    let opened: OpenedWatchBus;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    let place: { epoch: number; number: number };
    beforeEach(() => {
      place = { epoch: 1, number: 0 };
    });
    /** Keeps it under the newest lease. */
    const keep = (bus: WatchBus, message: string, replaces = false): void => {
      place.number++;
      bus.publish(W1, message, { ...place, replaces });
    };

    /** Repeats it until it is heard: the first messages may be lost while connections are made. */
    const heard = (bus: WatchBus, messages: readonly string[]) =>
      eventually(() => {
        if (messages.length === 0) bus.publish(W1, 'hello', 'none');
        return messages.length > 0;
      });

    test('messages of a workflow reach those who watch it, in order, and nobody else', async () => {
      const other = await opened.another();
      const reported: string[] = [];
      const elsewhere: string[] = [];
      await other.subscribe(W1, (message) => reported.push(message));
      await other.subscribe(W2, (message) => elsewhere.push(message));
      await heard(opened.bus, reported);
      const texts = Array.from({ length: 100 }, (_, at) => `piece ${at}`);
      for (const text of texts) opened.bus.publish(W1, text, 'none');
      await eventually(() => reported.at(-1) === 'piece 99');
      expect(reported.filter((text) => text !== 'hello')).toEqual(texts);
      expect(elsewhere).toEqual([]);
    });

    const later = async (): Promise<string[]> => {
      const other = await opened.another();
      const reported: string[] = [];
      await other.subscribe(W1, (message) => reported.push(message));
      return reported;
    };

    test('what is kept reaches who comes later, before what comes; a new beginning and the bound of bytes drop the oldest', async () => {
      const first: string[] = [];
      await opened.bus.subscribe(W1, (message) => first.push(message));
      await heard(opened.bus, first);
      for (const text of ['a', 'b']) keep(opened.bus, text);
      opened.bus.publish(W1, 'for now', 'none');
      await eventually(() => first.includes('for now'));
      const second = await later();
      keep(opened.bus, 'c');
      await eventually(() => second.includes('c'));
      expect(second).toEqual(['a', 'b', 'c']);
      keep(opened.bus, 'd', true);
      await eventually(() => second.includes('d'));
      const third = await later();
      keep(opened.bus, 'e');
      await eventually(() => third.includes('e'));
      expect(third).toEqual(['d', 'e']);
      const large = 'x'.repeat(60_000);
      for (let bytes = 0; bytes <= WATCH_KEPT_MAX_BYTES; bytes += large.length) {
        keep(opened.bus, large);
        await eventually(() => third.at(-1) === large);
      }
      keep(opened.bus, 'f');
      await eventually(() => third.at(-1) === 'f');
      const fourth = await later();
      await eventually(() => fourth.at(-1) === 'f');
      expect(fourth).not.toContain('e');
      expect(fourth.length).toBeGreaterThan(3);
      opened.bus.release(W1, place.epoch);
      await eventually(
        async () => {
          const fifth = await later();
          opened.bus.publish(W1, 'for now', 'none');
          await eventually(() => fifth.includes('for now'));
          return !fifth.includes('f');
        },
        { timeoutMs: 60_000 },
      );
    });

    test('who has lost the lease adds nothing to what is kept of the workflow, and drops nothing of it', async () => {
      const first: string[] = [];
      await opened.bus.subscribe(W1, (message) => first.push(message));
      await heard(opened.bus, first);
      keep(opened.bus, 'lost', true);
      const ghost = { ...place };
      place = { epoch: 2, number: 0 };
      const owner = await opened.another();
      for (const text of ['a', 'b', 'c']) keep(owner, text, text === 'a');
      await eventually(() => first.at(-1) === 'c');
      for (const replaces of [false, true]) {
        ghost.number++;
        opened.bus.publish(W1, 'ghost', { ...ghost, replaces });
      }
      opened.bus.release(W1, ghost.epoch);
      opened.bus.publish(W1, 'hello', 'none');
      await eventually(() => first.at(-1) === 'hello');
      keep(owner, 'd');
      await eventually(() => first.at(-1) === 'd');
      expect(first.filter((text) => text !== 'hello')).toEqual(['lost', 'a', 'b', 'c', 'd']);
      const second = await later();
      await eventually(() => second.at(-1) === 'd');
      expect(second).toEqual(['a', 'b', 'c', 'd']);
    });

    test('a subscription that has ended hears nothing more; another of the same workflow does', async () => {
      const [ended, reported]: [string[], string[]] = [[], []];
      const end = await opened.bus.subscribe(W1, (message) => ended.push(message));
      await opened.bus.subscribe(W1, (message) => reported.push(message));
      await heard(opened.bus, reported);
      await end();
      const before = ended.length;
      opened.bus.publish(W1, 'after', 'none');
      await eventually(() => reported.includes('after'));
      expect(ended.slice(before)).not.toContain('after');
    });

    test('what nobody watches is dropped without a word, also once it is closed', async () => {
      keep(opened.bus, 'nobody');
      await opened.bus.close();
      keep(opened.bus, 'nobody');
    });
  });
}
