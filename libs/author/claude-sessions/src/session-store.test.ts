/** Owns the framework's checks of a store on the embedded default; and that sessions follow from host to host, with no batch dropped. */

import { UnavailableError } from '@tidemark/core';
import { Client, LamportClock, type Ports } from '@tidemark/runtime';
import { changedAppends, dyingAt, type TestWorld, testWorld } from '@tidemark/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { conformanceChecks } from './conformance-fixture.ts';
import type { FoldSessionSummary, SessionStoreEntry } from './interface.ts';
import { type SessionStoreOptions, TidemarkSessionStore } from './session-store.ts';

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

/** A store as another host on the same servers has it. */
const storeOf = (options: SessionStoreOptions = {}, ports: Ports = world.ports) =>
  new TidemarkSessionStore(
    { client: new Client({ ports, lamport: new LamportClock() }), forget: async () => {} },
    { name, ...options },
  );

const KEY = { projectKey: 'proj', sessionId: 'sess' };
const SUB = { ...KEY, subpath: 'subagents/agent-1' };
let count = 0;
const said = (text: string): SessionStoreEntry => ({ type: 'user', uuid: `u-${++count}`, message: text });
const title = (text: string): SessionStoreEntry => ({ type: 'custom-title', customTitle: text });
const texts = (lines: readonly SessionStoreEntry[] | null) =>
  lines?.map(({ message, customTitle }) => message ?? customTitle);

describe('the framework’s checks of a store', () => {
  conformanceChecks(() => storeOf());
});

describe('what a listing shows', () => {
  /** Of the main transcript: its first line and its number of lines, as the framework folds them. */
  const foldSummary: FoldSessionSummary = (before, { sessionId }, entries) => {
    const { first = entries[0]!.message, count = 0 } = (before?.data ?? {}) as { first?: unknown; count?: number };
    return { sessionId, mtime: 0, data: { first, count: count + entries.length } };
  };
  const shown = async (store: TidemarkSessionStore) =>
    (await store.listSessionSummaries!('proj')).map(({ sessionId, data }) => [sessionId, data]);

  it('is kept with each append, whichever host makes it, and loads no session', async () => {
    const one = storeOf({ foldSummary });
    await one.append(KEY, [said('hello'), said('there')]);
    await one.append(SUB, [said('sub')]);
    await one.append({ ...KEY, sessionId: 'other' }, [said('x')]);
    const two = storeOf({ foldSummary });
    await two.append(KEY, [said('again')]);
    const summaries = [
      ['sess', { first: 'hello', count: 3 }],
      ['other', { first: 'x', count: 1 }],
    ];
    expect((await shown(one)).toSorted()).toEqual(summaries.toSorted());
    const times = (list: readonly { sessionId: string; mtime: number }[]) =>
      new Map(list.map((each) => [each.sessionId, each.mtime]));
    expect(times(await one.listSessionSummaries!('proj'))).toEqual(times(await one.listSessions('proj')));
    // Lines that nobody folded: the framework loads that session.
    await storeOf().append(KEY, [said('unseen')]);
    expect(await shown(one)).toEqual([['other', { first: 'x', count: 1 }]]);
    expect(storeOf().listSessionSummaries).toBeUndefined();
    // It does not begin in the middle, so that session is loaded from now on.
    await storeOf({ foldSummary }).append(KEY, [said('late')]);
    await storeOf({ foldSummary }).append(KEY, [said('later')]);
    expect(await shown(one)).toEqual([['other', { first: 'x', count: 1 }]]);
  });

  it('is not kept of a session that began without it, and is of one whose subagent spoke first', async () => {
    await storeOf().append(KEY, [said('old')]);
    const store = storeOf({ foldSummary });
    await store.append({ ...SUB, sessionId: 'sub first' }, [said('sub')]);
    for (const sessionId of ['sess', 'sub first']) {
      await store.load({ ...KEY, sessionId });
      await store.append({ ...KEY, sessionId }, [said('1')]);
      await store.append({ ...KEY, sessionId }, [said('2')]);
    }
    expect(await shown(store)).toEqual([['sub first', { first: '1', count: 2 }]]);
  });

  it('is JSON, and its place is named where it is none', async () => {
    const unfit: FoldSessionSummary = (_, { sessionId }) => ({ sessionId, mtime: 0, data: { at: { n: 1n } } });
    const store = storeOf({ foldSummary: unfit });
    await expect(store.append(KEY, [said('x')])).rejects.toThrow(/data of foldSummary.*at.*n/);
    expect(await storeOf().load(KEY)).toBeNull();
  });
});

