/** Children that can't be opened wait ever longer between attempts, and hold up no others. */

import { UnavailableError, type WorkflowId } from '@tidemark/core';
import type { ChildWork } from '@tidemark/ports';
import { type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import { LamportClock } from '../kernel/ports.ts';
import { Inbox } from '../lease/inbox.ts';
import { CHILD_WORK_COUNT, CHILD_WORK_RETRY_MAX_MS, CHILD_WORK_RETRY_MS, Children } from './children.ts';

const work = (parent: string, index: number): ChildWork => ({
  kind: 'start',
  parent: parent as WorkflowId,
  task: `1.${index}` as never,
  child: `${parent}~1.${index}` as WorkflowId,
});

describe('children that are pending', () => {
  let ports: SimulatedPorts;
  let children: Children;
  let pending: ChildWork[];
  let errorCount: number;
  /** Parents in the order in which they were read: none of `bad` can be served. */
  let served: string[];

  beforeEach(() => {
    ports = simulatedPorts(new SimulatedLog(1));
    [pending, errorCount, served] = [[], 0, []];
    ports.store.childWork = async (limit, skip = 0) => pending.slice(skip, skip + limit);
    ports.store.workflow = async (id) => {
      served.push(id);
      if (id.startsWith('bad')) throw new UnavailableError('away', id);
      return undefined;
    };
    const [inbox, lamport] = [new Inbox(ports, new LamportClock()), new LamportClock()];
    children = new Children({
      ports,
      inbox,
      lamport,
      starter: { open: async () => expect.fail() },
      onError: () => errorCount++,
    });
  });

  it('get no end from a workflow of another tenant that has the id of one; that is counted', async () => {
    const rows = { p: 'ours', 'p~1.0': 'theirs' } as Record<string, string>;
    ports.store.workflow = async (workflow) =>
      ({ workflow, tenant: rows[workflow], status: 'completed', lamport: 1 }) as never;
    for (const kind of ['report', 'end'] as const) pending.push({ ...work('p', 0), kind });
    await children.poll();
    expect([errorCount, ports.telemetry.counts.get('workflow_ids_taken_total')]).toEqual([2, 2]);
  });

  it('are served also behind thousands that failed lately', async () => {
    pending = Array.from({ length: CHILD_WORK_COUNT }, (_, index) => work(`bad${index}`, 0));
    await children.poll();
    expect(errorCount).toBe(CHILD_WORK_COUNT);
    served = [];
    pending.push(work('good', 0));
    await children.poll();
    expect(served).toEqual(['good']);
    // Also when some of those are due again, and fail again.
    served = [];
    ports.clock.jump(CHILD_WORK_RETRY_MS);
    pending.push(work('good', 1));
    await children.poll();
    await children.poll();
    expect(served).toContain('good');
  });

  it('are tried ever more seldom while they fail, and never given up', async () => {
    pending = [work('bad', 0)];
    const waits: number[] = [];
    for (let count = 0, lastMs = ports.clock.monotonicMs(); count < 8; ) {
      await children.poll();
      if (errorCount > count) {
        waits.push(ports.clock.monotonicMs() - lastMs);
        lastMs = ports.clock.monotonicMs();
        count++;
      }
      ports.clock.jump(CHILD_WORK_RETRY_MS / 2);
    }
    const expected = [0, 2_000, 4_000, 8_000, 16_000, 32_000, CHILD_WORK_RETRY_MAX_MS, CHILD_WORK_RETRY_MAX_MS];
    expect(waits).toEqual(expected);
  });
});
