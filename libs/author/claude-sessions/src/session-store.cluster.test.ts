/** The framework's checks of a store on Kafka, Redis and Postgres, encrypted; 50 MB, and that a deleted session can be read by nobody. */

import { DEFAULT_TENANT, type Sequence, workflowId } from '@tidemark/core';
import { Client, LamportClock } from '@tidemark/runtime';
import { clusterHost } from '@tidemark/testkit/cluster-host';
import { describeServers } from '@tidemark/testkit/suites';
import { expect, it } from 'vitest';
import { conformanceChecks } from './conformance-fixture.ts';
import type { SessionStoreEntry } from './interface.ts';
import { TidemarkSessionStore } from './session-store.ts';

let count = 0;
const said = (message: string): SessionStoreEntry => ({ type: 'user', uuid: `u-${++count}`, message });

describeServers('on the cluster', ['kafka', 'redis', 'postgres'], (servers) => {
  const opened = clusterHost(servers, 'sessions', 4);

  let stores = 0;
  conformanceChecks(() => new TidemarkSessionStore(opened(), { name: `claude-${++stores}` }));

  /** A store as another host has it. */
  const storeOf = () =>
    new TidemarkSessionStore({
      client: new Client({ ports: opened().ports, lamport: new LamportClock() }),
      keys: opened().keys,
      forget: (request) => opened().forget(request),
    });

  it('follows the agent to another opened(), and refuses the one that it left', async () => {
    const key = { projectKey: 'p', sessionId: 'moves' };
    const [left, next] = [storeOf(), storeOf()];
    await left.append(key, [said('1')]);
    expect(await next.load(key)).toHaveLength(1);
    await next.append(key, [said('2')]);
    await expect(left.append(key, [said('lost')])).rejects.toMatchObject({ code: 'session-written-elsewhere' });
    expect(await left.load(key)).toHaveLength(2);
    await left.append(key, [said('3')]);
    expect(await storeOf().load(key)).toHaveLength(3);
  });

  it('keeps 50 MB', async () => {
    const key = { projectKey: 'p', sessionId: 'large' };
    const store = storeOf();
    const text = 'x'.repeat(125_000);
    for (let n = 0; n < 20; n++)
      await store.append(
        key,
        Array.from({ length: 20 }, () => said(text)),
      );
    await store.append({ ...key, subpath: 'subagents/a' }, [said('beside')]);
    const loaded = await storeOf().load(key);
    expect(loaded).toHaveLength(400);
    expect(loaded?.every(({ message }) => message === text)).toBe(true);
    expect(await storeOf().load({ ...key, subpath: 'subagents/a' })).toHaveLength(1);
  });

  it('has the keys of a deleted session destroyed, and begins anew under its id', async () => {
    const key = { projectKey: 'p', sessionId: 's' };
    const id = workflowId('claude-sessions:p/s');
    const stored = async () => {
      const rows = await opened().ports.store.checkpoints(id, { from: 1 as Sequence, limit: 10 });
      return rows.map(({ payload }) => payload).join();
    };
    const store = storeOf();
    await store.append(key, [said('pearl')]);
    await store.append({ ...key, subpath: 'subagents/a' }, [said('pearl')]);
    await expect.poll(stored).toContain('pearl');
    await store.delete(key);
    expect(await stored()).not.toContain('pearl');
    await store.append(key, [said('new')]);
    expect(await storeOf().load(key)).toHaveLength(1);
    const certificates = await opened().client.memory.certificates(DEFAULT_TENANT);
    const own = certificates.filter((certificate) => JSON.stringify(certificate).includes(`"workflow:${id}"`));
    expect(own).toMatchObject([{ state: 'destroyed' }]);
  });
});
