/** Owns what the framework's own tests ask of a session that changes atomically, written again for ours; and the promises of one writer. */

import {
  type AgentInputItem,
  isSessionHistoryRewriteAwareSession,
  isSessionHistoryTransactionAwareSession,
  type SessionHistoryTransactionArgs,
} from '@openai/agents-core';
import { UnavailableError } from '@tidemark/core';
import { Client, LamportClock, type Ports } from '@tidemark/runtime';
import { changedAppends, dyingAt, type TestWorld, testWorld } from '@tidemark/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TidemarkSession } from './session.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await testWorld({ workflows: [] });
});
afterAll(() => world.close());
/** Each test has sessions of its own. */
let name: string;
let testCount = 0;
beforeEach(() => {
  name = `test-${++testCount}`;
});

/** A session as another process on the same servers has it. */
const sessionOf = (sessionId = 's', ports: Ports = world.ports) =>
  new TidemarkSession(
    { client: new Client({ ports, lamport: new LamportClock() }), forget: async () => {} },
    { sessionId, name },
  );

const said = (text: string): AgentInputItem => ({ role: 'user', content: [{ type: 'input_text', text }] });
const append = (operationId: string, ...items: AgentInputItem[]): SessionHistoryTransactionArgs => ({
  operationId,
  transaction: { type: 'append_items', items },
});
const replace = (operationId: string, expectedSuffix: AgentInputItem[], replacement: AgentInputItem[]) =>
  ({ operationId, transaction: { type: 'replace_suffix', expectedSuffix, replacement } }) as const;
const with_ = (providerData: Record<string, unknown>): AgentInputItem => ({ ...said('x'), providerData });

