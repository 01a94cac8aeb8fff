/** The framework's suites for checkpointers on Kafka, Redis and Postgres, encrypted; and that a deleted thread can be read by nobody. */

import { emptyCheckpoint } from '@langchain/langgraph-checkpoint';
import { DEFAULT_TENANT, type Sequence, workflowId } from '@tidemark/core';
import { clusterHost } from '@tidemark/testkit/cluster-host';
import { describeServers } from '@tidemark/testkit/suites';
import { expect, it } from 'vitest';
import { TidemarkSaver } from './saver.ts';
import { checkpointerSuites } from './suite-fixture.ts';

describeServers('on the cluster', ['kafka', 'redis', 'postgres'], (servers) => {
  const opened = clusterHost(servers, 'saver', 8);

  checkpointerSuites('cluster', opened);

  it('has the keys of a deleted thread destroyed, and begins anew under its name', async () => {
    const saver = new TidemarkSaver(opened(), { name: 'deleting' });
    const config = { configurable: { thread_id: 't' } };
    const meta = { source: 'loop', step: 0, parents: {} } as const;
    const checkpoint = { ...emptyCheckpoint(), channel_values: { x: 'pearl' }, channel_versions: { x: 1 } };
    const stored = async (workflow: string) => {
      const rows = await opened().ports.store.checkpoints(workflowId(workflow), { from: 1 as Sequence, limit: 10 });
      return rows.map(({ payload }) => payload).join();
    };
    await saver.put(config, checkpoint, meta, { x: 1 });
    await expect.poll(() => stored('deleting:t')).toContain('pearl');
    await saver.deleteThread('t');
    await saver.deleteThread('t');
    expect(await stored('deleting:t')).not.toContain('pearl');
    expect(await saver.getTuple(config)).toBeUndefined();
    await saver.put(config, { ...checkpoint, channel_values: { x: 'new' } }, meta, { x: 1 });
    expect((await saver.getTuple(config))?.checkpoint.channel_values).toEqual({ x: 'new' });
    const certificates = await opened().client.memory.certificates(DEFAULT_TENANT);
    const own = certificates.filter((each) => JSON.stringify(each).includes('workflow:deleting:t'));
    expect(own).toMatchObject([{ state: 'destroyed' }]);
  });
});
