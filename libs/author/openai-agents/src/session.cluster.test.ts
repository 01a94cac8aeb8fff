/** The session on Kafka, Redis and Postgres, encrypted: two processes, 50 MB, and that a deleted session can be read by nobody. */

import type { AgentInputItem } from '@openai/agents-core';
import { DEFAULT_TENANT, type Sequence, workflowId } from '@tidemark/core';
import { Client, LamportClock } from '@tidemark/runtime';
import { clusterHost } from '@tidemark/testkit/cluster-host';
import { describeServers } from '@tidemark/testkit/suites';
import { expect, it } from 'vitest';
import { TidemarkSession } from './session.ts';

const said = (content: string): AgentInputItem => ({ role: 'user', content });

describeServers('on the cluster', ['kafka', 'redis', 'postgres'], (servers) => {
  const opened = clusterHost(servers, 'sessions', 4);

  /** A session as another process has it. */
  const sessionOf = (sessionId: string) =>
    new TidemarkSession(
      {
        client: new Client({ ports: opened().ports, lamport: new LamportClock() }),
        keys: opened().keys,
        forget: (request) => opened().forget(request),
      },
      { sessionId },
    );

  it('has one writer at a time', async () => {
    const [one, other] = [sessionOf('two'), sessionOf('two')];
    await one.addItems([said('0')]);
    await Promise.all([one.getItems(), other.getItems()]);
    const both = await Promise.allSettled([one.addItems([said('1')]), other.addItems([said('2')])]);
    const refused = both.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused).toMatchObject([{ code: 'session-written-elsewhere' }]);
    expect(await one.getItems()).toHaveLength(2);
    await one.applyHistoryTransaction({ operationId: 'o', transaction: { type: 'append_items', items: [said('3')] } });
    await sessionOf('two').applyHistoryTransaction({
      operationId: 'o',
      transaction: { type: 'append_items', items: [said('3')] },
    });
    expect(await sessionOf('two').popItem()).toEqual(said('3'));
    expect(await sessionOf('two').getItems()).toHaveLength(2);
  });

  it('keeps 50 MB', async () => {
    const session = sessionOf('large');
    const text = 'x'.repeat(125_000);
    for (let n = 0; n < 100; n++)
      await session.addItems(Array.from({ length: 4 }, (_, at) => said(`${4 * n + at} ${text}`)));
    const reader = sessionOf('large');
    expect(await reader.getItems(1)).toEqual([said(`399 ${text}`)]);
    const all = await reader.getItems();
    expect(all).toHaveLength(400);
    expect(await reader.popItem()).toEqual(all.at(-1));
  });

  it('has the keys of a deleted session destroyed, and begins anew under its id', async () => {
    const stored = async () => {
      const rows = await opened().ports.store.checkpoints(workflowId('openai-agents:s'), {
        from: 1 as Sequence,
        limit: 10,
      });
      return rows.map(({ payload }) => payload).join();
    };
    const session = sessionOf('s');
    await session.addItems([said('pearl')]);
    await session.clearSession();
    // What is cleared is still in the log.
    await expect.poll(stored).toContain('pearl');
    await session.deleteSession();
    await session.deleteSession();
    expect(await stored()).not.toContain('pearl');
    await session.addItems([said('new')]);
    expect(await sessionOf('s').getItems()).toEqual([said('new')]);
    const certificates = await opened().client.memory.certificates(DEFAULT_TENANT);
    expect(certificates).toMatchObject([{ of: 'workflow:openai-agents:s', state: 'destroyed' }]);
  });
});