describe('the framework’s checks of a session', () => {
  it('is one that rewrites, and changes atomically', async () => {
    expect(isSessionHistoryRewriteAwareSession(sessionOf())).toBe(true);
    expect(isSessionHistoryTransactionAwareSession(sessionOf())).toBe(true);
    expect(await sessionOf('a/b').getSessionId()).toBe('a/b');
    expect(await new TidemarkSession({ client: world.client, forget: async () => {} }).getSessionId()).toMatch(
      /^[0-9a-f-]{36}$/,
    );
  });

  it('stores, limits, pops and clears', async () => {
    const session = sessionOf();
    expect(await session.getItems()).toEqual([]);
    expect(await session.popItem()).toBeUndefined();
    await session.clearSession();
    await session.addItems([said('hello')]);
    await session.addItems([]);
    const more = [said('one'), said('two')];
    await session.addItems(more);
    expect(await session.getItems()).toEqual([said('hello'), ...more]);
    expect(await session.getItems(2)).toEqual(more);
    expect(await session.getItems(1)).toEqual([more[1]]);
    expect(await session.getItems(0)).toEqual([]);
    expect(await session.getItems(-1)).toEqual([]);
    expect(await session.popItem()).toEqual(more[1]);
    expect(await sessionOf().getItems()).toEqual([said('hello'), more[0]]);
    await session.clearSession();
    expect(await sessionOf().getItems()).toEqual([]);
    expect(await session.getItems(3)).toEqual([]);
    expect(await session.popItem()).toBeUndefined();
  });

  it('keeps copies', async () => {
    const session = sessionOf();
    const item = said('start');
    await session.addItems([item]);
    (item as { content: unknown }).content = 'changed';
    const [read] = await session.getItems();
    (read as { content: unknown }).content = 'changed';
    expect(await session.getItems()).toEqual([said('start')]);
  });

  it('rewrites a call, and keeps its first occurrence', async () => {
    const call = (id: string, args: string) =>
      ({ type: 'function_call', id, callId: 'c', name: 'f', status: 'completed', arguments: args }) as const;
    const session = sessionOf();
    await session.addItems([said('start'), call('1', '{}'), said('between'), call('2', '{"again":true}')]);
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: 'c', replacement: call('3', '{"ok":true}') }],
    });
    expect(await sessionOf().getItems()).toEqual([said('start'), call('3', '{"ok":true}'), said('between')]);
    await session.applyHistoryMutations({ mutations: [] });
  });

  it('replaces all by what is compacted, in one change', async () => {
    const session = sessionOf();
    await session.addItems([said('a'), said('b')]);
    await session.replaceHistoryWithCompaction([said('short')]);
    expect(await sessionOf().getItems()).toEqual([said('short')]);
  });

  it('applies an operation once, whoever repeats it', async () => {
    await sessionOf().addItems([said('start')]);
    await sessionOf().applyHistoryTransaction(append('o', said('committed')));
    await sessionOf().addItems([said('later')]);
    await sessionOf().applyHistoryTransaction(append('o', said('committed')));
    expect(await sessionOf().getItems()).toEqual([said('start'), said('committed'), said('later')]);
  });

  it('replaces an exact suffix, once', async () => {
    const session = sessionOf();
    await session.addItems([said('start'), said('blocked')]);
    const change = replace('o', [said('blocked')], [said('accepted')]);
    await session.applyHistoryTransaction(change);
    await session.addItems([said('later')]);
    await session.applyHistoryTransaction(change);
    expect(await session.getItems()).toEqual([said('start'), said('accepted'), said('later')]);
  });

  it('refuses a suffix that differs, and does not remember the operation', async () => {
    const session = sessionOf();
    await session.addItems([said('start')]);
    for (const expected of [[said('other')], [said('before'), said('start')]]) {
      await expect(session.applyHistoryTransaction(replace('o', expected, [said('x')]))).rejects.toMatchObject({
        code: 'suffix-differs',
      });
    }
    expect(await session.getItems()).toEqual([said('start')]);
    await session.applyHistoryTransaction(replace('o', [said('start')], [said('accepted')]));
    expect(await session.getItems()).toEqual([said('accepted')]);
  });

  it('refuses an operation id with another transaction, also an empty one', async () => {
    const session = sessionOf();
    await session.applyHistoryTransaction(append('o', said('first')));
    await session.applyHistoryTransaction(append('empty'));
    for (const other of [append('o', said('second')), append('empty', said('x')), replace('o', [], [said('first')])]) {
      await expect(sessionOf().applyHistoryTransaction(other)).rejects.toMatchObject({ code: 'operation-differs' });
    }
    expect(await session.getItems()).toEqual([said('first')]);
  });

  it('forgets operations when it is cleared, and not when it is compacted', async () => {
    const session = sessionOf();
    await session.applyHistoryTransaction(append('o', said('x')));
    await session.replaceHistoryWithCompaction([said('short')]);
    await session.applyHistoryTransaction(append('o', said('x')));
    expect(await session.getItems()).toEqual([said('short')]);
    await session.clearSession();
    await session.applyHistoryTransaction(append('o', said('x')));
    expect(await session.getItems()).toEqual([said('x')]);
  });

  it.each([
    ['an operation id of spaces', { operationId: '   ', transaction: { type: 'append_items', items: [] } }],
    ['an unknown type', { operationId: 'o', transaction: { type: 'unknown' } }],
    ['no transaction', { operationId: 'o', transaction: null }],
    ['nothing at all', undefined],
    ['an item that is none', { operationId: 'o', transaction: { type: 'append_items', items: [42] } }],
    ['no list', { operationId: 'o', transaction: { type: 'append_items', items: 'x' } }],
    ['another member', { operationId: 'o', transaction: { type: 'append_items', items: [], more: 1 } }],
  ])('names what is wrong with a transaction: %s', async (_, args) => {
    const session = sessionOf();
    await session.addItems([said('start')]);
    await expect(session.applyHistoryTransaction(args as never)).rejects.toMatchObject({ code: 'transaction-invalid' });
    await session.applyHistoryTransaction(append('o', said('retry')));
    expect(await session.getItems()).toEqual([said('start'), said('retry')]);
  });

  it('reads a transaction once, and quotes nothing of it', async () => {
    let count = 0;
    const args = Object.defineProperty(append('', said('once')), 'operationId', {
      get: () => (count++ === 0 ? 'once' : 'changed'),
    });
    await sessionOf().applyHistoryTransaction(args);
    expect(count).toBe(1);
    const throwing = Object.defineProperty({}, 'operationId', {
      get: () => {
        throw new Error('api-key-secret');
      },
    }) as SessionHistoryTransactionArgs;
    await expect(sessionOf().applyHistoryTransaction(throwing)).rejects.toThrow(/^(?!.*secret)/);
  });

  it('keeps bytes, and members that have the name under which they are kept', async () => {
    const session = sessionOf();
    const item = with_({ bytes: new Uint8Array([0, 3, 255]), $bytes: 'text', $$bytes: { $bytes: 1 }, none: undefined });
    await session.applyHistoryTransaction(append('o', item));
    await session.applyHistoryTransaction(append('o', structuredClone(item)));
    expect(await sessionOf().getItems()).toEqual([item]);
    await session.applyHistoryTransaction(replace('p', [item], [said('replaced')]));
    expect(await session.getItems()).toEqual([said('replaced')]);
  });
});

