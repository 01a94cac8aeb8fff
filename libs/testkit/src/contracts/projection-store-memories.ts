/** Owns the part of the contract about long-term memory: which write wins, who sees what, search by words and by meaning. */

import type { Lamport, Position, TenantId, WorkflowId } from '@tidemark/core';
import type { MemoryKind, MemoryName, MemoryRow, RecallQuery } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const acme = 'acme' as TenantId;
const other = 'other' as TenantId;
const ana = 'user:ana';
const model = 'test-model';

export const memoryRow = (key: string, part: Partial<MemoryRow> = {}): MemoryRow => ({
  tenant: acme,
  subject: ana,
  kind: 'summary',
  key,
  value: JSON.stringify({ key }),
  words: '',
  source: 'session',
  atMs: 1_700_000_000_000,
  workflow: 'w' as WorkflowId,
  position: 1 as Position,
  ordinal: 0,
  lamport: 1 as Lamport,
  isForgotten: false,
  ...part,
});

const query = (part: Partial<RecallQuery>): RecallQuery => ({
  tenant: acme,
  subject: ana,
  kinds: ['summary'],
  words: '',
  embedding: null,
  model: null,
  limit: 3,
  ...part,
});

/** Of three dimensions: an angle to the first axis, in degrees. */
const vectorAt = (degrees: number, length = 1): Float32Array => {
  const angle = (degrees * Math.PI) / 180;
  return Float32Array.of(length * Math.cos(angle), length * Math.sin(angle), 0);
};

