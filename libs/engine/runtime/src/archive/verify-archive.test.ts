/**
 * An audit finds nothing in a sound archive, whatever its policies deleted, and finds every kind of tampering in everything that events
 * determine. Each forgery has the sound archive as its control.
 */

import { hash } from 'node:crypto';
import { type Offset, type Sha256, STATE_VERSION, type TenantId, workflowId } from '@tidemark/core';
import { decodeManifest, decodeSegment, encodeManifest, encodeSegment, manifestName } from '@tidemark/segments';
import { HOT_MS, SimulatedArchive } from '@tidemark/testkit/engine/simulated-archive';
import { P0, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { MemoryBlobs } from '@tidemark/testkit/memory-blobs';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tombstoneName } from './archive.ts';
import { deletionOf } from './deletions.ts';

const DAY_MS = 86_400_000;
let at: SimulatedArchive<MemoryObjects>;
let blobs: MemoryBlobs;

beforeEach(async () => {
  blobs = new MemoryBlobs();
  at = new SimulatedArchive(
    () => new SimulatedLog(1),
    (place) => new MemoryObjects(place),
    blobs,
  );
  await archived('first');
  await archived('second');
});
afterEach(() => at.close());

async function archived(id: string): Promise<void> {
  await at.run(id, { reported: `${id} `.repeat(1_000) });
  at.ports.clock.jump(HOT_MS + 1);
  expect(await at.pass()).toMatchObject({ segmentCount: 1 });
}

const audit = () => at.verify();
const problems = async () => (await audit()).problems;
const segments = () => at.objects.names().filter((name) => name.endsWith('.parquet'));

const manifestAt = (from: number) => {
  const name = manifestName(P0, from as Offset);
  return { name, manifest: decodeManifest(name, at.objects.poll(name)!) };
};
const newest = () => manifestAt(manifestAt(0).manifest.to);
type Manifest = ReturnType<typeof newest>['manifest'];

async function replace(name: string, bytes: Uint8Array): Promise<void> {
  at.objects.lose(name);
  await at.objects.create(name, bytes);
}

describe('an audit', () => {
  it('finds nothing in a sound archive, and damage and loss of an object', async () => {
    expect(await problems()).toEqual([]);
    const [segment] = segments();
    at.objects.lie(segment!);
    expect(await problems()).toMatchObject([{ partition: 0, from: 0, code: 'segment-damaged' }]);
    at.objects.heal();
    at.objects.lose(segment!);
    expect(await problems()).toMatchObject([{ code: 'segment-missing' }]);
  });

  it('misses the large payload of an accepted record, and of no rejected one', async () => {
    await at.run('third', { reported: 'third '.repeat(1_000) });
    const opening = (await at.log.read([{ partition: P0, from: (await at.startOf()) as Offset }]))[0]!.records[0]!;
    // Without a large payload: its workflow might have been deleted.
    const rejected = Buffer.from(Buffer.from(opening.value).toString().replaceAll('third', 'other'));
    at.log.store(P0, [{ value: rejected, type: 'WorkflowOpened' }]);
    at.ports.clock.jump(HOT_MS + 1);
    await at.projected();
    expect(await at.pass()).toMatchObject({ segmentCount: 1 });
    const audited = () => at.verify({ blobs: at.blobs() });
    expect((await audited()).problems).toEqual([]);
    await blobs.removeAll(workflowId('third'));
    expect((await audited()).problems).toMatchObject([{ code: 'blob-missing' }]);
  });

  it('sees a segment that was taken out of the chain', async () => {
    at.objects.lose(manifestName(P0, 0 as Offset));
    expect(await problems()).toMatchObject([{ code: 'archive-gap' }]);
  });

  it('tells where both chains end: of events, and of what manifests say', async () => {
    const { name, manifest } = newest();
    const ends = { partition: 0, to: manifest.to, chain: manifest.chainAfter };
    expect((await audit()).chains).toEqual([{ ...ends, manifest: hash('sha256', at.objects.poll(name)!) }]);
    // What no event determines shows only there.
    await replace(name, encodeManifest({ ...manifest, writtenAtMs: 1 }));
    const { chains, problems: none } = await audit();
    expect(none).toEqual([]);
    expect(chains).toMatchObject([ends]);
    expect(chains[0]!.manifest).not.toBe(hash('sha256', encodeManifest(manifest)));
  });
});