describe('one writer', () => {
  it('refuses the second of two processes by name, and the loser goes on once it has read again', async () => {
    const [one, other] = [sessionOf(), sessionOf()];
    await one.addItems([said('0')]);
    await Promise.all([one.getItems(), other.getItems()]);
    await other.addItems([said('1')]);
    await expect(one.addItems([said('lost')])).rejects.toMatchObject({ code: 'session-written-elsewhere' });
    await expect(one.popItem()).rejects.toThrow(/session s/);
    await expect(one.applyHistoryTransaction(append('o', said('lost')))).rejects.toMatchObject({
      code: 'session-written-elsewhere',
    });
    expect(await one.getItems()).toEqual([said('0'), said('1')]);
    await one.addItems([said('2')]);
    expect(await sessionOf().getItems()).toEqual([said('0'), said('1'), said('2')]);
  });

  it('begins a new one once: of two at once, one is refused', async () => {
    const [one, other] = [sessionOf(), sessionOf()];
    await Promise.all([one.getItems(), other.getItems()]);
    const results = await Promise.allSettled([one.addItems([said('1')]), other.addItems([said('2')])]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await sessionOf().getItems()).toHaveLength(1);
  });

  it('refuses who writes to a session that another process deleted, and its id begins anew', async () => {
    const one = sessionOf();
    await one.addItems([said('old')]);
    await sessionOf().deleteSession();
    await expect(one.addItems([said('lost')])).rejects.toMatchObject({ code: 'session-written-elsewhere' });
    expect(await one.getItems()).toEqual([]);
    await one.addItems([said('new')]);
    expect(await sessionOf().getItems()).toEqual([said('new')]);
    await one.deleteSession();
    await one.deleteSession();
    await one.addItems([said('third')]);
    expect(await sessionOf().getItems()).toEqual([said('third')]);
  });
});

describe('a process that dies', () => {
  it('leaves a history that was, at every append, and another one goes on', async () => {
    const large = said('x'.repeat(200_000));
    const turns = (session: TidemarkSession) => [
      () => session.addItems([said('a'), said('b')]),
      () => session.popItem(),
      () => session.applyHistoryTransaction(replace('o', [said('a')], [said('c'), said('d')])),
      // Does not fit into one append.
      () => session.addItems(Array(6).fill(large)),
      () => session.clearSession(),
    ];
    const histories: AgentInputItem[][] = [[]];
    const whole = sessionOf('whole');
    for (const turn of turns(whole)) {
      await turn();
      histories.push(await whole.getItems());
    }
    for (let at = 1; at <= 8; at++) {
      for (const isKept of [false, true]) {
        const id = `${at}-${isKept}`;
        const dying = sessionOf(id, dyingAt(world.ports, at, isKept));
        let count = 0;
        const run = async () => {
          for (const turn of turns(dying)) {
            await turn();
            count++;
          }
        };
        await run().catch(() => {});
        const after = sessionOf(id);
        const left = await after.getItems();
        expect([histories[count], histories[count + 1]]).toContainEqual(left);
        await after.addItems([said('next')]);
        expect(await sessionOf(id).getItems()).toEqual([...left, said('next')]);
      }
    }
  });
});

describe('a log that is away', () => {
  it('takes a change once, also where it arrived and the answer was lost', async () => {
    for (const isKept of [false, true]) {
      const flaky = changedAppends(world.ports, async (append, count) => {
        if (count % 3 === 0) return;
        if (isKept) await append();
        throw new UnavailableError('log-away', 'away');
      });
      const session = sessionOf(`flaky-${isKept}`, flaky);
      for (let n = 0; n < 5; n++) await session.addItems([said(String(n))]);
      expect(await session.popItem()).toEqual(said('4'));
      expect(await sessionOf(`flaky-${isKept}`).getItems()).toEqual(['0', '1', '2', '3'].map(said));
    }
  });
});

