/** What was started is found through any process, as soon as rows know it; what was not is unknown at once, and so is what is another tenant's. */

import type { TenantId } from '@tidemark/core';
import type { Principal } from '@tidemark/ports';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, expect, it, vi } from 'vitest';
import { Backend, STARTED_GRACE_MS } from './backend.ts';
import { PAGE_MAX_COUNT, RESERVING_TASKS_READ_MAX_COUNT } from './limits.ts';
import { uncommittedCheckpoints } from './shapes/checkpoints.ts';

const ANA: Principal = { subject: 'key:a', tenant: 'acme' as TenantId, roles: ['operator'], kind: 'key' };

let backend: Backend;
let clock: SimulatedClock;
let polls: number;
/** After so many looks rows know it. */
let knownAfter: number;
let placed: { readonly tenant: string; readonly appended: boolean } | undefined;

beforeEach(() => {
  [polls, knownAfter, placed] = [0, Number.POSITIVE_INFINITY, undefined];
  const store = {
    workflow: async () =>
      ++polls > knownAfter ? { workflow: 'w', tenant: 'acme', definition: 'x', result: null } : undefined,
    placed: async () => placed,
  };
  clock = new SimulatedClock();
  backend = new Backend({ ports: { store, clock }, client: {} } as never, []);
});

/** What it finds, once time has passed for as long as it sleeps. */
async function found() {
  let isOver = false;
  const finding = backend.find(ANA, 'w').finally(() => {
    isOver = true;
  });
  finding.catch(() => {});
  await clock.runUntil(() => isOver, 2 * STARTED_GRACE_MS);
  return finding;
}

it('waits for rows to know what is placed', async () => {
  placed = { tenant: 'acme', appended: false };
  knownAfter = 3;
  expect(await found()).toMatchObject({ workflow: 'w' });
  expect(backend.tenantOf('w')).toBe('acme');
  expect(clock.monotonicMs()).toBeLessThan(100);
});

it('finds what rows came to know between the two questions', async () => {
  placed = { tenant: 'acme', appended: true };
  knownAfter = 1;
  expect(await found()).toMatchObject({ workflow: 'w' });
  expect(clock.monotonicMs()).toBe(0);
});

it('does not call unknown what exists, however long rows take', async () => {
  placed = { tenant: 'acme', appended: false };
  await expect(found()).rejects.toMatchObject({ name: 'UnavailableError', code: 'workflow-starting' });
  expect(clock.monotonicMs()).toBeGreaterThanOrEqual(STARTED_GRACE_MS);
  // Ever more seldom.
  expect(polls).toBeLessThan(100);
});

it('says at once of what was never placed, and of another tenant’s, that it is unknown', async () => {
  const messages: string[] = [];
  for (const other of [undefined, { tenant: 'globex', appended: false }]) {
    [placed, polls] = [other, 0];
    const error = await found().catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ name: 'InvalidError', code: 'workflow-unknown' });
    messages.push((error as Error).message);
    expect([polls, clock.monotonicMs()]).toEqual([1, 0]);
  }
  expect(new Set(messages).size).toBe(1);
});

it('lists checkpoints that a worker here has staged, and those that tasks have reserved, each once', async () => {
  const task = (id: string, reserved: string | null, effects: object[] = []) => ({
    task: id,
    state: JSON.stringify({ id, step: 'pay', after: [], barrierCount: 0, when: [], retry: null, reserved, effects }),
  });
  const digests = { requestDigest: 'a', responseDigest: null };
  const waits = { key: 'w:1.0:pay:0', operation: 'pay', status: 'pending', pending: { token: 't' }, ...digests };
  const tasks = async () => [task('1.0', 'c2', [waits]), task('1.1', null), task('1.2', 'c3')];
  const staged = { checkpoint: 'c3', sequence: 2, parent: 'c1', step: 'add', stepVersion: 1, task: '1.2' };
  const place = {
    ports: { store: { tasks }, clock },
    client: {},
    pendingCheckpoints: () => [{ control: { ...staged, inputDigest: 'b' } }],
  };
  const listed = await uncommittedCheckpoints(new Backend(place as never, []), 'w' as never);
  // Of no more tasks than that, however many there are.
  const many = vi.fn(async (_: string, count: number) => Array.from({ length: count }, () => task('2.0', 'c4')));
  const full = { ...place, ports: { store: { tasks: many }, clock } };
  await uncommittedCheckpoints(new Backend(full as never, []), 'w' as never);
  expect(many).toHaveBeenCalledTimes(RESERVING_TASKS_READ_MAX_COUNT / PAGE_MAX_COUNT);
  expect(listed).toMatchObject([
    { checkpoint_id: 'c3', status: 'pending', sequence_number: 2, parent_checkpoint_id: 'c1', input_state_hash: 'b' },
    { checkpoint_id: 'c2', status: 'reserved', sequence_number: null, effect_log: [{ status: 'pending' }] },
  ]);
});
