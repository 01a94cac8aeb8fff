/** What a holder reads of its own workflow waits for rows, and for no more of them than it needs. */

import type { Offset, Partition, Position, Sequence, WorkflowId } from '@tidemark/core';
import type { CheckpointRow } from '@tidemark/ports';
import { simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { expect, it } from 'vitest';
import { LeasedReads, type LeasedReadsOptions } from './leased-reads.ts';

it('reads the newest checkpoint without waiting for rows of the claim that follows it', async () => {
  const ports = simulatedPorts(new SimulatedLog(1));
  const waited: Offset[] = [];
  const options = {
    ports,
    applied: { wait: async (_: Partition, offset: Offset) => void waited.push(offset) },
    stream: { confirmed: { workflow: 'w' as WorkflowId, head: { sequence: 3 }, position: 9 }, next: 12 },
    partition: 0 as Partition,
    fork: undefined,
    signal: new AbortController().signal,
  } as unknown as LeasedReadsOptions;
  const asked: unknown[] = [];
  ports.store.checkpoints = async (workflow, { from, since }) => {
    asked.push([workflow, from, since]);
    return [{ step: 'a', task: null } as CheckpointRow];
  };
  expect(await new LeasedReads(options).head()).toEqual({ step: null, effects: [] });
  expect(waited).toEqual([11 as Offset]);
  expect(asked).toEqual([['w' as WorkflowId, 3 as Sequence, 8 as Position]]);
});
