/** The view with large texts in blobs: rows have references, readers get texts, and nobody can forge a reference (B2). */

import type { Generation, Offset, Sequence } from '@tidemark/core';
import { blobReferenceOf, blobReferenceText, type ProjectionBatch, type RowStore } from '@tidemark/ports';
import { memoryRow } from '@tidemark/testkit/contracts/projection-store-memories';
import * as rows from '@tidemark/testkit/contracts/projection-store-rows';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedStore } from '@tidemark/testkit/engine/simulated-store';
import { MemoryBlobs } from '@tidemark/testkit/memory-blobs';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { BlobTexts } from './blob-rows.ts';
import { Blobs } from './blobs.ts';
import { transformedStore } from './transformed-store.ts';

const INLINE_BYTES = 400;
const ID = rows.workflowNamed('w');
const everything = { from: 0 as Sequence, limit: 100 };

let plain: SimulatedStore;
let below: SimulatedStore;
let live: MemoryBlobs;
let view: RowStore;

beforeEach(() => {
  [plain, below] = [new SimulatedStore(2), new SimulatedStore(2)];
  live = new MemoryBlobs();
  const blobs = new Blobs({ live, aside: new MemoryBlobs() }, new SimulatedClock());
  view = transformedStore(below, new BlobTexts({ blobs, inlineMaxBytes: INLINE_BYTES }));
});

/** A text in every place that a row has for one. */
function batchOf(text: (place: string) => string): ProjectionBatch {
  const opening = rows.openingBatch('w', 0);
  const fragment = { workflow: ID, sequence: 1 as Sequence, index: 0, type: 'user_message' as const };
  return rows.batch({
    ...rows.closingBatch('w', 0, 0),
    partitions: [rows.advance(0, 0, 4)],
    opened: opening.opened,
    closed: [rows.closed('w', 0, text('result'))],
    memories: [memoryRow('k', { value: text('memory'), workflow: ID })],
    context: {
      fragments: [{ ...fragment, digest: 'b'.repeat(64), call: null, tool: null, covers: null }],
      texts: [{ workflow: ID, digest: 'b'.repeat(64), text: text('text') }],
      scopes: [{ workflow: ID, sequence: 1 as Sequence, isWhole: true, change: text('scope') }],
      spends: [],
      sessions: [],
    },
  });
}

const seen = async (store: RowStore) => ({
  streams: await store.loadStreams([ID]),
  checkpoints: await store.checkpoints(ID, everything),
  effects: await store.effects(ID),
  effectPage: await store.effectPage(ID, { limit: 10 }),
  events: await store.events(ID, 100),
  scopes: await store.scopes(ID, 9 as Sequence),
  texts: await store.texts(ID, ['b'.repeat(64)]),
  fragments: await store.fragments(ID, 9 as Sequence),
  memories: await store.memories({ tenant: rows.tenant, subject: 'user:ana', limit: 10 }),
  workflow: await store.workflow(ID),
  workflows: await store.workflows({ limit: 10 }),
});

async function applied(text: (place: string) => string): Promise<void> {
  await plain.apply(batchOf(text));
  await view.apply(batchOf(text));
}

describe('rows', () => {
  it('hold names of what is large, and give it back wherever it is read', async () => {
    await applied((place) => JSON.stringify({ [place]: 'ü'.repeat(300) }));
    expect(await seen(view)).toEqual(await seen(plain));
    const raw = JSON.stringify(await seen(below));
    expect(raw).not.toContain('üü');
    expect(live.digests()).toHaveLength(4);
    expect((await view.blobReferences(null, 100)).map((name) => blobReferenceOf(name)?.digest)).toEqual(live.digests());
  });

  it('hold what is small, and no blob is put or asked for', async () => {
    await applied((place) => JSON.stringify({ [place]: 'ü'.repeat(100) }));
    expect(await seen(view)).toEqual(await seen(plain));
    expect(await seen(below)).toEqual(await seen(plain));
    expect(live.calls).toMatchObject({ put: 0, get: 0 });
  });

  it('give every text back as it was, whatever it is', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }), fc.nat(200)).map(([s, n]) => s.repeat(n)),
      fc.constantFrom('blob:', `blob:${'a'.repeat(64)}:5`, 'null'),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 50 }), async (said, inlineMaxBytes) => {
        const store = new SimulatedStore(1);
        const blobs = new Blobs({ live, aside: new MemoryBlobs() }, new SimulatedClock());
        const own = transformedStore(store, new BlobTexts({ blobs, inlineMaxBytes }));
        await own.apply(batchOf(() => said));
        const { scopes, workflow } = await seen(own);
        expect([scopes[0]?.change, workflow?.result]).toEqual([said, said]);
      }),
      { numRuns: 60 },
    );
  });

  it('of openings are placed, answered and told as they were', async () => {
    const opening = JSON.stringify({ input: 'x'.repeat(1_000) });
    const requests = [rows.request('w', { opening }), rows.request('v', { opening: '{}' })];
    expect(await view.place(requests)).toEqual(await plain.place(requests));
    expect(await view.unappended(0, 10)).toEqual(await plain.unappended(0, 10));
    expect(below.placements.get(ID)?.opening).toMatch(/^blob:/);
  });

  it('that were put back from segments are like those that the projector wrote', async () => {
    const batch = batchOf((place) => JSON.stringify({ [place]: 'x'.repeat(1_000) }));
    for (const store of [plain, view]) {
      await store.apply(batch);
      await store.dropRows({ partition: rows.partitionAt(0), from: 0 as Offset, to: 4 as Offset }, [ID]);
      await store.restoreRows(batch, [ID], 1);
    }
    const { streams: _, ...both } = await seen(plain);
    expect(await seen(view)).toMatchObject(both);
    expect(batch.partitions[0]?.generation).toBe(1 as Generation);
  });
});

describe('a name', () => {
  it('that somebody says is a text like any other, and opens no blob', async () => {
    const digest = await live.put(Buffer.from('another tenant’s'));
    const said = blobReferenceText({ digest, bytes: 18 });
    await applied(() => said);
    expect((await seen(view)).texts[0]?.text).toBe(said);
    expect(JSON.stringify(await seen(view))).not.toContain('another tenant');
  });

  it('of a blob that is gone or damaged is told with its place', async () => {
    await applied((place) => JSON.stringify({ [place]: 'x'.repeat(1_000) }));
    const [row] = await below.scopes(ID, 9 as Sequence);
    const { digest } = blobReferenceOf(row!.change)!;
    live.damage(digest);
    const details = { place: 'scopes/w/1', digest };
    await expect(view.scopes(ID, 9 as Sequence)).rejects.toMatchObject({ code: 'blob-damaged', details });
    live.lose(digest);
    await expect(view.scopes(ID, 9 as Sequence)).rejects.toMatchObject({ code: 'blob-missing', details });
    // The others are there all the same.
    expect(await view.workflow(ID)).toEqual(await plain.workflow(ID));
  });

  it('is in no row while blobs are away: nothing was written, and may be written later', async () => {
    const batch = batchOf(() => 'x'.repeat(1_000));
    live.fail(1, 'put');
    await expect(view.apply(batch)).rejects.toMatchObject({ code: 'blobs-unavailable' });
    expect(below.calls.get('apply')).toBeUndefined();
    await view.apply(batch);
    expect((await seen(view)).workflow?.result).toBe('x'.repeat(1_000));
  });
});
