/** Owns the part of the contract about texts that name blobs: each is listed as long as a row has it, and none is missed. */

import { type Lamport, type Offset, type Sequence, taskId } from '@tidemark/core';
import { blobReferenceText, type SegmentRow } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import { memoryRow } from './projection-store-memories.ts';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const SEGMENT: Pick<SegmentRow, 'partition' | 'from' | 'to'> = {
  partition: rows.partitionAt(0),
  from: 0 as Offset,
  to: 2 as Offset,
};

/** Different ones, in the order of the numbers. */
const name = (number: number): string =>
  blobReferenceText({ digest: number.toString(16).padStart(64, '0'), bytes: 5_000_000 });

const placed = (offset: number) => rows.said(offset, 5_000_000);

export function testBlobs(under: StoreUnderTest): void {
  const named = (after: string | null = null, limit = 100): Promise<readonly string[]> =>
    under.other.blobReferences(after, limit);

  /** A workflow that names a blob wherever a row can, all of them different. */
  async function everywhere(): Promise<void> {
    await under.partitions(1);
    const workflow = rows.workflowNamed('w');
    const task = taskId(0, 0);
    const opening = rows.openingBatch('w', 0);
    await under.store.apply({
      ...opening,
      checkpoints: opening.checkpoints.map((row) => ({ ...row, payload: placed(1) })),
      effects: [rows.effectRow('w', task, 'one', { payload: placed(2), request: placed(3) })],
      events: [rows.eventRow('w', 3, { payload: placed(4) })],
      memories: [memoryRow('k', { value: name(5), workflow })],
      context: {
        fragments: [],
        texts: [{ workflow, digest: 'b'.repeat(64), text: name(6) }],
        scopes: [{ workflow, sequence: 1 as Sequence, isWhole: true, change: name(7) }],
        spends: [],
        sessions: [],
      },
    });
  }

  describe('names of blobs', () => {
    test('are told from whatever rows have them, each once, page by page', async () => {
      await everywhere();
      await under.store.apply(
        rows.batch({
          ...rows.closingBatch('w', 0, 1),
          closed: [rows.closed('w', 0, name(8))],
        }),
      );
      const all = [5, 6, 7, 8].map(name);
      expect(await named()).toEqual(all);
      expect(await named(null, 3)).toEqual(all.slice(0, 3));
      expect(await named(all[1], 3)).toEqual(all.slice(2));
      expect(await named(all[3])).toEqual([]);
    });

    test('of openings are told while those are not in the log', async () => {
      await under.partitions(1);
      await under.store.place([rows.request('w', { opening: name(1) })]);
      expect(await named()).toEqual([name(1)]);
      await under.store.apply(rows.openingBatch('w', 0));
      expect(await named()).toEqual([]);
    });

    test('are told no longer than rows have them', async () => {
      await everywhere();
      const change = rows.batch({
        ...rows.closingBatch('w', 0, 1),
        memories: [memoryRow('k', { value: '1', lamport: 9_000 as Lamport })],
      });
      await under.store.apply(change);
      expect(await named()).toEqual([6, 7].map(name));
      await under.store.dropRows(SEGMENT, [rows.workflowNamed('w')]);
      expect(await named()).toEqual([]);
    });

    test('stand, like places of records, for what they name where storage is told', async () => {
      await everywhere();
      const [use] = await under.store.storage('workflow', 1);
      // Of the opening, the effect, the event and the text.
      expect(use!.hotBytes).toBe(4 * 5_000_000);
    });
  });
}
