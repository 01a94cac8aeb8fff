/** Workflows that no living worker takes are counted by reason; those that one takes, and those of paused queues, are not. */

import type { HolderId } from '@tidemark/core';
import type { LivenessView, RunnableStream } from '@tidemark/ports';
import { expect, it } from 'vitest';
import { PausedQueues } from '../control/paused-queues.ts';
import { StuckGauges } from './stuck.ts';

const stream = (definition: string, version: number, pinned = false): RunnableStream =>
  ({ workflow: `${definition}-${version}`, tenant: 'acme', definition, version, pinned }) as unknown as RunnableStream;
const NONE = new PausedQueues([]);
const view = (holders: readonly string[], ...serves: readonly string[]): LivenessView => ({
  ...{ trusted: true, builds: new Map(), isGone: () => false },
  holders: new Map(holders.map((holder) => [holder as HolderId, new Map()])),
  announced: new Map([['w' as HolderId, { serves, routes: [] }]]),
});

it('counts what no living worker takes, by reason', () => {
  const told = new Map<unknown, number>();
  const gauges = new StuckGauges({
    gauge: (name, value, labels) => void (name === 'workflows_stuck' && told.set(labels?.reason, value)),
  });
  const found = (held = NONE) => {
    told.clear();
    gauges.found([stream('refund', 1), stream('refund', 2), stream('refund~undo', 2), stream('refund', 1, true)], held);
    return [told.get('no-worker'), told.get('no-version')];
  };
  // Nothing is known of workers yet.
  expect(found()).toEqual([undefined, undefined]);
  gauges.seen(view(['a'], '1! refund', '1 refund'));
  expect(found()).toEqual([0, 2]);
  gauges.seen(view(['a'], '2! refund', '2 refund', '1 refund'));
  expect(found()).toEqual([0, 1]);
  gauges.seen(view([]));
  expect(found()).toEqual([4, 0]);
  expect(found(new PausedQueues([{ definition: 'refund', tenant: null, by: 'ana', why: '', sinceMs: 1 }]))).toEqual([
    0, 0,
  ]);
  // Redis was flushed: a missing worker may only not have sent its beat again.
  gauges.seen({ ...view([]), trusted: false });
  expect(found()).toEqual([undefined, undefined]);
});
