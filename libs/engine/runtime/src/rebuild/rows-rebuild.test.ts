/**
 * The rebuild of rows over simulated servers: it completes whatever answer is lost and whoever else writes, retries where others
 * interfered, refuses a log that lost records, requests history that must be recalled once, and writes no rows of archived history. The
 * switch itself is the store's.
 */

import {
  CorruptError,
  type Offset,
  type Partition,
  UnavailableError,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import type { CatchUp, EventLog, RowComparison, StoreRebuild } from '@tidemark/ports';
import { SimulatedArchive } from '@tidemark/testkit/engine/simulated-archive';
import { definitionOf, P0, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { quiet, type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedStore } from '@tidemark/testkit/engine/simulated-store';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memoryWorkflow } from '../agent/memory-streams.ts';
import { Starter } from '../inbox/starter.ts';
import { LamportClock } from '../kernel/ports.ts';
import { loggedStore } from '../projection/logged-store.ts';
import { type RebuildProgress, RowsRebuild, type RowsRebuildOptions } from './rows-rebuild.ts';

const P1 = 1 as Partition;

type Live = SimulatedPorts['store'];

/** The store's part: rows in use, new ones, and the failure of the switch. */
class SimulatedTarget implements StoreRebuild {
  readonly store = new SimulatedStore();
  readonly #live: Live;
  readonly failures: unknown[] = [];
  readonly begun: (readonly [string, boolean])[] = [];
  switchCount = 0;
  placedAnewCount = 0;
  isDropped = false;

  constructor(live: Live) {
    this.#live = live;
  }

  async begin(madeBy: string, isFromNothing: boolean): Promise<void> {
    this.begun.push([madeBy, isFromNothing]);
    if (isFromNothing) this.store.drop();
  }

  positions(): Promise<ReadonlyMap<Partition, Offset>> {
    return this.#live.positions();
  }

  async #meet(catchUp: CatchUp): Promise<void> {
    await catchUp(await this.positions());
    if (this.failures.length > 0) throw this.failures.shift();
  }

  async switchOver(catchUp: CatchUp): Promise<void> {
    await this.#meet(catchUp);
    this.switchCount++;
  }

  async compare(catchUp: CatchUp): Promise<RowComparison> {
    await this.#meet(catchUp);
    return { differences: [], differenceCount: 0, rowCount: this.store.rows.size, unopenedCount: 0 };
  }

  async restart(): Promise<void> {
    this.placedAnewCount++;
    this.store.drop();
  }

  async unfinished(): Promise<undefined> {
    return undefined;
  }

  async drop(): Promise<void> {
    this.isDropped = true;
  }

  async close(): Promise<void> {}
}

