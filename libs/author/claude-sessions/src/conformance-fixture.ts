/** Owns the thirteen checks that the framework's example stores have to pass (examples/session-stores), written again for ours, on any host. */

import { expect, it } from 'vitest';
import type { SessionStore, SessionStoreEntry } from './interface.ts';

const KEY = { projectKey: 'proj', sessionId: 'sess' };
const line = (type: string, more: object = {}): SessionStoreEntry => ({ type, ...more });

/** Registers every check. Each has a store of its own. */
export function conformanceChecks(freshStore: () => Required<Omit<SessionStore, 'listSessionSummaries'>>): void {
  it('loads what was appended, in its order', async () => {
    const store = freshStore();
    const lines = [line('a', { n: 1, nested: { x: [1, 2] } }), line('b', { n: 2 })];
    await store.append(KEY, lines);
    expect(await store.load(KEY)).toEqual(lines);
  });

  it('loads null of a key that was never written', async () => {
    const store = freshStore();
    expect(await store.load(KEY)).toBeNull();
    expect(await store.load({ ...KEY, subpath: 'subagents/a' })).toBeNull();
  });

  it('keeps the order of several appends', async () => {
    const store = freshStore();
    await store.append(KEY, [line('a')]);
    await store.append(KEY, [line('b'), line('c')]);
    await store.append(KEY, [line('d')]);
    expect(await store.load(KEY)).toEqual(['a', 'b', 'c', 'd'].map((type) => line(type)));
  });

  it('does nothing for an empty batch', async () => {
    const store = freshStore();
    await store.append(KEY, []);
    expect(await store.load(KEY)).toBeNull();
    await store.append(KEY, [line('a')]);
    await store.append(KEY, []);
    expect(await store.load(KEY)).toEqual([line('a')]);
  });

  it('keeps a subagent apart from the main transcript', async () => {
    const store = freshStore();
    const sub = { ...KEY, subpath: 'subagents/x' };
    await store.append(KEY, [line('main')]);
    await store.append(sub, [line('sub')]);
    expect(await store.load(KEY)).toEqual([line('main')]);
    expect(await store.load(sub)).toEqual([line('sub')]);
  });

  it('keeps projects apart', async () => {
    const store = freshStore();
    const keys = ['A', 'B'].map((projectKey) => ({ projectKey, sessionId: 's' }));
    for (const key of keys) await store.append(key, [line(key.projectKey)]);
    for (const key of keys) expect(await store.load(key)).toEqual([line(key.projectKey)]);
  });

  it('lists the sessions of a project', async () => {
    const store = freshStore();
    for (const [projectKey, sessionId] of [
      ['P', 's1'],
      ['P', 's2'],
      ['Q', 's3'],
    ] as const) {
      await store.append({ projectKey, sessionId }, [line('a')]);
    }
    const found = await store.listSessions('P');
    expect(found.map(({ sessionId }) => sessionId).sort()).toEqual(['s1', 's2']);
    for (const { mtime } of found) {
      expect(mtime).toBeGreaterThan(1e12);
      expect(Number.isInteger(mtime)).toBe(true);
    }
    expect(await store.listSessions('never-seen')).toEqual([]);
  });

  it('lists no session that has subagents alone', async () => {
    const store = freshStore();
    await store.append({ projectKey: 'P', sessionId: 's1', subpath: 'subagents/x' }, [line('sub')]);
    expect(await store.listSessions('P')).toEqual([]);
  });

  it('deletes a session', async () => {
    const store = freshStore();
    await store.append(KEY, [line('a')]);
    await store.delete(KEY);
    expect(await store.load(KEY)).toBeNull();
    await store.delete({ projectKey: 'x', sessionId: 'never' });
  });

  it('deletes its subagents with it, and nothing else', async () => {
    const store = freshStore();
    const others = [
      { projectKey: 'proj', sessionId: 'other' },
      { projectKey: 'proj2', sessionId: 'sess' },
    ];
    const subs = ['a', 'b'].map((name) => ({ ...KEY, subpath: `subagents/${name}` }));
    for (const key of [KEY, ...subs, ...others]) await store.append(key, [line('a')]);
    await store.delete(KEY);
    for (const key of [KEY, ...subs]) expect(await store.load(key)).toBeNull();
    for (const key of others) expect(await store.load(key)).toEqual([line('a')]);
    expect(await store.listSubkeys(KEY)).toEqual([]);
  });

  it('deletes one subagent alone', async () => {
    const store = freshStore();
    const [a, b] = [
      { ...KEY, subpath: 'subagents/a' },
      { ...KEY, subpath: 'subagents/b' },
    ];
    for (const key of [KEY, a, b]) await store.append(key, [line('a')]);
    await store.delete(a);
    await store.delete(a);
    expect(await store.load(a)).toBeNull();
    for (const key of [KEY, b]) expect(await store.load(key)).toEqual([line('a')]);
    await store.append(a, [line('again')]);
    expect(await store.load(a)).toEqual([line('again')]);
  });

  it('lists the subagents of a session', async () => {
    const store = freshStore();
    for (const [sessionId, name] of [
      ['sess', 'a'],
      ['sess', 'b'],
      ['other', 'c'],
    ] as const) {
      await store.append({ projectKey: 'proj', sessionId, subpath: `subagents/${name}` }, [line('sub')]);
    }
    expect((await store.listSubkeys(KEY)).sort()).toEqual(['subagents/a', 'subagents/b']);
  });

  it('lists no main transcript among them', async () => {
    const store = freshStore();
    await store.append(KEY, [line('main')]);
    expect(await store.listSubkeys(KEY)).toEqual([]);
    expect(await store.listSubkeys({ projectKey: 'x', sessionId: 'never' })).toEqual([]);
  });
}