describe('a forged newest manifest is told, for', () => {
  const first = <T>([one, ...others]: readonly T[], change: (one: T) => T): readonly T[] => [change(one!), ...others];
  const forgeries: readonly (readonly [string, string, (manifest: Manifest) => Partial<Manifest>])[] = [
    [
      'whose it is',
      'workflows',
      ({ workflows }) => ({ workflows: first(workflows, (w) => ({ ...w, tenant: 'x' as never })) }),
    ],
    ['the user', 'workflows', ({ workflows }) => ({ workflows: first(workflows, (w) => ({ ...w, user: 'eve' })) })],
    [
      'how it ended',
      'workflows',
      ({ workflows }) => ({
        workflows: first(workflows, (w) => ({ ...w, ended: { ...w.ended!, status: 'failed' } })),
      }),
    ],
    [
      'that it ended',
      'workflows',
      ({ workflows }) => ({
        workflows: first(workflows, (w) => ({ ...w, closes: false, ended: null })),
      }),
    ],
    ['who is in it', 'workflows', () => ({ workflows: [] })],
    ['the oldest time', 'firstAtMs', () => ({ firstAtMs: 1 })],
    ['the newest time', 'lastAtMs', ({ lastAtMs }) => ({ lastAtMs: lastAtMs + 1 })],
    ['its size in the log', 'rawBytes', ({ rawBytes }) => ({ rawBytes: rawBytes - 1 })],
  ];

  it.each(forgeries)('%s (%s)', async (_, field, forged) => {
    const { name, manifest } = newest();
    await replace(name, encodeManifest({ ...manifest, ...forged(manifest) }));
    const reported = { code: 'manifest-differs', message: expect.stringContaining(`(${field})`) };
    expect(await problems()).toMatchObject([reported]);
    await replace(name, encodeManifest(manifest));
    expect(await problems()).toEqual([]);
  });

  it.each(['chainBefore', 'previous'])('what it follows on (%s)', async (field) => {
    const { name, manifest } = newest();
    await replace(name, encodeManifest({ ...manifest, [field]: '1'.repeat(64) }));
    expect((await problems()).map(({ code }) => code)).toContain('chain-broken');
    await replace(name, encodeManifest(manifest));
    expect(await problems()).toEqual([]);
  });

  it('what the fold refused, with a segment to match', async () => {
    const { name, manifest } = newest();
    const { records } = decodeSegment(at.objects.poll(manifest.object)!);
    const { partition, chainBefore } = manifest;
    const changed = records.map((record, index) =>
      index === 1 ? { ...record, position: null, rejected: 'closed' as const } : record,
    );
    const { bytes } = encodeSegment({ partition, records: changed, chainBefore });
    await replace(manifest.object, bytes);
    await replace(name, encodeManifest({ ...manifest, digest: hash('sha256', bytes), bytes: bytes.length }));
    expect(await problems()).toMatchObject([{ code: 'verdict-differs' }]);
  });

  it('the state that a fold goes on from', async () => {
    const { name, manifest } = newest();
    await replace(name, encodeManifest({ ...manifest, generation: (manifest.generation + 1) as never }));
    expect(await problems()).toMatchObject([{ code: 'state-differs' }]);
  });

  it('nothing, where the row of its end was told with fewer words by an older release; control: one that says more', async () => {
    const { name, manifest } = newest();
    const { reason, ...ended } = manifest.workflows[0]!.ended!;
    expect(reason).toBeNull();
    const [workflow, ...others] = manifest.workflows;
    const older = { ...manifest, workflows: [{ ...workflow!, ended: ended as never }, ...others] };
    await replace(name, encodeManifest(older));
    expect(await problems()).toEqual([]);
    const more = { ...ended, fork: { workflow: 'x' } } as never;
    await replace(name, encodeManifest({ ...manifest, workflows: [{ ...workflow!, ended: more }, ...others] }));
    expect(await problems()).toMatchObject([{ code: 'manifest-differs' }]);
  });

  it('nothing, where another version wrote the states: who goes on from there folds the records again', async () => {
    const { name, manifest } = newest();
    const streams = manifest.streams.map((stream) => ({
      ...stream,
      state: stream.state.replace(`"stateVersion":${STATE_VERSION}`, '"stateVersion":99').replace('"status"', '"was"'),
    }));
    expect(streams).not.toEqual(manifest.streams);
    await replace(name, encodeManifest({ ...manifest, streams }));
    expect(await problems()).toEqual([]);
    await archived('third');
    expect(await audit()).toMatchObject({ segmentCount: 3, problems: [] });
  });
});

