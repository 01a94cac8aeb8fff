/** Rows that are read while others restore or drop them: a read returns the history, and never nothing. */

import { type Sequence, streamFromJson, workflowId } from '@tidemark/core';
import { HOT_MS, SimulatedArchive } from '@tidemark/testkit/engine/simulated-archive';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dropArchived } from './archived-rows.ts';
import type { Restorer } from './restorer.ts';
import { tieredStore } from './tiered-store.ts';

const FIRST = workflowId('first');
const ALL = { from: 0 as Sequence, limit: 100 };
let at: SimulatedArchive<MemoryObjects>;

beforeEach(async () => {
  at = new SimulatedArchive(
    () => new SimulatedLog(1),
    (place) => new MemoryObjects(place),
  );
  // A workflow leaves nothing in the partition only once another has followed it.
  for (const name of ['first', 'second']) await at.run(name);
  at.ports.clock.jump(HOT_MS + 1);
  await at.pass();
  expect(await at.ports.store.checkpoints(FIRST, ALL)).toEqual([]);
});
afterEach(() => at.close());

/** A view whose rows a compactor drops this often, each time right after they were restored. */
function takenAway(times: number) {
  const restorer = at.restorer();
  let left = times;
  const restoreMissing: Restorer['restoreMissing'] = async (workflows) => {
    const hasRestored = await restorer.restoreMissing(workflows);
    if (left-- > 0)
      for (const segment of await at.ports.store.segments({ limit: 10 })) await dropArchived(at.ports.store, segment);
    return hasRestored;
  };
  return tieredStore(at.ports.store, { restoreMissing } as Restorer);
}

describe.each([0, 1, 4])('rows that are taken away %i times while they are read', (times) => {
  it('are history', async () => {
    expect(await takenAway(times).checkpoints(FIRST, ALL)).toHaveLength(3);
  });

  it('are a stream that closed', async () => {
    const [snapshot] = await takenAway(times).loadStreams([FIRST]);
    expect(streamFromJson(snapshot!.state, snapshot!.tasks)).toMatchObject({ status: 'completed' });
  });
});

it('rows that never stay are an error that says so', async () => {
  const unavailable = expect.objectContaining({ code: 'rows-taken-away' });
  await expect(takenAway(100).loadStreams([FIRST])).rejects.toThrow(unavailable);
  await expect(takenAway(100).checkpoints(FIRST, ALL)).rejects.toThrow(unavailable);
});

it('rows that another process puts back between two questions are seen', async () => {
  const restoreMissing: Restorer['restoreMissing'] = async (workflows) => {
    await at.restorer().restoreMissing(workflows);
    return false;
  };
  const view = tieredStore(at.ports.store, { restoreMissing } as Restorer);
  expect(await view.checkpoints(FIRST, ALL)).toHaveLength(3);
});

it('a part of history that there is none of stays empty', async () => {
  expect(await takenAway(0).fragments(FIRST, 100 as Sequence)).toEqual([]);
});