describe('a session on several hosts', () => {
  it('follows the agent', async () => {
    await storeOf().append(KEY, [said('1')]);
    const other = storeOf();
    expect(texts(await other.load(KEY))).toEqual(['1']);
    await other.append(KEY, [said('2')]);
    await other.append(SUB, [said('sub')]);
    expect(texts(await storeOf().load(KEY))).toEqual(['1', '2']);
    expect(await storeOf().listSubkeys(KEY)).toEqual([SUB.subpath]);
    expect(texts(await storeOf().load(SUB))).toEqual(['sub']);
  });

  it('has one writer: the host that it left is refused by name until it loads again', async () => {
    const [left, next] = [storeOf(), storeOf()];
    await left.append(KEY, [said('1')]);
    await next.load(KEY);
    await next.append(KEY, [said('2')]);
    for (const key of [KEY, SUB]) {
      await expect(left.append(key, [said('lost')])).rejects.toMatchObject({ code: 'session-written-elsewhere' });
    }
    expect(texts(await left.load(KEY))).toEqual(['1', '2']);
    await left.append(KEY, [said('3')]);
    expect(texts(await storeOf().load(KEY))).toEqual(['1', '2', '3']);
    await expect(next.append(KEY, [said('lost')])).rejects.toThrow(/session proj\/sess/);
  });

  it('takes titles and tags from anywhere, since the conversation does not go on from them', async () => {
    const [agent, desk] = [storeOf(), storeOf()];
    await agent.append(KEY, [said('1')]);
    await desk.append(KEY, [title('named')]);
    await agent.append(KEY, [said('2')]);
    await desk.append(KEY, [title('renamed')]);
    await agent.append(KEY, [said('3')]);
    expect(texts(await storeOf().load(KEY))).toEqual(['1', 'named', '2', 'renamed', '3']);
    // Who adds them has not read the conversation by that.
    const next = storeOf();
    await next.load(KEY);
    await next.append(KEY, [said('4')]);
    await agent.append(KEY, [title('late')]);
    await expect(agent.append(KEY, [said('lost')])).rejects.toMatchObject({ code: 'session-written-elsewhere' });
  });

  it('keeps a line once that comes again, by its uuid', async () => {
    const [a, b] = [said('a'), said('b')];
    const store = storeOf();
    await store.append(KEY, [a]);
    await store.append(KEY, [a, b, title('t'), title('t')]);
    await storeOf().append(KEY, [a, b]);
    expect(texts(await storeOf().load(KEY))).toEqual(['a', 'b', 't', 't']);
  });

  it('is refused where another host deleted it, and begins anew once it is loaded', async () => {
    const store = storeOf();
    await store.append(KEY, [said('old')]);
    await storeOf().delete(KEY);
    await expect(store.append(KEY, [said('lost')])).rejects.toMatchObject({ code: 'session-written-elsewhere' });
    expect(await store.load(KEY)).toBeNull();
    await store.append(KEY, [said('new')]);
    expect(texts(await storeOf().load(KEY))).toEqual(['new']);
  });

  it('has a beginning of what a host wrote that dies, at every append, and another one goes on', async () => {
    const large = 'x'.repeat(200_000);
    const all = ['a', 'b', ...Array<string>(3).fill(large), 'c'];
    for (let at = 1; at <= 7; at++) {
      for (const isKept of [false, true]) {
        const key = { projectKey: 'dies', sessionId: `${at}-${isKept}` };
        const dying = storeOf({}, dyingAt(world.ports, at, isKept));
        let took = 0;
        for (const batch of [all.slice(0, 2), all.slice(2, 5), all.slice(5)]) {
          if (
            !(await dying.append(key, batch.map(said)).then(
              () => true,
              () => false,
            ))
          )
            break;
          took += batch.length;
        }
        const next = storeOf();
        const left = texts(await next.load(key)) ?? [];
        expect(left.length).toBeGreaterThanOrEqual(took);
        expect(left).toEqual(all.slice(0, left.length));
        await next.append(key, [said('next')]);
        expect(texts(await storeOf().load(key))).toEqual([...left, 'next']);
      }
    }
  });
});

