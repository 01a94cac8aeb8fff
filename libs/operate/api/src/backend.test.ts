/** What was started is found through any process, as soon as rows know it; what was not is unknown at once, and so is what is another tenant's. */

import type { TenantId } from '@tidemark/core';
import type { Principal } from '@tidemark/ports';
import { beforeEach, expect, it } from 'vitest';
import { Backend } from './backend.ts';
import { STARTED_GRACE_MS } from './limits.ts';

const ANA: Principal = { subject: 'key:a', tenant: 'acme' as TenantId, roles: ['operator'], kind: 'key' };

let backend: Backend;
let nowMs: number;
let polls: number;
/** After so many looks rows know it. */
let knownAfter: number;
let placed: { readonly tenant: string; readonly appended: boolean } | undefined;

beforeEach(() => {
  [nowMs, polls, knownAfter, placed] = [0, 0, Number.POSITIVE_INFINITY, undefined];
  const store = {
    workflow: async () =>
      ++polls > knownAfter ? { workflow: 'w', tenant: 'acme', definition: 'x', result: null } : undefined,
    placed: async () => placed,
  };
  const clock = {
    monotonicMs: () => nowMs,
    sleep: async (ms: number) => {
      nowMs += ms;
    },
  };
  backend = new Backend({ ports: { store, clock }, client: {} } as never, []);
});

it('waits for rows to know what is placed', async () => {
  placed = { tenant: 'acme', appended: false };
  knownAfter = 3;
  expect(await backend.find(ANA, 'w')).toMatchObject({ workflow: 'w' });
  expect(backend.tenantOf('w')).toBe('acme');
  expect(nowMs).toBeLessThan(100);
});

it('finds what rows came to know between the two questions', async () => {
  placed = { tenant: 'acme', appended: true };
  knownAfter = 1;
  expect(await backend.find(ANA, 'w')).toMatchObject({ workflow: 'w' });
  expect(nowMs).toBe(0);
});

it('does not call unknown what exists, however long rows take', async () => {
  placed = { tenant: 'acme', appended: false };
  await expect(backend.find(ANA, 'w')).rejects.toMatchObject({ name: 'UnavailableError', code: 'workflow-starting' });
  expect(nowMs).toBeGreaterThanOrEqual(STARTED_GRACE_MS);
  // Ever more seldom.
  expect(polls).toBeLessThan(100);
});

it('says at once of what was never placed, and of another tenant’s, that it is unknown', async () => {
  const messages: string[] = [];
  for (const found of [undefined, { tenant: 'globex', appended: false }]) {
    [placed, polls] = [found, 0];
    const error = await backend.find(ANA, 'w').catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ name: 'InvalidError', code: 'workflow-unknown' });
    messages.push((error as Error).message);
    expect([polls, nowMs]).toEqual([1, 0]);
  }
  expect(new Set(messages).size).toBe(1);
});