describe('rows rebuilt', () => {
  let log: SimulatedLog;
  let ports: SimulatedPorts;
  let target: SimulatedTarget;
  let errors: { readonly code?: string }[];
  let progress: RebuildProgress[];

  beforeEach(async () => {
    log = new SimulatedLog(2);
    ports = simulatedPorts(log, 2);
    target = new SimulatedTarget(ports.store);
    [errors, progress] = [[], []];
    const definition = definitionOf({ steps: { a: () => ({}) } });
    const starter = new Starter({ ports, lamport: new LamportClock(), partitionsMax: 2 });
    for (const id of ['a', 'b'])
      await starter.start({ definition, input: null, workflow: workflowId(id), tenant: TENANT });
    for (const partition of [P0, P1]) ports.store.partitions.get(partition)!.next = 1 as Offset;
  });

  const rebuildOf = (part: Partial<RowsRebuildOptions> = {}): RowsRebuild =>
    new RowsRebuild({
      target,
      rows: loggedStore(target.store, log),
      log,
      clock: ports.clock,
      onProgress: (each) => progress.push(each),
      onError: (error) => errors.push(error as { readonly code?: string }),
      ...part,
    });
  /** Lets time pass until the work has ended. */
  const ended = async (work: Promise<unknown>, maxMs = 60_000): Promise<unknown> => {
    let isOver = false;
    const over = work.finally(() => {
      isOver = true;
    });
    over.catch(() => {});
    await ports.clock.runUntil(() => isOver, maxMs);
    return over;
  };
  const isFolded = (): void => {
    expect([...target.store.rows.keys()].sort()).toEqual(['a', 'b'] as WorkflowId[]);
    expect(target.switchCount).toBe(1);
  };

  it('folds all of the log, counts what it folded, and switches', async () => {
    await ended(rebuildOf().switchOver());
    isFolded();
    expect(progress.at(-1)).toEqual({ doneCount: 2, totalCount: 2, foldedCount: 2 });
    expect(target.begun).toEqual([[expect.stringMatching(/^\d+\.\d+\.\d+, state \d+$/), false]]);
  });

  it('goes on from what is there, and counts what it folded itself', async () => {
    target.failures.push(new CorruptError('opening-missing', 'no'));
    await expect(ended(rebuildOf().switchOver())).rejects.toMatchObject({ code: 'opening-missing' });
    await log.append(P0, [{ value: Buffer.from('no event'), type: 't' }]);
    progress = [];
    await ended(rebuildOf().switchOver({ isFromNothing: false }));
    expect(progress.at(-1)).toEqual({ doneCount: 3, totalCount: 3, foldedCount: 1 });
  });

  it('ends though the answer to a batch that was written is lost', async () => {
    const { store } = target;
    const apply = store.apply.bind(store);
    let lostCount = 0;
    store.apply = async (batch) => {
      await apply(batch);
      if (lostCount++ === 0) throw new UnavailableError('store-unavailable', 'the answer is lost');
    };
    await ended(rebuildOf().switchOver());
    isFolded();
    expect(lostCount).toBe(1);
    expect(errors).toMatchObject([{ code: 'store-unavailable' }]);
  });

  it('ends though another process writes the rows, and tells no one', async () => {
    const { store } = target;
    const apply = store.apply.bind(store);
    store.apply = async (batch) => {
      // The other's write comes first, each time.
      await apply(batch);
      return apply(batch);
    };
    await ended(rebuildOf().switchOver());
    isFolded();
  });

  it('tries again where others were in the way, for so long', async () => {
    const busy = () => new UnavailableError('store-busy', 'locked');
    target.failures.push(busy(), new UnavailableError('rebuild-behind', 'late'), busy());
    await ended(rebuildOf().switchOver());
    isFolded();
    expect(errors.map(({ code }) => code)).toEqual(['store-busy', 'rebuild-behind', 'store-busy']);
    target.failures.push(...Array.from({ length: 100 }, busy));
    await expect(ended(rebuildOf().switchOver(), 600_000)).rejects.toMatchObject({ code: 'store-busy' });
  });

  it('folds everything again where workflows are elsewhere than rows in use say, and not for ever', async () => {
    const misplaced = () => new UnavailableError('rebuild-misplaced', 'elsewhere');
    target.failures.push(misplaced());
    await ended(rebuildOf().switchOver());
    isFolded();
    expect(target.placedAnewCount).toBe(1);
    target.failures.push(...Array.from({ length: 100 }, misplaced));
    await expect(ended(rebuildOf().compare(1))).rejects.toMatchObject({ code: 'rebuild-misplaced' });
    expect(target.isDropped).toBe(true);
  });

  it.each(['switchOver', 'compare'] as const)('refuses to %s beside rows that know more than the log', async (what) => {
    ports.store.partitions.get(P1)!.next = 2 as Offset;
    const rebuild = rebuildOf();
    const failed = { name: 'CorruptError', code: 'log-replaced', details: { partition: 1, end: 1, next: 2 } };
    await expect(ended(what === 'switchOver' ? rebuild.switchOver() : rebuild.compare(1))).rejects.toMatchObject(
      failed,
    );
    expect(target.begun).toEqual([]);
  });

  it('leaves partitions that have no rows to coordinators, which fence them', async () => {
    ports.store.partitions.delete(P1);
    await ended(rebuildOf().switchOver());
    expect([...target.store.partitions.keys()]).toEqual([P0]);
    ports.store.partitions.clear();
    await expect(ended(rebuildOf().switchOver())).rejects.toMatchObject({ code: 'rows-missing' });
  });
});