it('keeps the order of several batches that come at once, of several entries each', async () => {
  const store = storeOf();
  const batches = ['a', 'b', 'c'].map((name) =>
    Array.from({ length: 5 }, (_, at) => `${name}${at} ${'x'.repeat(100_000)}`),
  );
  await Promise.all(batches.map((batch) => store.append(KEY, batch.map(said))));
  expect(texts(await storeOf().load(KEY))).toEqual(batches.flat());
});

describe('a log that is away', () => {
  /** Ports whose log is away until `back` is called; what is sent then arrives, if `isKept`, though nobody hears of it. */
  function away(isKept = false) {
    let isAway = false;
    const ports = changedAppends(world.ports, async (append) => {
      if (!isAway) return;
      if (isKept) await append();
      throw new UnavailableError('log-away', 'the log is away');
    });
    return {
      ports,
      leave: () => {
        isAway = true;
      },
      back: () => {
        isAway = false;
      },
    };
  }

  it('drops no batch: they wait in their order, longer than the framework tries, and it says so', async () => {
    const { ports, leave, back } = away();
    const heard: unknown[] = [];
    const store = storeOf({ onUnavailable: (waiting, { code }) => heard.push([waiting.batchCount, code]) }, ports);
    await store.append(KEY, [said('0')]);
    leave();
    const done = ['1', '2', '3'].map((text) => store.append(KEY, [said(text)]));
    // The framework gives up after three attempts.
    await expect.poll(() => heard.length).toBeGreaterThan(3);
    expect(heard.at(-1)).toEqual([3, 'log-away']);
    expect(store.waiting).toMatchObject({ batchCount: 3 });
    back();
    await store.flush();
    await Promise.all(done);
    expect(store.waiting).toEqual({ batchCount: 0, bytes: 0 });
    expect(texts(await storeOf().load(KEY))).toEqual(['0', '1', '2', '3']);
  });

  it('has a batch once that arrived though the answer was lost', async () => {
    const { ports, leave } = away(true);
    const store = storeOf({ onUnavailable: () => {} }, ports);
    await store.append(KEY, [said('0')]);
    leave();
    await Promise.all(['1', '2', '3'].map((text) => store.append(KEY, [{ type: 'user', message: text }, said(text)])));
    expect(texts(await storeOf().load(KEY))).toEqual(['0', '1', '1', '2', '2', '3', '3']);
  });

  it('takes batches up to a limit, and refuses further ones by name', async () => {
    const { ports, leave, back } = away();
    leave();
    const store = storeOf({ waitingMaxBytes: 1_000, onUnavailable: () => {} }, ports);
    const first = store.append(KEY, [said('x'.repeat(2_000))]);
    const second = store.append({ ...KEY, sessionId: 'other' }, [said('y')]);
    second.catch(() => {});
    expect(store.waiting).toMatchObject({ batchCount: 1 });
    await expect(second).rejects.toMatchObject({ code: 'sessions-waiting-full', details: { batchCount: 1 } });
    back();
    await first;
    await store.append(KEY, [said('z')]);
    expect(await storeOf().load(KEY)).toHaveLength(2);
  });

  it('gives up when it is closed, and takes no more', async () => {
    const { ports, leave } = away();
    const store = storeOf({ onUnavailable: () => {} }, ports);
    await store.append(KEY, [said('a')]);
    leave();
    const waiting = store.append(KEY, [said('x')]);
    waiting.catch(() => {});
    await store.close();
    await expect(waiting).rejects.toMatchObject({ code: 'log-away' });
    await expect(store.append(KEY, [said('y')])).rejects.toMatchObject({ code: 'sessions-closed' });
  });

  it('warns once for each outage by itself', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    try {
      const { ports, leave, back } = away();
      const store = storeOf({}, ports);
      await store.append(KEY, [said('a')]);
      for (let outage = 1; outage <= 2; outage++) {
        leave();
        const done = store.append(KEY, [said('x')]);
        await expect.poll(() => warn.mock.calls.length).toBe(outage);
        back();
        await done;
      }
      expect(warn.mock.calls[0]).toEqual([expect.stringContaining('1 batches'), { code: 'TIDEMARK_SESSIONS_WAIT' }]);
    } finally {
      warn.mockRestore();
    }
  });
});