export function testMemories(under: StoreUnderTest): void {
  let next = 0;
  const start = async (): Promise<void> => {
    await under.partitions(1);
    next = 0;
  };
  const write = async (...memories: readonly MemoryRow[]): Promise<void> => {
    await under.store.apply(rows.batch({ partitions: [rows.advance(0, next, next + 1)], memories }));
    next += 1;
  };
  const keys = async (part: Partial<RecallQuery>): Promise<readonly string[]> =>
    (await under.other.recall(query(part))).map(({ memory }) => memory.key);
  /** Embeds every entry that has no embedding: by the angle that its words end with. */
  const embed = async (as = model): Promise<number> => {
    const found = await under.store.unembedded(as, 100);
    const angles = found.map(({ words }) => Number(words.split(' ').at(-1)));
    await under.store.putEmbeddings(
      found.map(({ id, mark }, at) => ({ id, mark, model: as, vector: vectorAt(angles[at] ?? 0, 2) })),
    );
    return found.length;
  };

  describe('memory', () => {
    test('the greatest Lamport time of a subject is told, with forgotten entries and without those of others', async () => {
      await start();
      expect(await under.store.lamportOf(acme, ana)).toBe(0);
      await write(
        memoryRow('a', { lamport: 7 as Lamport }),
        memoryRow('b', { lamport: 9 as Lamport, isForgotten: true }),
      );
      await write(memoryRow('c', { tenant: other, lamport: 50 as Lamport }));
      await write(memoryRow('d', { subject: 'user:bob', lamport: 60 as Lamport }));
      expect(await under.other.lamportOf(acme, ana)).toBe(9);
    });

    test('answers an entry as it was written', async () => {
      await start();
      const row = memoryRow('a', { words: 'what was done', value: '{"n":[1,"ü"]}', ordinal: 2 });
      await write(row);
      expect(await under.other.memories({ tenant: acme, subject: ana, limit: 10 })).toEqual([row]);
    });

    test('of all writes of a key keeps the greatest, in whatever order they come (M1)', async () => {
      await start();
      const at = (lamport: number, workflow: string, position: number, ordinal: number): MemoryRow =>
        memoryRow('k', {
          lamport: lamport as Lamport,
          workflow: workflow as WorkflowId,
          position: position as Position,
          ordinal,
          value: JSON.stringify([lamport, workflow, position, ordinal]),
        });
      const winner = at(5, 'b', 3, 1);
      const losers = [at(5, 'b', 3, 0), at(5, 'b', 2, 9), at(5, 'B', 9, 9), at(4, 'z', 9, 9)];
      await write(losers[0]!, winner, losers[1]!);
      for (const loser of losers) await write(loser);
      expect(await under.store.memories({ tenant: acme, subject: ana, key: 'k', limit: 9 })).toEqual([winner]);
      await write(at(6, 'a', 1, 0));
      expect(await under.store.memories({ tenant: acme, subject: ana, limit: 9 })).toEqual([at(6, 'a', 1, 0)]);
    });

    test('a forgotten entry is answered to nobody, and an older write that arrives later does not bring it back (M2)', async () => {
      await start();
      const words = 'the invoice export 10';
      await write(memoryRow('k', { words }), memoryRow('kept', { words }));
      await embed();
      await write(memoryRow('k', { isForgotten: true, lamport: 9 as Lamport, words, value: '"still here"' }));
      await write(memoryRow('k', { words, lamport: 8 as Lamport }));
      expect(await keys({ words: 'invoice' })).toEqual(['kept']);
      expect(await keys({ embedding: vectorAt(10), model })).toEqual(['kept']);
      expect((await under.store.memories({ tenant: acme, subject: ana, limit: 9 })).map(({ key }) => key)).toEqual([
        'kept',
      ]);
      expect(await under.store.unembedded('another', 10)).toHaveLength(1);
      await write(memoryRow('k', { words, lamport: 10 as Lamport }));
      expect(await keys({ words: 'invoice' })).toEqual(['k', 'kept']);
    });

    test('lists by kind and key, page by page, by prefix, and the newest first', async () => {
      await start();
      const of = (kind: MemoryKind, key: string, lamport: number): MemoryRow =>
        memoryRow(key, { kind, lamport: lamport as Lamport });
      await write(of('state', 'b', 4), of('state', 'a', 2), of('fact', 'ab', 3), of('fact', 'x%', 1));
      const list = async (part: object): Promise<readonly string[]> =>
        (await under.store.memories({ tenant: acme, subject: ana, limit: 10, ...part })).map(
          ({ kind, key }) => `${kind} ${key}`,
        );
      expect(await list({})).toEqual(['fact ab', 'fact x%', 'state a', 'state b']);
      expect(await list({ limit: 2 })).toEqual(['fact ab', 'fact x%']);
      expect(await list({ after: { kind: 'fact', key: 'x%' } })).toEqual(['state a', 'state b']);
      expect(await list({ kind: 'state', after: { kind: 'state', key: 'a' } })).toEqual(['state b']);
      expect(await list({ prefix: 'a' })).toEqual(['fact ab', 'state a']);
      expect(await list({ prefix: '%' })).toEqual([]);
      expect(await list({ order: 'newest', limit: 2 })).toEqual(['state b', 'fact ab']);
    });

    test('takes names that are longer than an index entry, and tells them apart', async () => {
      await start();
      const long = 'ü'.repeat(3_000);
      await write(memoryRow(`${long}a`, { subject: long }), memoryRow(`${long}b`, { subject: long }));
      const found = await under.store.memories({ tenant: acme, subject: long, limit: 9 });
      expect(found.map(({ key }) => key.at(-1))).toEqual(['a', 'b']);
    });
  });

  describe('what a workflow wrote', () => {
    const written = async (workflows: readonly string[], limit = 10, tenant = acme) => {
      const found: string[] = [];
      for (let after: MemoryName | undefined; ; ) {
        const query = { tenant, workflows: workflows as readonly WorkflowId[], after, limit };
        const page = await under.other.memoriesWrittenBy(query);
        found.push(...page.map(({ subject, kind, key }) => `${subject} ${kind} ${key}`));
        after = page.at(-1);
        if (page.length < limit) return found;
      }
    };

    test('is found whoever it is about, page by page, as long as nobody wrote it anew or forgot it', async () => {
      await start();
      const of = (workflow: string, part: Partial<MemoryRow> = {}) => ({ workflow: workflow as WorkflowId, ...part });
      await write(
        memoryRow('a', of('w1')),
        memoryRow('b', of('w1', { subject: 'pipeline:p', kind: 'fact' })),
        memoryRow('c', of('w2', { subject: 'user:bob' })),
        memoryRow('d', of('w3')),
        memoryRow('theirs', of('w1', { tenant: other })),
      );
      const all = ['pipeline:p fact b', 'user:ana summary a', 'user:bob summary c'];
      for (const limit of [1, 2, 10]) expect(await written(['w1', 'w2'], limit)).toEqual(all);
      expect(await written(['w1'], 10, other)).toEqual(['user:ana summary theirs']);
      expect(await written(['nobody'])).toEqual([]);
      await write(
        memoryRow('a', of('w3', { lamport: 2 as Lamport })),
        memoryRow('c', of('w2', { subject: 'user:bob', lamport: 2 as Lamport, isForgotten: true })),
      );
      expect(await written(['w1', 'w2'])).toEqual(['pipeline:p fact b']);
    });

    test('of what is forgotten no file tells once it was scrubbed, and nothing else is gone', async () => {
      await start();
      await write(memoryRow('a', { words: 'angle 10' }), memoryRow('b', { words: 'angle 20' }));
      await embed();
      await write(memoryRow('a', { lamport: 2 as Lamport, isForgotten: true }));
      expect(await under.store.scrub()).toEqual([]);
      expect(await keys({ words: 'angle' })).toEqual(['b']);
      expect(await keys({ embedding: vectorAt(0), model })).toEqual(['b']);
    });
  });

  describe('recall by words', () => {
    test('finds inflected forms, knows rare words from common ones, and lets the first line weigh more', async () => {
      await start();
      await write(
        memoryRow('rare', { words: 'Weekly work\nthe report mentions a Kubernetes migration' }),
        memoryRow('title', { words: 'Migrating the database\nnotes of the report' }),
        memoryRow('common', { words: 'Report\nreport, reporting, reported: the report of reports' }),
      );
      expect(await keys({ words: 'kubernetes report' })).toEqual(['rare', 'common', 'title']);
      expect(await keys({ words: 'migrations' })).toEqual(['title', 'rare']);
      expect(await keys({ words: 'zebra' })).toEqual([]);
      const [best] = await under.store.recall(query({ words: 'kubernetes' }));
      expect(best).toMatchObject({ similarity: null, memory: { key: 'rare' } });
    });

    test('takes any text for words: operators, quotes, backslashes, nothing at all', async () => {
      await start();
      await write(memoryRow('a', { words: `the path C:\\temp\\x isn't it's "quoted" & !not | (or) <-> a:*` }));
      for (const words of [`'`, `\\`, `C:\\temp\\x`, `isn't "quoted`, '& | ! ( ) <-> :*', '', ' ', 'the', '\u0000'])
        await expect(keys({ words })).resolves.toBeInstanceOf(Array);
      expect(await keys({ words: `quoted' & !temp` })).toEqual(['a']);
    });

    test('equal ones come by the last written', async () => {
      await start();
      const at = (key: string, lamport: number): MemoryRow =>
        memoryRow(key, { words: 'the same words', lamport: lamport as Lamport });
      await write(at('b', 2), at('a', 2), at('c', 3));
      expect(await keys({ words: 'words' })).toEqual(['c', 'a', 'b']);
    });
  });

  describe('recall by meaning', () => {
    test('orders by the cosine, whatever the lengths of the vectors', async () => {
      await start();
      await write(...[80, 10, 40, 60].map((angle) => memoryRow(`at-${angle}`, { words: `angle ${angle}` })));
      expect(await embed()).toBe(4);
      expect(await embed()).toBe(0);
      expect(await keys({ embedding: vectorAt(0, 7), model })).toEqual(['at-10', 'at-40', 'at-60']);
      const [best] = await under.store.recall(query({ embedding: vectorAt(10), model }));
      expect(best).toMatchObject({ wordsScore: null, memory: { key: 'at-10' } });
      expect(best?.similarity).toBeCloseTo(1, 5);
    });

    test('compares vectors of the same model and length alone (M3)', async () => {
      await start();
      await write(memoryRow('a', { words: 'angle 10' }), memoryRow('b', { words: 'angle 20' }));
      await embed();
      expect(await keys({ embedding: vectorAt(0), model: 'another' })).toEqual([]);
      expect(await keys({ embedding: Float32Array.of(1, 0), model })).toEqual([]);
      expect(await embed('another')).toBe(2);
      expect(await keys({ embedding: vectorAt(0), model: 'another' })).toEqual(['a', 'b']);
    });

    test('changed words have no embedding until they are embedded; one of the old words is not taken', async () => {
      await start();
      await write(memoryRow('a', { words: 'angle 10' }));
      const [before] = await under.store.unembedded(model, 10);
      await embed();
      await write(memoryRow('a', { words: 'angle 80', lamport: 2 as Lamport }));
      expect(await keys({ embedding: vectorAt(0), model })).toEqual([]);
      await under.store.putEmbeddings([{ id: before!.id, mark: before!.mark, model, vector: vectorAt(10) }]);
      expect(await keys({ embedding: vectorAt(0), model })).toEqual([]);
      expect(await embed()).toBe(1);
      const [found] = await under.store.recall(query({ embedding: vectorAt(80), model }));
      expect(found?.similarity).toBeCloseTo(1, 5);
      // The same words written again keep their embedding.
      await write(memoryRow('a', { words: 'angle 80', value: '2', lamport: 3 as Lamport }));
      expect(await embed()).toBe(0);
    });

    test('together with words: what both find comes first', async () => {
      await start();
      await write(
        memoryRow('both', { words: 'invoice totals 20' }),
        memoryRow('words', { words: 'invoice layout 85' }),
        memoryRow('meaning', { words: 'billing sums 10' }),
      );
      await embed();
      const found = await under.store.recall(query({ words: 'invoice', embedding: vectorAt(5), model }));
      expect(found[0]?.memory.key).toBe('both');
      expect(found.map(({ memory }) => memory.key).toSorted()).toEqual(['both', 'meaning', 'words']);
    });

    test('lists what is not embedded by mark, page by page', async () => {
      await start();
      await write(...['a', 'b', 'c'].map((key) => memoryRow(key, { words: 'angle 1' })), memoryRow('silent'));
      const [first] = await under.store.unembedded(model, 1);
      const rest = await under.store.unembedded(model, 10, first!.mark);
      expect(rest).toHaveLength(2);
      expect(rest.every(({ mark }) => mark > first!.mark)).toBe(true);
    });

    test('an embedding that is none is refused', async () => {
      await start();
      await write(memoryRow('a', { words: 'angle 1' }));
      const [row] = await under.store.unembedded(model, 1);
      for (const vector of [new Float32Array(0), Float32Array.of(Number.NaN)])
        await expect(under.store.putEmbeddings([{ ...row!, model, vector }])).rejects.toMatchObject({
          code: 'embedding-invalid',
        });
    });
  });

  describe('memory of others (I9)', () => {
    test('no read answers an entry of another tenant, or of another subject of the same', async () => {
      await start();
      const words = 'the secret plan 10';
      await write(
        memoryRow('theirs', { tenant: other, words }),
        memoryRow('bens', { subject: 'user:ben', words }),
        memoryRow('own', { words }),
      );
      await embed();
      expect(await keys({ words: 'secret plan' })).toEqual(['own']);
      expect(await keys({ embedding: vectorAt(10), model })).toEqual(['own']);
      expect(await keys({ tenant: other, words: 'secret', embedding: vectorAt(10), model })).toEqual(['theirs']);
      expect(await keys({ tenant: 'nobody' as TenantId, words: 'secret', embedding: vectorAt(10), model })).toEqual([]);
      const listed = await under.store.memories({ tenant: other, subject: ana, limit: 9 });
      expect(listed.map(({ key }) => key)).toEqual(['theirs']);
      // Names that would run together where they are joined.
      expect(await keys({ tenant: 'acme\nuser:ana' as TenantId, subject: '', words: 'secret' })).toEqual([]);
    });
  });
}
