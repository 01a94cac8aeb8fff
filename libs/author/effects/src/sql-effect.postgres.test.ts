/** The SQL effect on a real Postgres: applied once a key, whatever comes at once, dies, hangs or misbehaves. */

import { FatalError, NotDoneError } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { describeServers } from '@tidemark/testkit/suites';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { contextOf } from './context-fixture.ts';
import { effectsTable } from './effect-rows.ts';
import { type SqlEffectSpec, sqlEffect } from './sql-effect.ts';
import type { SqlPool } from './sql-session.ts';

const schemas = { request: z.object({ cents: z.number().int() }), response: z.object({ id: z.number() }) };
type Spec = SqlEffectSpec<typeof schemas.request, typeof schemas.response>;

describeServers('the SQL effect', ['postgres'], (servers) => {
  let pool: pg.Pool;
  let url: string;
  beforeAll(async () => {
    url = await servers.freshDatabase();
    pool = new pg.Pool({ connectionString: url, max: 8 });
    // The connections that the tests kill.
    pool.on('error', () => undefined);
    await pool.query('create table bookings (id serial primary key, cents int not null check (cents < 1000))');
  });
  beforeEach(async () => {
    await pool.query('drop table if exists tidemark_effects; truncate bookings restart identity');
  });
  afterAll(() => pool.end());

  const insert = 'insert into bookings (cents) values ($1) returning id';
  const book = (extra: Partial<Spec> = {}) =>
    sqlEffect({
      operation: 'ledger.book',
      ...schemas,
      pool: () => pool,
      run: async (tx, { cents }) => ({ id: Number((await tx.query(insert, [cents])).rows[0].id) }),
      ...extra,
    });
  const call = (key: string, extra: Partial<Spec> = {}, signal?: AbortSignal, cents = 5) =>
    book(extra).call({ cents }, contextOf(key, signal));
  const probe = (key: string, extra: Partial<Spec> = {}) => {
    const { signal, key: branded } = contextOf(key);
    return book(extra).probe!(branded, { signal, request: null });
  };
  const failure = (promise: Promise<unknown>): Promise<Error & { code: string }> =>
    promise.then(
      (value) => Promise.reject(new Error(`answered ${JSON.stringify(value)}`)),
      (error) => error,
    );
  const bookings = async (): Promise<number> =>
    Number((await pool.query('select count(*) from bookings')).rows[0].count);
  /** A change that continues when the test says so. */
  const paused = () => {
    const begun = Promise.withResolvers<number>();
    const goOn = Promise.withResolvers<void>();
    const run: Spec['run'] = async (tx, { cents }) => {
      const { rows } = await tx.query(`${insert}, pg_backend_pid() as pid`, [cents]);
      begun.resolve(Number(rows[0].pid));
      await goOn.promise;
      return { id: Number(rows[0].id) };
    };
    return { run, begun: begun.promise, goOn: goOn.resolve };
  };
  const waitsForLock = () =>
    eventually(async () => {
      const { rows } = await pool.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return rows.length > 0;
    });

  describe('once a key', () => {
    test('a second call is answered from the record', async () => {
      expect(await call('k')).toEqual({ id: 1 });
      expect(await call('k')).toEqual({ id: 1 });
      expect(await bookings()).toBe(1);
      expect(await call('k2')).toEqual({ id: 2 });
    });

    test('two at once: one waits, and gets what the other did', async () => {
      const first = paused();
      const one = call('k', { run: first.run });
      await first.begun;
      const two = call('k');
      await waitsForLock();
      first.goOn();
      expect(await Promise.all([one, two])).toEqual([{ id: 1 }, { id: 1 }]);
      expect(await bookings()).toBe(1);
    });

    test('many at once, on a database without the table', async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => call('k')));
      expect(answers).toEqual(Array.from({ length: 20 }, () => ({ id: 1 })));
      expect(await bookings()).toBe(1);
    });

    test('control: without the key, each of them counts', async () => {
      await Promise.all(Array.from({ length: 20 }, () => pool.query(insert, [5])));
      expect(await bookings()).toBe(20);
    });

    test('control: a key that is looked for first, and written later, lets both through', async () => {
      await pool.query(effectsTable());
      const looked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const naive = async (index: number): Promise<void> => {
        const found = await pool.query('select 1 from tidemark_effects where key = $1', ['k']);
        looked[index]!.resolve();
        await looked[1 - index]!.promise;
        if (found.rowCount === 0) await pool.query(insert, [5]);
      };
      await Promise.all([naive(0), naive(1)]);
      expect(await bookings()).toBe(2);
    });

    test('with another request the key is refused, and nothing changes', async () => {
      await call('k');
      expect(await failure(call('k', {}, undefined, 6))).toBeInstanceOf(FatalError);
      expect(await bookings()).toBe(1);
    });

    test('in another schema', async () => {
      await pool.query('create schema if not exists "Mine"');
      await call('k', { schema: 'Mine' });
      expect((await pool.query('select key, operation, response from "Mine".tidemark_effects')).rows).toEqual([
        { key: 'k', operation: 'ledger.book', response: { id: 1 } },
      ]);
      expect(() => book({ schema: 'a"; drop' })).toThrow(expect.objectContaining({ code: 'sql-schema-invalid' }));
    });
  });

  describe('a failure leaves nothing behind', () => {
    const raises = (error: Error): Spec['run'] => {
      const run: Spec['run'] = async (tx, { cents }) => {
        await tx.query(insert, [cents]);
        throw error;
      };
      return run;
    };

    test.each<[string, Partial<Spec>, number]>([
      ['of the change', { run: raises(new Error('no')) }, 5],
      ['of a constraint', {}, 5_000],
      [
        'that the change swallows',
        {
          run: (tx) =>
            tx.query('selec').then(
              () => ({ id: 1 }),
              () => ({ id: 1 }),
            ),
        },
        5,
      ],
      ['to connect', { pool: () => new pg.Pool({ connectionString: 'postgres://u:hush-hush@127.0.0.1:9/x' }) }, 5],
    ])('%s', async (_, spec, cents) => {
      const error = await failure(call('k', spec, undefined, cents));
      expect(error).toBeInstanceOf(NotDoneError);
      expect(error.message).not.toContain('hush-hush');
      expect(await bookings()).toBe(0);
      // The key is free.
      expect(await call('k')).toMatchObject({ id: expect.any(Number) });
      expect(await bookings()).toBe(1);
    });

    test('a fatal error stays one', async () => {
      expect(await failure(call('k', { run: raises(new FatalError('never')) }))).toBeInstanceOf(FatalError);
      expect(await bookings()).toBe(0);
    });

    test('a response that the schema refuses is refused before the commit', async () => {
      const run: Spec['run'] = async (tx, { cents }) => {
        await tx.query(insert, [cents]);
        return { id: 'one' as unknown as number };
      };
      expect(await failure(call('k', { run }))).toMatchObject({ code: 'effect-response-invalid' });
      expect(await bookings()).toBe(0);
    });

    test('a deferred constraint that fails in the commit', async () => {
      await pool.query('create table if not exists parts (id int unique deferrable initially deferred)');
      const run: Spec['run'] = async (tx) => {
        await tx.query('insert into parts values (1), (1)');
        return { id: 1 };
      };
      expect(await failure(call('k', { run }))).toBeInstanceOf(NotDoneError);
      expect(await probe('k')).toEqual({ status: 'not-done' });
    });

    test('the connection is given back, and used again', async () => {
      const one = new pg.Pool({ connectionString: url, max: 1 });
      await failure(call('k', { pool: () => one, run: raises(new Error('no')) }));
      expect(one.idleCount).toBe(1);
      await call('k', { pool: () => one });
      expect(one.totalCount).toBe(1);
      // As on the old primary after a failover, where the next effect would fail in the same way.
      await one.query('set default_transaction_read_only = on');
      expect(await failure(call('k2', { pool: () => one }))).toMatchObject({ details: { state: '25006' } });
      expect(one.totalCount).toBe(0);
      await call('k2', { pool: () => one });
      await one.end();
    });
  });

  describe('a death', () => {
    const kill = (pid: number) => pool.query('select pg_terminate_backend($1)', [pid]);

    test('of the connection before the commit: not done', async () => {
      const change = paused();
      const dying = failure(call('k', { run: change.run }));
      await kill(await change.begun);
      change.goOn();
      expect(await dying).toBeInstanceOf(NotDoneError);
      expect(await bookings()).toBe(0);
      expect(await call('k')).toMatchObject({ id: expect.any(Number) });
      expect(await bookings()).toBe(1);
    });

    /** A pool whose connection is cut around the commit: before the server has it, or before its answer comes. */
    const cutting = (when: 'before' | 'after'): SqlPool => ({
      async connect() {
        const client = await pool.connect();
        return {
          release: (destroy) => client.release(destroy),
          async query(text, values) {
            if (!text.endsWith('commit')) return client.query(text, values);
            if (when === 'after') await client.query(text);
            throw new Error('Connection terminated unexpectedly');
          },
        };
      },
    });

    test.each([
      ['before', 'not-done'],
      ['after', 'done'],
    ] as const)('of the connection %s the commit: unknown, and the key tells %s', async (when, status) => {
      expect(await failure(call('k', { pool: () => cutting(when) }))).toMatchObject({ code: 'sql-commit-unknown' });
      expect(await probe('k')).toMatchObject({ status });
      expect(await call('k')).toMatchObject({ id: expect.any(Number) });
      expect(await bookings()).toBe(1);
    });

    test('control: without a key, trying again after an unknown commit counts twice', async () => {
      const attempt = async (): Promise<void> => {
        const connection = await cutting('after').connect();
        try {
          await connection.query('begin');
          await connection.query(insert, [5]);
          await connection.query('commit');
        } finally {
          connection.release(true);
        }
      };
      await failure(attempt());
      await failure(attempt());
      expect(await bookings()).toBe(2);
    });

    test('an abort ends the transaction at the server, and the change can’t go on', async () => {
      const controller = new AbortController();
      const change = paused();
      const aborted = failure(call('k', { run: change.run }, controller.signal));
      const pid = await change.begun;
      controller.abort(new Error('time is up'));
      change.goOn();
      expect(await aborted).toBeInstanceOf(NotDoneError);
      await eventually(async () => {
        const { rows } = await pool.query('select 1 from pg_stat_activity where pid = $1', [pid]);
        return rows.length === 0;
      });
      expect(await bookings()).toBe(0);
    });

    test('a process that is stopped in mid-change loses the key after the time-out', async () => {
      const change = paused();
      const stopped = failure(call('k', { run: change.run, timeoutMs: 1_000 }));
      await change.begun;
      // It waits for the key at first, for the server ends the other's idle transaction only then.
      expect(await call('k')).toMatchObject({ id: expect.any(Number) });
      change.goOn();
      expect(await stopped).toBeInstanceOf(NotDoneError);
      expect(await bookings()).toBe(1);
    });

    test('nothing commits after the time-out, by the server’s clock', async () => {
      const slowly: Spec['run'] = async (tx, { cents }) => {
        // No statement and no pause is longer than the time-out; together they are.
        for (let nap = 0; nap < 4; nap += 1) await tx.query('select pg_sleep(0.4)');
        return { id: Number((await tx.query(insert, [cents])).rows[0].id) };
      };
      const error = await failure(call('k', { run: slowly, timeoutMs: 1_200 }));
      expect(error).toBeInstanceOf(NotDoneError);
      expect(error.message).toContain('time-out of 1200 ms');
      expect(await bookings()).toBe(0);
      // Control: with more time it commits.
      await call('k', { run: slowly, timeoutMs: 30_000 });
      expect(await bookings()).toBe(1);
    });
  });

  describe('the probe', () => {
    test('finds what was done, and nothing where nothing was', async () => {
      // Not even the table.
      expect(await probe('k')).toEqual({ status: 'not-done' });
      await call('k');
      expect(await probe('k')).toEqual({ status: 'done', response: { id: 1 } });
      expect(await probe('k2')).toEqual({ status: 'not-done' });
    });

    test('without a database says nothing about the call', async () => {
      const lost = { pool: () => new pg.Pool({ connectionString: 'postgres://u:p@127.0.0.1:9/x' }) };
      const error = await failure(probe('k', lost) as Promise<unknown>);
      expect(error).toMatchObject({ code: 'probe-not-asked' });
      expect(error).not.toBeInstanceOf(NotDoneError);
    });

    test('leaves the key free', async () => {
      await pool.query(effectsTable());
      await probe('k');
      expect(await call('k')).toEqual({ id: 1 });
    });

    test('waits for a call under way', async () => {
      await pool.query(effectsTable());
      const change = paused();
      const calling = call('k', { run: change.run });
      await change.begun;
      // Control: a plain look finds nothing, and would be wrong a moment later.
      expect((await pool.query('select 1 from tidemark_effects where key = $1', ['k'])).rowCount).toBe(0);
      const answer = probe('k');
      await waitsForLock();
      change.goOn();
      expect(await answer).toEqual({ status: 'done', response: { id: 1 } });
      await calling;
    });

    test('can’t tell when that takes too long', async () => {
      await pool.query(effectsTable());
      const change = paused();
      const calling = call('k', { run: change.run });
      await change.begun;
      expect(await probe('k', { timeoutMs: 100 })).toEqual({ status: 'unknown' });
      change.goOn();
      await calling;
    });
  });

  test('undo takes it back, once', async () => {
    const undo: Spec['undo'] = (tx, { id }) =>
      tx.query('insert into bookings (cents) select -cents from bookings where id = $1', [id]);
    const effect = book({ undo });
    const response = await call('k');
    await effect.compensate!(response as { id: number }, contextOf('k'));
    await effect.compensate!(response as { id: number }, contextOf('k'));
    expect((await pool.query('select cents from bookings order by id')).rows).toEqual([{ cents: 5 }, { cents: -5 }]);
  });

  describe('a change that misbehaves', () => {
    test('by ending the transaction is found out', async () => {
      const run: Spec['run'] = async (tx, { cents }) => {
        await tx.query('commit');
        await tx.query('begin');
        await tx.query(insert, [cents]);
        return { id: 1 };
      };
      expect((await failure(call('k', { run }))).message).toContain('run ended the transaction');
      expect(await bookings()).toBe(0);
      // Its key is there without a response: never answered from, never called again.
      expect(await failure(call('k'))).toBeInstanceOf(FatalError);
    });

    test('by using the transaction after its end is refused', async () => {
      let kept: Parameters<Spec['run']>[0] | undefined;
      const run: Spec['run'] = (tx) => {
        kept = tx;
        return { id: 1 };
      };
      await call('k', { run });
      expect(await failure(kept!.query('select 1'))).toMatchObject({ code: 'sql-transaction-over' });
    });
  });
});