describe('bad input', () => {
  it('refuses an option that it does not know', () => {
    expect(() => storeOf({ tennant: 'acme' } as never)).toThrow(/takes no option tennant/);
  });

  it.each([
    ['projectKey', { ...KEY, projectKey: '' }],
    ['projectKey', { ...KEY, projectKey: 'x'.repeat(5_000) }],
    ['sessionId', { ...KEY, sessionId: '\ud800' }],
    ['sessionId', { ...KEY, sessionId: 7 as never }],
    ['subpath', { ...KEY, subpath: '' }],
    ['subpath', { ...KEY, subpath: 'x'.repeat(5_000) }],
  ])('names the field that is no key: %s', async (field, key) => {
    await expect(storeOf().append(key, [said('x')])).rejects.toMatchObject({
      code: 'config-invalid',
      details: { field },
    });
    await expect(storeOf().load(key)).rejects.toMatchObject({ code: 'config-invalid' });
  });

  it('takes any other key, each its own', async () => {
    const names = ['a/b', 'a', 'b', '..', 'x'.repeat(4_096), '__proto__', '%2F', 'ünï', 'with\u0000nul', 'a~2'];
    const store = storeOf();
    const keys = [
      ...names.flatMap((sessionId) => [
        { projectKey: 'p', sessionId },
        { projectKey: `p/${sessionId}`.slice(0, 4_096), sessionId: 's' },
      ]),
      ...names.map((subpath) => ({ projectKey: 'p', sessionId: 'a', subpath })),
    ];
    for (const [at, key] of keys.entries()) await store.append(key, [said(String(at))]);
    for (const [at, key] of keys.entries()) expect(texts(await storeOf().load(key))).toEqual([String(at)]);
    const listed = await storeOf().listSessions('p');
    expect(listed.map(({ sessionId }) => sessionId).sort()).toEqual([...names].sort());
    expect((await storeOf().listSubkeys({ projectKey: 'p', sessionId: 'a' })).sort()).toEqual([...names].sort());
  });

  it('shows a session to its own tenant alone', async () => {
    await storeOf({ tenant: 'acme' }).append(KEY, [said('theirs')]);
    for (const other of [storeOf(), storeOf({ tenant: 'globex' })]) {
      expect(await other.load(KEY)).toBeNull();
      expect(await other.listSessions('proj')).toEqual([]);
      await other.delete(KEY);
    }
    expect(texts(await storeOf({ tenant: 'acme' }).load(KEY))).toEqual(['theirs']);
  });

  it('names the place of what is no JSON, and keeps the other batches', async () => {
    const store = storeOf();
    const before = store.append(KEY, [said('a')]);
    const bad = store.append(KEY, [said('b'), { type: 'user', message: { at: new Date(0) } }]);
    const after = store.append(KEY, [said('c')]);
    await expect(bad).rejects.toMatchObject({ code: 'not-json', details: { place: 'entries[1].message.at' } });
    await expect(store.append(KEY, [said('x'.repeat(2_000_000))])).rejects.toMatchObject({ code: 'value-too-large' });
    await Promise.all([before, after]);
    expect(texts(await storeOf().load(KEY))).toEqual(['a', 'c']);
  });
});
