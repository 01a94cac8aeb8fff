/** Why workflows of a list do not move: what is there is read from liveness, paused queues and demand, once for all of a moment. */

import { type StreamState, streamToJson, type WorkflowId } from '@tidemark/core';
import { beforeEach, expect, it } from 'vitest';
import type { Backend } from './backend.ts';
import { WhatIsThere } from './there.ts';
import { waitsOf } from './waits.ts';

const stream = (workflow: string, change: object = {}): StreamState =>
  ({
    ...{ tenant: 'acme', workflow, definition: 'refund', version: 2, pinned: false, shadow: false, status: 'open' },
    ...{
      reason: null,
      question: null,
      ruling: 'cancel',
      undo: null,
      lease: null,
      isUnsettled: false,
      unreadable: null,
    },
    ...{ openedAtMs: 1, updatedAtMs: 60_000, crashCount: 0, head: { sequence: 0, checkpoint: null, atMs: 1 } },
    frontier: { tasks: [] },
    ...change,
  }) as unknown as StreamState;

let streams: StreamState[];
let view: object;
let held: object[];
let looks: number;
let backend: Backend;

beforeEach(() => {
  [streams, held, looks] = [[stream('w')], [], 0];
  view = {
    trusted: true,
    holders: new Map([['a', new Map()]]),
    announced: new Map([['a', { serves: ['2 refund'], routes: [] }]]),
  };
  const liveness = {
    view: async () => {
      looks += 1;
      return view;
    },
  };
  const clock = { monotonicMs: () => 0, nowMs: () => 120_000 };
  const frontiers = async () =>
    new Map(streams.map((each) => [each.workflow, { state: streamToJson(each), tasks: [] }]));
  backend = {
    ports: { liveness, clock, store: { ready: async () => true } },
    client: { queues: { held: async () => held } },
    reads: { frontiers },
    ...{ isIdle: false, limited: () => new Map([['limited', 'site:x']]), whatIsThere: new WhatIsThere() },
  } as unknown as Backend;
});

const textOf = async (workflow = 'w', showsContent = true) =>
  (await waitsOf(backend, [workflow as WorkflowId], showsContent)).get(workflow as WorkflowId)?.text;

it('a version that no worker runs is told with those that workers run', async () => {
  view = {
    ...view,
    announced: new Map([
      ['a', { serves: ['1! refund', '1 refund'], routes: [] }],
      ['b', { serves: ['3! other'], routes: [] }],
    ]),
  };
  expect(await waitsOf(backend, ['w' as WorkflowId], true)).toEqual(
    new Map([
      [
        'w',
        {
          ...{ kind: 'no-version', text: 'no worker runs refund v2 (1 worker runs v1)', is_there: false },
          ...{ since: '1970-01-01T00:01:00.000Z', until: null, ends_by: 'a worker of refund v2' },
        },
      ],
    ]),
  );
});

it('who takes the work of a definition takes its undos too', async () => {
  streams = [stream('w~undo', { definition: 'refund~undo' })];
  expect(await textOf('w~undo')).toBe('waits for its turn at a worker');
  held = [{ definition: 'refund', tenant: null, by: 'ana', why: '', sinceMs: 1 }];
  backend = { ...backend, whatIsThere: new WhatIsThere() } as Backend;
  expect(await textOf('w~undo')).toBe('its queue is paused by ana');
});

it('a missing worker proves nothing while the view of them is not trusted', async () => {
  view = { ...view, trusted: false, holders: new Map(), announced: new Map() };
  const [wait] = (await waitsOf(backend, ['w' as WorkflowId], true)).values();
  expect(wait).toMatchObject({ kind: 'worker', is_there: null });
});

it('the key of a limit is for those who may see content', async () => {
  streams = [stream('limited')];
  expect(await textOf('limited')).toBe('waits for room in its limit site:x');
  expect(await textOf('limited', false)).toBe('waits for room in its limit');
});

it('what is there is read once for all callers of a moment', async () => {
  await Promise.all([textOf(), textOf()]);
  expect(await textOf('unknown')).toBeUndefined();
  expect(looks).toBe(1);
});