describe('rows rebuilt from archived history', () => {
  let at: SimulatedArchive<MemoryObjects>;
  let objects: MemoryObjects;

  beforeEach(async () => {
    objects = new MemoryObjects();
    at = new SimulatedArchive(
      () => new SimulatedLog(1),
      () => objects,
    );
    for (const id of ['one', 'two']) {
      await at.run(id);
      at.ports.clock.jump(10_000);
      await at.pass();
    }
    expect(await at.startOf()).toBeGreaterThan(0);
  });
  afterEach(() => at.close());

  const segments = async (): Promise<readonly string[]> => {
    const names: string[] = [];
    for await (const name of objects.list('segments/')) names.push(name);
    return names;
  };

  type Reported = { readonly code?: string }[];
  /** Returns the reports, which are added to `reported` even if it fails. */
  const made = async (target: SimulatedTarget, reported: Reported = []): Promise<Reported> => {
    let isOver = false;
    const rebuild = new RowsRebuild({
      target,
      rows: loggedStore(target.store, at.tiered()),
      log: at.tiered(),
      archived: { hot: at.log as EventLog, archive: at.archive() },
      clock: at.ports.clock,
      onError: (error) => reported.push(error as Reported[number]),
    });
    const work = rebuild.switchOver().finally(() => {
      isOver = true;
    });
    work.catch(() => {});
    await at.ports.clock.runUntil(() => isOver, 600_000);
    await work;
    return reported;
  };
  const written = ({ store }: SimulatedTarget): readonly WorkflowId[] =>
    store.batches.flatMap(({ checkpoints }) => checkpoints.map(({ workflow }) => workflow));
  const ENDED = [workflowId('one'), workflowId('two')];

  it('writes no rows of what segments have as a whole, in whatever pieces, and all rows of what is in the log', async () => {
    await at.run('three');
    await at.run('log');
    const three = workflowId('three');
    const target = new SimulatedTarget(at.ports.store);
    expect(await made(target)).toEqual([]);
    expect(new Set(written(target))).toEqual(new Set([three, workflowId('log')]));
    expect(await target.store.withoutRows([...ENDED, three])).toEqual(ENDED);
    expect((await target.store.segments({ limit: 10 })).map(({ rowsDropped }) => rowsDropped)).toEqual([true, true]);
    // Control: a rebuild that knows no segments writes all of it, and it is dropped afterwards.
    const control = new SimulatedTarget(at.ports.store);
    control.store.endedInSegments = async () => [];
    expect(await made(control)).toEqual([]);
    expect(written(control)).toEqual(expect.arrayContaining(ENDED));
    expect(target.store.rows).toEqual(control.store.rows);
    expect(target.store.placements).toEqual(control.store.placements);
    expect(target.store.segmentRows).toEqual(control.store.segmentRows);
  });

  it('writes all rows after all where a segment says of a workflow that it ended, and the fold does not', async () => {
    await at.remember('ana');
    at.ports.clock.jump(10_000);
    await at.pass();
    const target = new SimulatedTarget(at.ports.store);
    const { store } = target;
    store.endedInSegments = async (streams) => streams;
    expect(await made(target)).toMatchObject([{ code: 'archive-disagrees', details: { partition: 0 } }]);
    expect(target.begun.map(([, isFromNothing]) => isFromNothing)).toEqual([false, true]);
    // Their openings, and two steps of each.
    const each = [...ENDED, ...ENDED, ...ENDED];
    expect([...written(target)].sort()).toEqual([...each, memoryWorkflow(at.ports.digest, TENANT, 'ana')].sort());
    expect([...store.rows.values()].map(({ hasRows }) => hasRows).sort()).toEqual([false, false, true]);
    // Control: workflows that did not end are written at once.
    const sound = new SimulatedTarget(at.ports.store);
    expect(await made(sound)).toEqual([]);
    expect(written(sound)).toHaveLength(1);
    expect(sound.store.rows).toEqual(store.rows);
  });

  it('asks for all of it once, tells when it is expected, and goes on from there when it is run again', async () => {
    const names = await segments();
    expect(names).toHaveLength(2);
    for (const name of names) objects.archive(name, 2);
    const target = new SimulatedTarget(at.ports.store);
    const reported: Reported = [];
    const run = (): Promise<Reported> => made(target, reported);
    const failed = {
      name: 'UnavailableError',
      code: 'history-recalled',
      details: { objectCount: 2, partitionCount: 1 },
    };
    await expect(run()).rejects.toMatchObject(failed);
    expect(reported).toMatchObject([{ code: 'history-recalled', details: { partition: 0, objectCount: 2 } }]);
    expect(objects.calls.recall).toBe(2);
    for (const name of names) await objects.recall(name);
    await run();
    expect([...target.store.rows.keys()].sort()).toEqual(['one', 'two']);
  });

  it('is asked for once by a coordinator whose rows were lost, which goes on by itself', async () => {
    for (const name of await segments()) objects.archive(name, 4);
    at.ports.store.drop();
    at.projector.forgetAll();
    const { end } = (await at.log.bounds([P0])).get(P0)!;
    await at.ports.store.addPartitions([{ partition: P0, start: 0 as Offset, rebuildTo: end }]);
    const reads = objects.calls.read;
    // As the sweep does.
    for (let poll = 0; poll < 20; poll++) {
      at.projector.hint([P0]);
      await at.ports.clock.run(1_000);
    }
    expect(at.errors).toMatchObject([{ code: 'history-recalled', details: { objectCount: 2 } }]);
    expect(objects.calls.recall).toBe(2);
    // It is not polled all the time.
    expect(objects.calls.read - reads).toBeLessThan(20);
    for (let poll = 0; poll < 60 && at.ports.store.partitions.get(P0)!.next < end; poll++) {
      at.projector.hint([P0]);
      await at.ports.clock.run(10_000);
    }
    expect(at.ports.store.partitions.get(P0)!.next).toBe(end);
    expect(at.errors).toHaveLength(1);
    await quiet();
  });
});
