/** Owns the contract of KeyTopic as tests; every adapter runs it. `open` gives an empty topic for each test, `again` opens it once more. */

import type { Offset, Partition } from '@tidemark/core';
import type { KeyChange, KeyOffsets, KeyTopic, StoredKey } from '@tidemark/ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { storedKey } from './key-store.ts';

export interface OpenedKeyTopic {
  readonly topic: KeyTopic;
  again(): Promise<KeyTopic>;
  /** Closes whatever is still open, and removes what was stored. */
  close(): Promise<void>;
}

export interface ReadKeys {
  readonly changes: readonly KeyChange[];
  readonly next: KeyOffsets;
}

/** All pages as one. */
export async function readKeys(topic: KeyTopic, from?: KeyOffsets): Promise<ReadKeys> {
  const changes: KeyChange[] = [];
  let next: KeyOffsets = new Map(from);
  for await (const page of topic.readAll(from)) {
    changes.push(...page.changes);
    next = new Map([...next, ...page.next]);
  }
  return { changes, next };
}

/** What is there in the end, by id, and what was destroyed. */
export function settled(changes: readonly KeyChange[]): {
  readonly keys: readonly StoredKey[];
  readonly gone: readonly string[];
} {
  const keys = new Map<string, StoredKey>();
  const gone = new Set<string>();
  for (const change of changes) {
    if (change.kind === 'destroyed') gone.add(change.id);
    else keys.set(change.key.id, change.key);
  }
  for (const id of gone) keys.delete(id);
  return { keys: [...keys.values()].sort((a, b) => (a.id < b.id ? -1 : 1)), gone: [...gone].sort() };
}

export function keyTopicContract(name: string, open: () => Promise<OpenedKeyTopic>): void {
  describe(`key topic contract: ${name}`, () => {
    let opened: OpenedKeyTopic;
    let topic: KeyTopic;
    beforeEach(async () => {
      opened = await open();
      topic = opened.topic;
    });
    afterEach(() => opened.close());

    test('of an empty topic nothing is read', async () => {
      expect(await readKeys(topic)).toEqual({ changes: [], next: new Map() });
      await topic.append([]);
      await topic.destroy([]);
      expect((await readKeys(topic)).changes).toEqual([]);
    });

    test('what was appended is read, by others too, word for word', async () => {
      const keys = [storedKey(), storedKey({ user: 'ann "ä"\n' }), storedKey({ wrapped: 'vault:v1:AAA=' })];
      await topic.append(keys);
      const other = await opened.again();
      for (const reader of [topic, other]) {
        const { changes } = await readKeys(reader);
        expect(settled(changes)).toEqual({ keys, gone: [] });
        expect(changes).toHaveLength(3);
      }
      await other.close();
    });

    test('changes of a key come in their order', async () => {
      const key = storedKey();
      const wrappings = Array.from({ length: 20 }, (_, index) => ({ ...key, wrappedBy: `key ${index}` }));
      for (const wrapping of wrappings) await topic.append([wrapping, storedKey()]);
      const { changes } = await readKeys(topic);
      const seen = changes.flatMap((change) => (change.kind === 'put' && change.key.id === key.id ? [change.key] : []));
      expect(seen).toEqual(wrappings);
    });

    test('a destruction is read, after what it destroys', async () => {
      const keys = [storedKey(), storedKey(), storedKey()];
      await topic.append(keys);
      await topic.destroy([keys[1]!.id, storedKey().id]);
      const { changes } = await readKeys(topic);
      expect(settled(changes).keys).toEqual([keys[0], keys[2]]);
      const about = changes.filter((change) => (change.kind === 'put' ? change.key.id : change.id) === keys[1]!.id);
      expect(about[0]).toEqual({ kind: 'put', key: keys[1] });
      expect(about.slice(1).every(({ kind }) => kind === 'destroyed')).toBe(true);
      expect(about.length).toBeGreaterThan(1);
    });

    test('reading goes on where it ended', async () => {
      const before = [storedKey(), storedKey()];
      await topic.append(before);
      const first = await readKeys(topic);
      expect((await readKeys(topic, first.next)).changes).toEqual([]);
      const after = storedKey();
      await topic.append([after]);
      await topic.destroy([before[0]!.id]);
      const other = await opened.again();
      const { keys, gone } = settled((await readKeys(other, first.next)).changes);
      expect([keys, gone]).toEqual([[after], [before[0]!.id]]);
      await other.close();
    });

    test('every page says where to go on, and nothing is lost between two', async () => {
      const keys = Array.from({ length: 1_500 }, () => storedKey({ wrapped: 'x'.repeat(600) }));
      for (let at = 0; at < keys.length; at += 500) await topic.append(keys.slice(at, at + 500));
      const all = (await readKeys(topic)).changes;
      expect(settled(all).keys).toEqual(keys);
      let from: KeyOffsets = new Map();
      const seen: KeyChange[] = [];
      for await (const page of topic.readAll()) {
        seen.push(...page.changes);
        from = new Map<Partition, Offset>([...from, ...page.next]);
        const { changes } = await readKeys(topic, from);
        expect(settled([...seen, ...changes]).keys).toHaveLength(keys.length);
        expect(changes.length + seen.length).toBe(all.length);
      }
    });

    test('closed, it says so', async () => {
      await topic.close();
      await expect(topic.append([storedKey()])).rejects.toMatchObject({ code: 'keys-unavailable' });
      await expect(readKeys(topic)).rejects.toMatchObject({ code: 'keys-unavailable' });
    });
  });
}