describe('what a turn costs', () => {
  it('reads the newest items flat, and writes what the turn added', async () => {
    let [rows, bytes] = [0, 0];
    const { store, log } = world.ports;
    const checkpoints: typeof store.checkpoints = async (...of) => {
      const read = await store.checkpoints(...of);
      rows += read.length;
      return read;
    };
    const append: typeof log.append = async (partition, records) => {
      bytes += records.reduce((sum, { value }) => sum + value.length, 0);
      return log.append(partition, records);
    };
    const counted = (of: object, name: string, own: unknown) =>
      new Proxy(of, {
        get: (at, key) => {
          const value = Reflect.get(at, key) as unknown;
          return key === name ? own : typeof value === 'function' ? value.bind(at) : value;
        },
      });
    const ports = {
      ...world.ports,
      store: counted(store, 'checkpoints', checkpoints) as typeof store,
      log: counted(log, 'append', append) as typeof log,
    };
    const session = sessionOf('s', ports);
    const costs: number[] = [];
    for (let n = 0; n < 400; n++) {
      bytes = 0;
      await session.addItems([said(`question ${n}`), said(`answer ${n}`)]);
      costs.push(bytes);
    }
    expect(costs.at(-1)! - costs[10]!).toBeLessThan(100);
    const reader = sessionOf('s', ports);
    rows = 0;
    expect(await reader.getItems(4)).toEqual([398, 399].flatMap((n) => [said(`question ${n}`), said(`answer ${n}`)]));
    expect(rows).toBeLessThanOrEqual(16);
    // What was popped and replaced is stepped over.
    for (let n = 0; n < 50; n++) {
      await session.addItems([said('x')]);
      await session.popItem();
    }
    rows = 0;
    expect(await reader.getItems(1)).toEqual([said('answer 399')]);
    expect(rows).toBeLessThanOrEqual(16);
    expect(await reader.getItems()).toHaveLength(800);
  });
});

describe('bad input', () => {
  it.each(['', 'x'.repeat(5_000), '\ud800', 7 as never])('refuses an id that is no text: %s', (sessionId) => {
    expect(() => sessionOf(sessionId)).toThrow(
      expect.objectContaining({ code: 'config-invalid', details: { field: 'sessionId' } }),
    );
  });

  it('refuses an option that it does not know: a misspelt id would be another conversation', () => {
    expect(() => new TidemarkSession(world as never, { sessionID: 'mine' } as never)).toThrow(
      expect.objectContaining({ code: 'option-unknown', details: { option: 'sessionID' } }),
    );
  });

  it('takes any other id, each its own', async () => {
    const ids = ['a/b', '../..', 'x'.repeat(4_096), '__proto__', 'a~2', '#a', 'ünï', 'with\u0000nul', 'job:1'];
    for (const id of ids) await sessionOf(id).addItems([said(id)]);
    for (const id of ids) expect(await sessionOf(id).getItems()).toEqual([said(id)]);
  });

  it('shows a session to its own tenant alone', async () => {
    const host = { client: world.client, forget: async () => {} };
    const of = (tenant: string) => new TidemarkSession(host, { sessionId: 's', tenant, name });
    await of('acme').addItems([said('theirs')]);
    expect(await sessionOf().getItems()).toEqual([]);
    expect(await of('globex').getItems()).toEqual([]);
    await of('globex').clearSession();
    await of('globex').deleteSession();
    expect(await of('acme').getItems()).toEqual([said('theirs')]);
  });

  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  it.each<[string, unknown, string]>([
    ['a date', new Date(0), ''],
    ['a map', new Map(), ''],
    ['a cycle', cycle, '.self'],
    ['a big integer', 42n, ''],
    ['no number', Number.NaN, ''],
    ['a function', () => {}, ''],
    ['a symbol', Symbol('api-key-secret'), ''],
    ['a hole', new Array(1), '[0]'],
    ['other bytes', new Uint16Array([300]), ''],
    ['a hidden member', Object.defineProperty({}, 'at', { enumerable: false, value: 1 }), '.at'],
  ])('names the place of what is no JSON: %s', async (_, value, place) => {
    const session = sessionOf();
    const items = [said('fine'), with_({ x: value })];
    for (const change of [session.addItems(items), session.applyHistoryTransaction(append('o', ...items))]) {
      await expect(change).rejects.toMatchObject({
        code: 'not-json',
        details: { place: `items[1].providerData.x${place}` },
      });
      await expect(change).rejects.toThrow(/^(?!.*secret)/);
    }
    expect(await session.getItems()).toEqual([]);
  });

  it('refuses an item that no entry has room for, and goes on', async () => {
    const session = sessionOf();
    await session.addItems([said('a')]);
    await expect(session.addItems([said('x'.repeat(2_000_000))])).rejects.toMatchObject({ code: 'value-too-large' });
    await session.addItems([said('b')]);
    expect(await sessionOf().getItems()).toEqual([said('a'), said('b')]);
  });
});
