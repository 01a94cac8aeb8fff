/**
 * New rows beside those in use, on a server that others use too: where workflows are placed (R3), who waits and for how long (R1, R5), what
 * is carried over (R2), what is kept of others' (R4), and what is left when a process dies. The log is a list of batches here.
 */

import type { Sequence, WorkflowId } from '@tidemark/core';
import type { ClosedTexts, ProjectionBatch, RowStore, StoreRebuild } from '@tidemark/ports';
import { memoryRow } from '@tidemark/testkit/contracts/projection-store-memories';
import * as rows from '@tidemark/testkit/contracts/projection-store-rows';
import { eventually } from '@tidemark/testkit/eventually';
import { describeServers } from '@tidemark/testkit/suites';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openPostgresRebuild, unfinishedPostgresRebuild } from './open-rebuild.ts';
import { openPostgresStore } from './postgres-store.ts';
import type { RebuildPurpose } from './rebuild-schema.ts';

const VERSION = '1';
const PARTITIONS = [0, 1, 2].map((partition) => ({
  partition: rows.partitionAt(partition),
  start: rows.at(0),
  rebuildTo: rows.at(0),
}));
const MODEL = 'test-model';

describeServers('rows rebuilt on a server', ['postgres'], (servers) => {
  let url: string;
  let store: RowStore;
  let admin: pg.Client;
  let log: ProjectionBatch[];
  let opened: StoreRebuild[];

  const sql = async (text: string): Promise<readonly Record<string, unknown>[]> => (await admin.query(text)).rows;
  const placedIn = async (workflow: string): Promise<unknown> =>
    (await sql(`select partition, appended from placements where workflow = '${workflow}'`))[0];
  /** Appends to the log, and folds into the rows in use. */
  const happens = async (...batches: readonly ProjectionBatch[]): Promise<void> => {
    for (const batch of batches) {
      log.push(batch);
      await store.apply(batch);
    }
  };
  const open = async (purpose: RebuildPurpose = 'switch'): Promise<StoreRebuild> => {
    const rebuild = await openPostgresRebuild({ url }, purpose);
    opened.push(rebuild);
    return rebuild;
  };
  const close = async (rebuild: StoreRebuild): Promise<void> => {
    opened = opened.filter((other) => other !== rebuild);
    await rebuild.close();
  };
  const fold = async (rebuild: StoreRebuild, batches: readonly ProjectionBatch[] = log): Promise<void> => {
    await rebuild.begin(VERSION, false);
    await rebuild.store.ensure();
    await rebuild.store.addPartitions(PARTITIONS);
    const there = await rebuild.store.positions();
    const isLacking = ({ partitions }: ProjectionBatch): boolean =>
      partitions.every(({ partition, from }) => from >= there.get(partition)!);
    for (const batch of batches.filter(isLacking)) await rebuild.store.apply(batch);
    await rebuild.store.markReady();
  };
  const folded = async (purpose: RebuildPurpose = 'switch'): Promise<StoreRebuild> => {
    const rebuild = await open(purpose);
    await fold(rebuild);
    return rebuild;
  };
  const met = async (): Promise<void> => {};
  const compared = async (limit = 10) => {
    const rebuild = await folded('compare');
    const comparison = await rebuild.compare(met, { limit });
    await rebuild.drop();
    await close(rebuild);
    return comparison;
  };
  /** The outcome of a writer that waits a tenth of a second. */
  const written = async (): Promise<string> => {
    await admin.query(`set lock_timeout = '100ms'`);
    try {
      await admin.query('update partitions set tenant = tenant');
      return 'written';
    } catch (error) {
      return (error as pg.DatabaseError).code!;
    } finally {
      await admin.query('set lock_timeout = 0');
    }
  };

  beforeEach(async () => {
    url = await servers.freshDatabase();
    store = openPostgresStore({ url });
    admin = new pg.Client({ connectionString: url });
    await admin.connect();
    [log, opened] = [[], []];
    await store.ensure();
    await store.addPartitions(PARTITIONS);
    await happens(rows.openingBatch('first', 0), rows.openingBatch('second', 1));
  });
  afterEach(async () => {
    for (const rebuild of opened) await rebuild.close();
    await store.close();
    await admin.end();
  });

  it('finds a workflow whose placement names a partition in which it never was, and frees no id (I1)', async () => {
    await sql(`update placements set partition = 2 where workflow = 'first'`);
    const comparing = await folded('compare');
    await expect(comparing.compare(met, { limit: 10 })).rejects.toMatchObject({ code: 'rebuild-misplaced' });
    await comparing.restart();
    await fold(comparing);
    expect((await comparing.compare(met, { limit: 10 })).differences).toEqual([
      { table: 'placements', key: { workflow: 'first' }, what: 'different', columns: ['partition'] },
    ]);
    const rebuild = await folded();
    await expect(rebuild.switchOver(met)).rejects.toMatchObject({ code: 'rebuild-misplaced' });
    expect(await placedIn('first')).toEqual({ partition: 2, appended: true });
    await rebuild.restart();
    await fold(rebuild);
    await rebuild.switchOver(met);
    expect(await placedIn('first')).toEqual({ partition: 0, appended: true });
    expect(await store.workflow('first' as WorkflowId)).toMatchObject({ partition: 0 });
    const [again] = await store.place([rows.request('first')]);
    expect(again).toMatchObject({ created: false, partition: 0 });
  });

  it('refuses to forget a workflow in use whose opening it found nowhere', async () => {
    const rebuild = await open();
    await fold(rebuild, log.slice(1));
    await expect(rebuild.switchOver(met)).rejects.toMatchObject({
      name: 'CorruptError',
      code: 'opening-missing',
      details: { workflows: 'first' },
    });
    expect(await store.workflow('first' as WorkflowId)).toBeDefined();
  });

  it('takes, of two openings, the one that was placed, in whatever order they are folded', async () => {
    await happens(rows.openingBatch('first', 2));
    const rebuild = await open();
    await fold(rebuild, log.toReversed());
    await rebuild.switchOver(met);
    expect(await placedIn('first')).toEqual({ partition: 0, appended: true });
  });

  it('takes, of two openings, the one that has rows where the placement is lost, and none where nothing tells', async () => {
    await happens(rows.openingBatch('first', 2));
    await sql(`delete from placements where workflow = 'first'`);
    const rebuild = await open();
    await fold(rebuild, log.toReversed());
    await expect(rebuild.switchOver(met)).rejects.toMatchObject({ code: 'rebuild-misplaced' });
    await sql(`delete from workflows where workflow = 'first'`);
    await expect(rebuild.switchOver(met)).rejects.toMatchObject({
      code: 'opening-unclear',
      details: { workflows: 'first' },
    });
    const [{ columns }] = (await sql(
      `select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns where table_schema = 'public' and table_name = 'workflows' and is_generated = 'NEVER'`,
    )) as [{ columns: string }];
    await sql(
      `insert into workflows (${columns}) select ${columns} from public_rebuild.workflows where workflow = 'first'`,
    );
    await sql(`update workflows set partition = 0 where workflow = 'first'`);
    await rebuild.restart();
    await fold(rebuild, log.toReversed());
    await rebuild.switchOver(met);
    expect(await placedIn('first')).toEqual({ partition: 0, appended: true });
  });

  it('carries over what is in no history: placements under way, generations, embeddings', async () => {
    const memories = [memoryRow('a', { words: 'old words' }), memoryRow('b', { words: 'new words' })];
    await happens(rows.batch({ partitions: [rows.advance(2, 0, 1)], memories }));
    const embed = async (): Promise<void> => {
      const [found] = await store.unembedded(MODEL, 1);
      await store.putEmbeddings([{ ...found!, model: MODEL, vector: Float32Array.of(1, 0, 0) }]);
    };
    await embed();
    await store.place([rows.request('starting')]);
    const rebuild = await folded();
    // A writer of embeddings is not blocked.
    await rebuild.switchOver(embed);
    expect(await placedIn('starting')).toEqual({ partition: 2, appended: false });
    expect(await sql('select partition, live, placed_generation::int from partitions order by 1')).toEqual([
      { partition: 0, live: 1, placed_generation: 1 },
      { partition: 1, live: 1, placed_generation: 1 },
      { partition: 2, live: 1, placed_generation: 2 },
    ]);
    expect(await store.unembedded(MODEL, 1)).toEqual([]);
    expect(await sql('select model from memory_embeddings')).toEqual([{ model: MODEL }, { model: MODEL }]);
  });

  it('lets nobody write between the last look and the switch', async () => {
    const rebuild = await folded();
    let placing: Promise<unknown> | undefined;
    let isPlaced = false;
    expect(await written()).toBe('written');
    await rebuild.switchOver(async () => {
      expect(await written()).toBe('55P03');
      placing = store.place([rows.request('late')]).then(() => {
        isPlaced = true;
      });
      await eventually(async () => (await sql('select from pg_locks where not granted')).length > 0);
      expect(isPlaced).toBe(false);
    });
    await placing;
    expect(await placedIn('late')).toEqual({ partition: 2, appended: false });
    expect(await written()).toBe('written');
  });

  it('is alone: a second one is told so, and may begin once the first has ended', async () => {
    const first = await folded();
    await expect(open()).rejects.toMatchObject({ name: 'UnavailableError', code: 'rebuild-under-way' });
    expect(await unfinishedPostgresRebuild({ url })).toMatchObject({ isUnderWay: true });
    await close(first);
    expect(await unfinishedPostgresRebuild({ url })).toMatchObject({ isUnderWay: false });
    const second = await folded();
    await second.switchOver(met);
    expect(await unfinishedPostgresRebuild({ url })).toBeUndefined();
  });

  it('that lost its lock does not switch', async () => {
    const rebuild = await folded();
    await sql(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid = 7401003`);
    await expect(rebuild.switchOver(met)).rejects.toMatchObject({ code: 'rebuild-lock-lost' });
    const again = await folded();
    await again.switchOver(met);
  });

  it('changes nothing when its connection is killed in the middle of the switch, and goes on where it was', async () => {
    const rebuild = await folded();
    const switching = rebuild.switchOver(async () => {
      await sql(`select pg_terminate_backend(pid) from pg_stat_activity
        where state = 'idle in transaction' and datname = current_database()`);
    });
    await expect(switching).rejects.toMatchObject({ name: 'UnavailableError' });
    expect(await written()).toBe('written');
    expect(await store.workflow('first' as WorkflowId)).toBeDefined();
    await close(rebuild);
    // Everything that was folded is there.
    const again = await open();
    await again.begin(VERSION, false);
    await again.store.ensure();
    expect((await again.store.positions()).get(rows.partitionAt(0))).toBe(1);
    await again.switchOver(met);
    expect(await store.workflow('second' as WorkflowId)).toBeDefined();
  });

  it('holds nobody for longer than its silence may last when its process stands still', async () => {
    const rebuild = await folded();
    const switching = rebuild.switchOver(async () => {
      expect(await written()).toBe('55P03');
      await eventually(async () => (await written()) === 'written');
    });
    await expect(switching).rejects.toMatchObject({ name: 'UnavailableError' });
    expect(await placedIn('first')).toEqual({ partition: 0, appended: true });
  });

  it('waits for readers no longer than its limit, and changes nothing then', async () => {
    const rebuild = await folded();
    await sql('begin');
    await sql('select from events');
    // Readers never end before this has.
    await expect(rebuild.switchOver(met)).rejects.toMatchObject({ name: 'UnavailableError', code: 'store-busy' });
    await sql('commit');
    expect(await store.workflow('first' as WorkflowId)).toBeDefined();
    await rebuild.switchOver(met);
  });

  it('refuses to drop what others have on the tables, and names it', async () => {
    await sql('create view mine as select workflow from workflows');
    await sql('create index mine_too on events (at_ms)');
    await sql('alter table tasks add column note text');
    const rebuild = await folded();
    await expect(rebuild.switchOver(met)).rejects.toMatchObject({
      name: 'ConfigError',
      code: 'rows-depended-on',
      details: { names: ['column note (of tasks)', 'index mine_too (on events)', 'view mine (of workflows)'] },
    });
    expect(await sql('select workflow from mine order by 1')).toHaveLength(2);
    await sql('drop view mine; drop index mine_too; alter table tasks drop column note');
    // Nothing that the list doesn't know is dropped either.
    await sql(`create function mine(workflows) returns text language sql as $$ select 'x' $$`);
    await expect(rebuild.switchOver(met)).rejects.toMatchObject({ code: 'rows-depended-on' });
    await sql('drop function mine');
    await rebuild.switchOver(met);
  });

  it('keeps owners and grants', async () => {
    const reader = `reader_${process.pid}_${Date.now()}`;
    await sql(`create role ${reader}`);
    try {
      await sql(`grant select on workflows to ${reader} with grant option`);
      await sql(`grant select (workflow) on events to ${reader}; alter table timers owner to ${reader}`);
      await (await folded()).switchOver(met);
      const [may] =
        await sql(`select has_table_privilege('${reader}', 'workflows', 'select with grant option') as of_table,
        has_column_privilege('${reader}', 'events', 'workflow', 'select') as of_column,
        has_table_privilege('${reader}', 'tasks', 'select') as of_another,
        (select relowner::regrole::text from pg_class where oid = 'timers'::regclass) as owner`);
      expect(may).toEqual({ of_table: true, of_column: true, of_another: false, owner: reader });
    } finally {
      await sql(`drop owned by ${reader} cascade; drop role ${reader}`);
    }
  });

  it('touches no schema that no rebuild made', async () => {
    await sql('create schema public_compare; create table public_compare.mine (n int)');
    const rebuild = await open('compare');
    await expect(rebuild.begin(VERSION, true)).rejects.toMatchObject({ name: 'ConfigError', code: 'schema-foreign' });
    await expect(rebuild.drop()).rejects.toMatchObject({ code: 'schema-foreign' });
    expect(await sql('select from public_compare.mine')).toEqual([]);
    const long = 'l'.repeat(60);
    await sql(`create schema ${long}`);
    const there = new URL(url);
    there.searchParams.set('options', `-c search_path=${long}`);
    await expect(openPostgresRebuild({ url: there.href }, 'switch')).rejects.toMatchObject({
      code: 'schema-name-long',
    });
  });

  it('goes on from what its own version folded, and from nothing else', async () => {
    await close(await folded());
    const position = async (version: string, isFromNothing = false): Promise<unknown> => {
      const rebuild = await open();
      await rebuild.begin(version, isFromNothing);
      await rebuild.store.ensure();
      const positions = await rebuild.store.positions();
      await close(rebuild);
      return positions.get(rows.partitionAt(0));
    };
    expect(await position(VERSION)).toBe(1);
    expect(await position('2')).toBeUndefined();
    await close(await folded());
    expect(await position(VERSION, true)).toBeUndefined();
  });

  it('compares rows in use while a workflow is on its way to the log, and finds nothing', async () => {
    await store.place([rows.request('starting')]);
    expect(await compared()).toMatchObject({ differences: [], differenceCount: 0 });
    await sql('update partitions set live = live + 1 where partition = 1');
    expect((await compared()).differences).toEqual([
      { table: 'partitions', key: { partition: '1' }, what: 'different', columns: ['live'] },
    ]);
  });

  it('passes over the size of what a record says, which forgetting changes, and not over which record it is', async () => {
    await sql(`update checkpoints set payload = '@0:0:2' where workflow = 'first'`);
    expect((await compared()).differences).toEqual([]);
    await sql(`update checkpoints set payload = '@0:1:100' where workflow = 'first'`);
    expect((await compared()).differences).toMatchObject([{ table: 'checkpoints', columns: ['payload'] }]);
  });

  it('names as many differences as are asked for, and counts texts that it can not open', async () => {
    await sql(`insert into scopes select 'first', n, true, 'sealed:x' from generate_series(101, 2600) n`);
    const some = await compared(3);
    expect(some).toMatchObject({ differenceCount: 2_500, unopenedCount: 2_500 });
    expect(some.differences.map(({ key }) => key.sequence)).toEqual(['101', '102', '103']);
    expect((await compared(Number.POSITIVE_INFINITY)).differences).toHaveLength(2_500);
  });

  it('has what closed texts say compared by whoever can open them', async () => {
    await happens(
      rows.batch({
        partitions: [rows.advance(0, 1, 2)],
        context: {
          ...{ fragments: [], texts: [], spends: [], sessions: [] },
          scopes: [101, 102, 103].map((sequence) => ({
            workflow: rows.workflowNamed('first'),
            sequence: sequence as Sequence,
            isWhole: true,
            change: `sealed:${sequence}`,
          })),
        },
      }),
    );
    await sql(`update scopes set change = 'sealed:x' || sequence where sequence > 101`);
    const rebuild = await folded('compare');
    const asked: ClosedTexts[] = [];
    const comparison = await rebuild.compare(met, {
      limit: 10,
      contents: async (closed) => {
        asked.push(...closed);
        return closed.map(({ key }) => (key.sequence === '102' ? ['change'] : undefined));
      },
    });
    const key = { workflow: 'first', sequence: '102' };
    expect(asked[0]).toEqual({
      table: 'scopes',
      key,
      inUse: { change: 'sealed:x102' },
      made: { change: 'sealed:102' },
    });
    expect(asked).toHaveLength(2);
    expect(comparison).toMatchObject({
      differences: [{ table: 'scopes', key, what: 'different', columns: ['change'] }],
      differenceCount: 1,
      unopenedCount: 1,
    });
  });
});
