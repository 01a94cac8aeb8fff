/** A pooler of transactions is noticed whatever its sessions' number and order, and one that pools sessions passes. */

import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { checkSession } from './session-check.ts';

/** A pooler that lends one of its sessions for each transaction. */
class Pooler {
  readonly #isRoundRobin: boolean;
  readonly #free: number[];

  constructor(sessions: number, isRoundRobin: boolean) {
    this.#isRoundRobin = isRoundRobin;
    this.#free = Array.from({ length: sessions }, (_, index) => 100 + index);
  }

  connection(): pg.Client {
    let held: number | undefined;
    let inTransaction = false;
    const query = async (sql: string) => {
      const session = held ?? this.#free.shift();
      if (session === undefined) throw new Error('no session is free');
      held = session;
      if (sql !== 'begin' && (sql === 'commit' || !inTransaction)) {
        if (this.#isRoundRobin) this.#free.push(session);
        else this.#free.unshift(session);
        held = undefined;
      }
      if (sql === 'begin' || sql === 'commit') inTransaction = sql === 'begin';
      return { rows: [{ process: String(session), read_only: 'off' }] };
    };
    return asClient(query);
  }
}

const asClient = (query: (sql: string) => Promise<unknown>): pg.Client =>
  ({ processID: 1, host: 'h', port: 1, database: 'd', query, on() {}, async connect() {}, async end() {} }) as never;
const session = (process: string): pg.Client => asClient(async () => ({ rows: [{ process, read_only: 'off' }] }));

describe('a pooler of transactions', () => {
  it.each([1, 2, 3, 4, 5, 20].flatMap((count) => [true, false].map((inTurn) => [count, inTurn] as const)))(
    'with %i sessions (in turn: %s) is refused',
    async (count, inTurn) => {
      const pooler = new Pooler(count, inTurn);
      const checked = checkSession(pooler.connection(), () => pooler.connection());
      await expect(checked).rejects.toMatchObject({ code: 'store-pooled' });
    },
  );
});

it('a pooler of sessions passes', async () => {
  await checkSession(session('100'), () => session('101'));
});
