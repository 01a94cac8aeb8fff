/**
 * The ageing of segments: they move to the cold store and can still be read, and are deleted when the tenant's policy says so, and in no
 * other case. Deleted history is reported as such, and rows are rebuilt around it.
 */

import { type Offset, type TenantId, UnavailableError, workflowId } from '@tidemark/core';
import { decodeManifest, encodeManifest, manifestName } from '@tidemark/segments';
import { HOT_MS, SimulatedArchive } from '@tidemark/testkit/engine/simulated-archive';
import { P0, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { MemoryBlobs } from '@tidemark/testkit/memory-blobs';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { workflowAt } from '../history/workflow-at.ts';
import { LamportClock } from '../kernel/ports.ts';
import { tombstoneName } from './archive.ts';
import { DELETION_REPORTED_MAX_MS, Retention } from './retention.ts';
import {
  checkRetention,
  holdWrite,
  policyWrite,
  refuseElsewhere,
  refuseTaken,
  retentionOf,
} from './retention-policy.ts';

const FIRST = workflowId('first');
const DAY_MS = 86_400_000;
const everything = { from: 0 as never, limit: 100 };

let at: SimulatedArchive<MemoryObjects>;
let blobs: MemoryBlobs;
let before: unknown;
const lamport = new LamportClock();

/** Writes the rows that follow from a tenant's write. */
function report(tenant: TenantId, write: ReturnType<typeof policyWrite>): void {
  const { value, words = '', source = '', ...entry } = write;
  at.ports.store.memory.put([
    {
      ...entry,
      tenant,
      value: JSON.stringify(value ?? null),
      words,
      source,
      atMs: 0,
      workflow: workflowId('w'),
      position: 1 as never,
      ordinal: 0,
      lamport: lamport.stamp(),
      isForgotten: value === undefined,
    },
  ]);
}

const retention = { warmMs: 10 * DAY_MS, keepMs: 30 * DAY_MS };
const names = (store: 'objects' | 'cold') => at[store].names().filter((name) => name.endsWith('.parquet'));

beforeEach(async () => {
  blobs = new MemoryBlobs();
  at = new SimulatedArchive(
    () => new SimulatedLog(1),
    (place) => new MemoryObjects(place),
    blobs,
  );
  await at.run('first');
  before = await at.ports.store.checkpoints(FIRST, everything);
  at.ports.clock.jump(HOT_MS + 1);
  await at.pass();
});
afterEach(async () => {
  expect(at.errors).toEqual([]);
  await at.close();
});

describe('a segment that is no longer warm', () => {
  it('moves to the cold store, whole; history reads as before', async () => {
    at.ports.clock.jump(10 * DAY_MS - HOT_MS);
    expect(await at.pass({ retention })).toMatchObject({ cooledCount: 0 });
    at.ports.clock.jump(2 * HOT_MS);
    expect(await at.pass({ retention })).toMatchObject({ cooledCount: 1, deletedCount: 0 });
    expect([names('objects'), names('cold')]).toEqual([[], [expect.any(String)]]);
    expect(await at.ports.store.segments({ tier: 'cold', limit: 10 })).toHaveLength(1);
    expect(await at.store().checkpoints(FIRST, everything)).toEqual(before);
    expect((await at.verify()).problems).toEqual([]);
  });

  it('comes back from an archive class when it was asked for; until then its state is told', async () => {
    at.ports.clock.jump(11 * DAY_MS);
    await at.pass({ retention });
    at.cold.archive(names('cold')[0]!, 2);
    await expect(at.store().checkpoints(FIRST, everything)).rejects.toMatchObject({ code: 'object-archived' });
    expect(await at.restorer().restore(FIRST)).toEqual({ state: 'recalling', segmentCount: 1, expectedAtMs: null });
    expect(await at.verify()).toMatchObject({ coldCount: 1, problems: [] });
    expect(await at.restorer().restore(FIRST)).toMatchObject({ state: 'restored', segmentCount: 1 });
    expect(await at.ports.store.checkpoints(FIRST, everything)).toEqual(before);
    expect(await at.restorer().restore(FIRST)).toEqual({ state: 'here' });
  });

  it.each(['create', 'read'] as const)(
    'stays warm while the cold store fails to %s, and moves later',
    async (operation) => {
      at.ports.clock.jump(11 * DAY_MS);
      at.cold.fail(1, operation);
      await expect(at.pass({ retention })).rejects.toMatchObject({ code: 'objects-unavailable' });
      expect(names('objects')).toHaveLength(1);
      expect(await at.pass({ retention })).toMatchObject({ cooledCount: 1 });
      expect(await at.store().checkpoints(FIRST, everything)).toEqual(before);
    },
  );

  it('is in one store alone, and known to be there, wherever the pass that moves it dies', async () => {
    at.ports.clock.jump(11 * DAY_MS);
    at.objects.fail(1, 'remove');
    await expect(at.pass({ retention })).rejects.toMatchObject({ code: 'objects-unavailable' });
    at.ports.store.failOnce('setTier', new Error('died'));
    await expect(at.pass({ retention })).rejects.toThrow('died');
    expect([names('objects').length, names('cold').length]).toEqual([0, 1]);
    expect(await at.pass({ retention })).toMatchObject({ cooledCount: 1 });
    expect(await at.ports.store.segments({ tier: 'cold', limit: 10 })).toHaveLength(1);
    expect(await at.store().checkpoints(FIRST, everything)).toEqual(before);
  });

  it('does not come back where another deletes it while it is moved', async () => {
    at.ports.clock.jump(31 * DAY_MS);
    const { create } = at.cold;
    at.cold.create = async (...given) => {
      at.cold.create = create;
      await at.pass({ retention });
      return create.apply(at.cold, given);
    };
    // This one moves alone.
    expect(await at.pass({ retention: { ...retention, keepMs: null } })).toMatchObject({ cooledCount: 0 });
    expect([names('objects'), names('cold')]).toEqual([[], []]);
    expect(await at.ports.store.segments({ tier: 'deleted', limit: 10 })).toHaveLength(1);
  });

  it('stays warm until an object that was there before has been proved, from an archive class too', async () => {
    at.ports.clock.jump(11 * DAY_MS);
    const [object] = names('objects');
    // Somebody wrote it at some time.
    await at.cold.create(object!, (await at.objects.read(object!))!);
    at.cold.archive(object!);
    expect(await at.pass({ retention })).toMatchObject({ cooledCount: 0 });
    expect(names('objects')).toEqual([object]);
    expect(await at.pass({ retention })).toMatchObject({ cooledCount: 1 });
    expect(names('objects')).toEqual([]);
  });

  it('stays warm while a workflow of it is live, which reads there what it goes on from', async () => {
    const { stream } = at.ports.store.rows.get(FIRST)!;
    at.ports.store.rows.get(FIRST)!.stream = { ...stream, closedInGeneration: null };
    at.ports.clock.jump(11 * DAY_MS);
    expect(await at.pass({ retention })).toMatchObject({ cooledCount: 0 });
    at.ports.store.rows.get(FIRST)!.stream = stream;
    expect(await at.pass({ retention })).toMatchObject({ cooledCount: 1 });
  });

  it('comes back also where rows are there: going back to a checkpoint reads its events', async () => {
    at.ports.clock.jump(11 * DAY_MS);
    await at.pass({ retention });
    await at.restorer().restore(FIRST);
    at.cold.archive(names('cold')[0]!, 2);
    const past = () => workflowAt({ log: at.tiered(), store: at.store() }, FIRST, 1 as never);
    await expect(past()).rejects.toMatchObject({
      code: 'object-archived',
      message: expect.stringContaining('tidemark admin restore first'),
    });
    expect(await at.restorer().restore(FIRST)).toMatchObject({ state: 'recalling', segmentCount: 1 });
    expect(await at.restorer().restore(FIRST)).toEqual({ state: 'here' });
    expect((await past()).state.head.sequence).toBe(1);
  });

  it('stays warm where the cold store gives other bytes', async () => {
    at.ports.clock.jump(11 * DAY_MS);
    at.cold.lie(names('objects')[0]!);
    expect(await at.pass({ retention })).toMatchObject({ cooledCount: 0 });
    expect(at.errors).toMatchObject([{ code: 'segment-damaged' }]);
    expect(names('objects')).toHaveLength(1);
    at.errors = [];
  });
});

describe('a segment that is no longer kept', () => {
  const pass = () => at.pass({ retention });

  it('is deleted from every tier, and told as such; its manifest stays', async () => {
    at.ports.clock.jump(11 * DAY_MS);
    await pass();
    at.ports.clock.jump(20 * DAY_MS);
    expect(await pass()).toMatchObject({ deletedCount: 1, heldCount: 0 });
    expect([names('objects'), names('cold')]).toEqual([[], []]);
    expect(await pass()).toMatchObject({ deletedCount: 0 });
    await expect(at.store().checkpoints(FIRST, everything)).rejects.toMatchObject({ code: 'segment-deleted' });
    expect(await at.ports.store.workflow(FIRST)).toMatchObject({ status: 'completed' });
  });

  it('leaves rows that can be rebuilt, with its ids taken', async () => {
    await at.run('later');
    at.ports.clock.jump(31 * DAY_MS);
    await at.run('last');
    expect(await pass()).toMatchObject({ segmentCount: 1, deletedCount: 1 });
    const rows = () => [...at.ports.store.rows.keys()].sort();
    const kept = rows();
    await at.rebuild();
    expect(rows()).toEqual(kept);
    expect(at.ports.store.placements.get(FIRST)).toMatchObject({ appended: true, live: false });
    // The fold continues after the deleted stretch: the next opening is the next generation.
    await at.run('after', { ends: false });
    expect(rows()).toEqual([...kept, 'after'].sort());
  });

  it('waits for the policy of its tenant, where that has one', async () => {
    report(TENANT, policyWrite(TENANT, { warmMs: DAY_MS, keepMs: 90 * DAY_MS }));
    at.ports.clock.jump(31 * DAY_MS);
    expect(await pass()).toMatchObject({ cooledCount: 1, deletedCount: 0 });
    at.ports.clock.jump(60 * DAY_MS);
    expect(await pass()).toMatchObject({ deletedCount: 1 });
  });

  it('waits while a hold covers it, and goes when that is released', async () => {
    const hold = { id: 'case-7', by: 'ana', why: 'a dispute' };
    at.ports.clock.jump(31 * DAY_MS);
    report(TENANT, holdWrite(TENANT, { ...hold, workflow: FIRST }));
    expect(await pass()).toMatchObject({ deletedCount: 0, heldCount: 1 });
    report(TENANT, holdWrite(TENANT, { ...hold, workflow: workflowId('other') }));
    report(TENANT, holdWrite(TENANT, { ...hold, id: 'all', workflow: null }));
    expect(await pass()).toMatchObject({ deletedCount: 0, heldCount: 1 });
    expect((await retentionOf(at.ports.store, TENANT)).holds).toHaveLength(2);
    report(TENANT, holdWrite(TENANT, { id: 'all', released: true }));
    expect(await pass()).toMatchObject({ deletedCount: 1, heldCount: 0 });
  });

  it('waits while a fork shares it, and goes once that was deleted itself', async () => {
    await at.fork('first', 1, 'branch');
    at.ports.clock.jump(31 * DAY_MS);
    expect(await pass()).toMatchObject({ deletedCount: 0 });
    await at.finish('branch');
    expect(await at.ports.store.workflow(workflowId('branch'))).toMatchObject({ status: 'completed', sequence: 1 });
    at.ports.clock.jump(HOT_MS + 1);
    // The fork is archived and too young, so its base stays with it.
    expect(await pass()).toMatchObject({ segmentCount: 1, deletedCount: 0 });
    at.ports.clock.jump(31 * DAY_MS);
    expect(await pass()).toMatchObject({ deletedCount: 1 });
    expect(await pass()).toMatchObject({ deletedCount: 1 });
    expect(await at.ports.store.forksOf(FIRST, 10)).toEqual([]);
    await expect(at.store().checkpoints(FIRST, everything)).rejects.toMatchObject({ code: 'segment-deleted' });
  });

  it('that has a fork keeps it also after rows were rebuilt', async () => {
    await at.fork('first', 1, 'branch');
    await at.rebuild();
    expect(await at.ports.store.forksOf(FIRST, 10)).toEqual([workflowId('branch')]);
    at.ports.clock.jump(31 * DAY_MS);
    expect(await pass()).toMatchObject({ deletedCount: 0 });
  });

  it('waits while any of its workflows goes on, or ended later', async () => {
    at.ports.store.rows.get(FIRST)!.stream = { ...at.ports.store.rows.get(FIRST)!.stream, closedInGeneration: null };
    at.ports.clock.jump(31 * DAY_MS);
    expect(await pass()).toMatchObject({ deletedCount: 0 });
  });

  it('holds nothing that is remembered outside of workflows, which stays', async () => {
    await at.run('second');
    await at.remember('user:ana');
    at.ports.clock.jump(HOT_MS + 1);
    expect(await pass()).toMatchObject({ segmentCount: 2 });
    at.ports.clock.jump(31 * DAY_MS);
    expect(await pass()).toMatchObject({ deletedCount: 2, unendedCount: 0 });
    const left = (await at.ports.store.segments({ limit: 10 })).filter(({ tier }) => tier !== 'deleted');
    expect(left.map(({ workflows }) => workflows)).toEqual([
      [expect.objectContaining({ workflow: expect.stringContaining('~memory:') })],
    ]);
    expect((await at.verify()).problems).toEqual([]);
  });

  it('that was archived together with such, while all was kept for ever, stays, which is told', async () => {
    await at.run('second');
    await at.remember('user:ana');
    at.ports.clock.jump(HOT_MS + 1);
    expect(await at.pass()).toMatchObject({ segmentCount: 1 });
    at.ports.clock.jump(31 * DAY_MS);
    expect(await pass()).toMatchObject({ deletedCount: 1, unendedCount: 1 });
  });

  it('waits for no hold of another tenant’s', async () => {
    const other = 'other' as TenantId;
    report(other, holdWrite(other, { id: 'case-7', workflow: null, by: 'ana', why: 'a dispute' }));
    at.ports.clock.jump(31 * DAY_MS);
    expect(await pass()).toMatchObject({ deletedCount: 1, heldCount: 0 });
  });

  it('stays when a hold is set while a pass is under way', async () => {
    await at.run('later');
    at.ports.clock.jump(HOT_MS + 1);
    await at.pass();
    at.ports.clock.jump(31 * DAY_MS);
    const { remove } = at.objects;
    at.objects.remove = async (name) => {
      report(TENANT, holdWrite(TENANT, { id: 'all', workflow: null, by: 'ana', why: 'a dispute' }));
      return remove.call(at.objects, name);
    };
    expect(await pass()).toMatchObject({ deletedCount: 1, heldCount: 1 });
  });

  it.each([
    ['policy', policyWrite(TENANT, retention)],
    ['hold', holdWrite(TENANT, { id: 'case-7', workflow: workflowId('none'), by: 'ana', why: 'a dispute' })],
  ])('stays while a %s of its tenant can’t be read, which is told', async (_, write) => {
    // Content that was sealed with a destroyed key reads like this.
    report(TENANT, { ...write, value: {} });
    at.ports.clock.jump(31 * DAY_MS);
    expect(await pass()).toMatchObject({ deletedCount: 0, cooledCount: 0 });
    expect(at.errors).toMatchObject([{ code: 'retention-unreadable' }]);
    at.errors = [];
    // The control: with its content it is deleted.
    report(TENANT, write);
    expect(await pass()).toMatchObject({ deletedCount: 1 });
  });

  describe('of a workflow with large payloads', () => {
    const large = 'told '.repeat(1_000);
    const left = () => [...new Set(blobs.names().map((name) => name.split('/')[0]))].sort();
    /** In segments of one record each. */
    async function archived(id: string): Promise<void> {
      await at.run(id, { reported: large });
      at.ports.clock.jump(HOT_MS + 1);
      await at.pass({ segmentMaxBytes: 1 });
    }
    const segmentsOf = async (id: string) => at.ports.store.segments({ workflow: workflowId(id), limit: 100 });

    it('takes them with it, and those of no other workflow, wherever the pass dies', async () => {
      await archived('old');
      // A crash between it and its event left this one, which no record names.
      await blobs.put(workflowId('old'), Buffer.from('never said'));
      at.ports.clock.jump(31 * DAY_MS);
      await archived('young');
      expect(left()).toEqual(['old', 'young']);
      blobs.fail(1, 'removeAll');
      await expect(pass()).rejects.toMatchObject({ code: 'blobs-unavailable' });
      expect(left()).toEqual(['old', 'young']);
      await pass();
      expect(left()).toEqual(['young']);
      expect((await at.verify()).problems).toEqual([]);
    });

    it('leaves them to the last segment that has events of it (T3)', async () => {
      await archived('old');
      at.ports.clock.jump(31 * DAY_MS);
      const [first, ...others] = await segmentsOf('old');
      expect(first).toBeDefined();
      expect(others.length).toBeGreaterThan(1);
      // Tombstones that no event of the log stands for, which anyone with access to the bucket could write (D1).
      for (const { partition, from, to, object, digest } of others) {
        const note = { partition, from, to, object, digest, reason: 'retention' };
        await at.objects.create(tombstoneName(partition, from), Buffer.from(`${JSON.stringify(note)}\n`));
      }
      let leftCount = 2;
      at.beforeDeletion = async () => {
        if (leftCount-- === 0) throw new UnavailableError('log-unavailable', 'The log is away.');
      };
      await expect(pass()).rejects.toMatchObject({ code: 'log-unavailable' });
      expect(left()).toEqual(['old']);
      at.beforeDeletion = async () => {};
      await pass();
      expect(left()).toEqual([]);
    });

    it.each(['old', 'first'])(
      'goes with them once the index, which lacks a segment of %s, is whole',
      async (lacking) => {
        await archived('old');
        const compactor = at.compactor({ retention });
        await compactor.pass();
        const { segmentRows } = at.ports.store;
        segmentRows.delete([...segmentRows].find(([, { workflows }]) => workflows[0]?.workflow === lacking)![0]);
        at.ports.clock.jump(31 * DAY_MS);
        const { unindexedCount, unendedCount } = await compactor.pass();
        expect([unindexedCount > 0, unendedCount]).toEqual([true, 0]);
        expect(at.errors).toMatchObject([{ code: 'index-incomplete' }]);
        at.errors = [];
        expect((await segmentsOf('old')).map(({ tier }) => tier)).not.toContain('deleted');
        expect(left()).toEqual(['old']);
        // A process that begins finds the segment in the archive.
        expect(await pass()).toMatchObject({ unindexedCount: 0 });
        expect(at.errors).toEqual([]);
        expect((await segmentsOf('old')).map(({ tier }) => tier)).not.toContain('warm');
        expect(left()).toEqual([]);
      },
    );
  });

  it('stays while rows are being made, of which policies and forks are some', async () => {
    at.ports.clock.jump(31 * DAY_MS);
    const { ready } = at.ports.store;
    at.ports.store.ready = async () => false;
    expect(await pass()).toMatchObject({ deletedCount: 0 });
    at.ports.store.ready = ready;
    expect(await pass()).toMatchObject({ deletedCount: 1 });
  });

  it('is gone for good also when the pass dies between any two steps', async () => {
    at.ports.clock.jump(31 * DAY_MS);
    at.beforeDeletion = async () => {
      at.beforeDeletion = async () => {};
      throw new UnavailableError('log-unavailable', 'The log is away.');
    };
    await expect(pass()).rejects.toMatchObject({ code: 'log-unavailable' });
    // Nothing is deleted, and no deletion is recorded.
    expect([at.deletions, names('objects').length]).toEqual([[], 1]);
    expect(await at.verify()).toMatchObject({ deletedCount: 0, problems: [] });
    for (const fail of [
      () => at.objects.fail(1, 'create'),
      () => at.objects.fail(1, 'remove'),
      () => at.cold.fail(1, 'remove'),
    ]) {
      fail();
      await expect(pass()).rejects.toMatchObject({ code: 'objects-unavailable' });
    }
    at.ports.store.failOnce('setTier', new Error('died'));
    await expect(pass()).rejects.toThrow('died');
    expect(await pass()).toMatchObject({ deletedCount: 1 });
    expect(names('objects')).toEqual([]);
    expect(await at.verify()).toMatchObject({ deletedCount: 1, problems: [] });
  });

  it('stays while rows don’t show that the log was told, and the pass goes no further, nor waits for ever', async () => {
    at.ports.clock.jump(31 * DAY_MS);
    at.beforeDeletion = () => new Promise(() => {});
    const others = at.ports.clock.sleeperCount;
    const late = expect(pass()).rejects.toMatchObject({ code: 'deletion-untold' });
    await expect.poll(() => at.ports.clock.sleeperCount).toBeGreaterThan(others);
    await at.ports.clock.run(DELETION_REPORTED_MAX_MS);
    await late;
    expect(names('objects')).toHaveLength(1);
    const compactor = at.compactor({ retention });
    const sleeping = at.ports.clock.sleeperCount;
    const stopped = expect(compactor.pass()).rejects.toMatchObject({ code: 'deletion-untold' });
    await expect.poll(() => at.ports.clock.sleeperCount).toBeGreaterThan(sleeping);
    await compactor.stop();
    await stopped;
  });

  it('stays when a hold is set after the log was told, and goes once that is released', async () => {
    at.ports.clock.jump(31 * DAY_MS);
    at.beforeDeletion = async () =>
      report(TENANT, holdWrite(TENANT, { id: 'all', workflow: null, by: 'ana', why: 'a dispute' }));
    expect(await pass()).toMatchObject({ deletedCount: 0, heldCount: 1 });
    // It moves to the cold store like others.
    expect([names('objects').length, names('cold').length]).toEqual([0, 1]);
    at.beforeDeletion = async () => {};
    report(TENANT, holdWrite(TENANT, { id: 'all', released: true }));
    expect(await pass()).toMatchObject({ deletedCount: 1 });
  });

  it('stays where its manifest is not the one that rows tell of', async () => {
    at.ports.clock.jump(31 * DAY_MS);
    const name = manifestName(P0, 0 as Offset);
    const bytes = at.objects.poll(name)!;
    at.objects.lose(name);
    await at.objects.create(name, encodeManifest({ ...decodeManifest(name, bytes), digest: 'f'.repeat(64) as never }));
    expect(await pass()).toMatchObject({ deletedCount: 0 });
    expect(at.errors).toContainEqual(expect.objectContaining({ code: 'manifest-damaged' }));
    expect([at.deletions, names('objects').length]).toEqual([[], 1]);
    at.errors = [];
  });

  it('is not taken away for a tombstone that somebody forged, while it is moved', async () => {
    at.ports.clock.jump(11 * DAY_MS);
    const { digest } = (await at.ports.store.segments({ limit: 1 }))[0]!;
    await at.objects.create(tombstoneName(P0, 0 as Offset), Buffer.from(JSON.stringify({ digest })));
    expect(await pass()).toMatchObject({ cooledCount: 1 });
    expect(names('cold')).toHaveLength(1);
    expect(await at.store().checkpoints(FIRST, everything)).toEqual(before);
  });
});

describe('a hold', () => {
  const hold = { id: 'case-7', workflow: FIRST, by: 'ana', why: 'a dispute' };

  it.each([{ workflow: workflowId('other') }, { workflow: null }, { by: 'bob' }, { why: 'another' }])(
    'that stands is not set to %o',
    (change) => {
      expect(refuseTaken(TENANT, hold, [])).toBe('new');
      expect(refuseTaken(TENANT, hold, [{ ...hold, id: 'case-8' }, hold])).toBe('same');
      expect(() => refuseTaken(TENANT, { ...hold, ...change }, [hold])).toThrow(
        expect.objectContaining({
          code: 'hold-taken',
          message: expect.stringContaining('case-7 holds first already, set by ana'),
        }),
      );
    },
  );

  it('is of its own tenant’s', () => {
    const other = 'other' as TenantId;
    expect(() => refuseElsewhere(other, { workflow: FIRST, tenant: TENANT })).toThrow(
      expect.objectContaining({ code: 'hold-elsewhere', message: expect.stringContaining(`--tenant ${TENANT}`) }),
    );
    refuseElsewhere(TENANT, { workflow: FIRST, tenant: TENANT });
  });
});

describe('a policy', () => {
  it.each([
    [{ warmMs: 0, keepMs: null }, 'warm'],
    [{ warmMs: DAY_MS, keepMs: 0 }, 'keep'],
    [{ warmMs: DAY_MS, keepMs: -1 }, 'keep'],
    [{ warmMs: DAY_MS, keepMs: DAY_MS - 1 }, 'keep'],
    [{ warmMs: Number.NaN, keepMs: null }, 'warm'],
  ])('%o is refused, naming %s', (policy, field) => {
    expect(() => checkRetention(policy)).toThrow(
      expect.objectContaining({ code: 'retention-invalid', details: { field } }),
    );
    expect(() => at.compactor({ retention: policy })).toThrow(expect.objectContaining({ code: 'retention-invalid' }));
  });

  it('says nothing by default but what the process was given, and nobody else moves anything', async () => {
    at.ports.clock.jump(1_000 * DAY_MS);
    const idle = new Retention({
      ports: at.ports,
      archive: at.archive(),
      deletions: at,
      stopped: new AbortController().signal,
      policy: retention,
      onError: () => {},
    });
    const report = await idle.pass(at.ports.clock.nowMs(), () => false);
    expect(report).toEqual({ cooledCount: 0, deletedCount: 0, heldCount: 0, unendedCount: 0, unindexedCount: 0 });
  });
});