describe('what a policy deleted', () => {
  it('is counted, and no problem; what comes after it is proved as ever', async () => {
    at.ports.clock.jump(2 * DAY_MS);
    await archived('third');
    expect(await at.pass({ retention: { warmMs: DAY_MS, keepMs: DAY_MS } })).toMatchObject({ deletedCount: 2 });
    expect(await audit()).toMatchObject({ segmentCount: 3, deletedCount: 2, coldCount: 0, problems: [] });
    at.objects.lie(segments()[0]!);
    expect(await problems()).toMatchObject([{ code: 'segment-damaged' }]);
  });

  it('is a problem where no tombstone stands for it, or another segment’s does', async () => {
    const [segment] = segments();
    at.objects.lose(segment!);
    expect(await audit()).toMatchObject({ deletedCount: 0, problems: [{ code: 'segment-missing' }] });
    const { digest } = newest().manifest;
    await at.objects.create(tombstoneName(P0, 0 as Offset), Buffer.from(JSON.stringify({ digest })));
    expect(await audit()).toMatchObject({ deletedCount: 0, problems: [{ code: 'segment-missing' }] });
  });

  it('is a problem where somebody wrote the tombstone, and the log says nothing of it, or of another segment or manifest', async () => {
    const { manifest } = manifestAt(0);
    at.objects.lose(manifest.object);
    await at.objects.create(tombstoneName(P0, 0 as Offset), Buffer.from(JSON.stringify({ digest: manifest.digest })));
    const unproved = { deletedCount: 0, problems: [{ code: 'deletion-unproved' }] };
    expect(await audit()).toMatchObject(unproved);
    const whole = deletionOf((await at.archive().manifestFrom(P0, 0 as Offset))!);
    const others = [
      { ...whole, digest: newest().manifest.digest },
      { ...whole, manifest: '0'.repeat(64) as Sha256 },
    ];
    for (const deletion of others) await at.deletes(TENANT, deletion);
    await at.deletes('other' as TenantId, whole);
    expect(await audit()).toMatchObject(unproved);
    // The control: a policy's own deletion.
    await at.deletes(TENANT, whole);
    expect(await audit()).toMatchObject({ deletedCount: 1, problems: [] });
  });

  it('is told by the end of a chain, which every further deletion moves, whoever wrote it', async () => {
    at.ports.clock.jump(2 * DAY_MS);
    await at.pass({ retention: { warmMs: DAY_MS, keepMs: DAY_MS } });
    const [end, ...others] = (await audit()).deletions;
    expect([end, others]).toMatchObject([
      { tenant: TENANT, count: 2, chain: expect.stringMatching(/^[0-9a-f]{64}$/) },
      [],
    ]);
    at.deletions.push(at.deletions[0]!);
    expect((await audit()).deletions[0]).toMatchObject({ count: 3 });
    expect((await audit()).deletions[0]!.chain).not.toBe(end!.chain);
    at.deletions.pop();
    expect((await audit()).deletions).toEqual([end]);
    at.deletions.reverse();
    expect((await audit()).deletions[0]!.chain).not.toBe(end!.chain);
  });
});
