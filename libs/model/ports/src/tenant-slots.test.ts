import type { TenantId } from '@tidemark/core';
import { expect, test } from 'vitest';
import { TenantSlots } from './tenant-slots.ts';

const [flood, small] = ['flood', 'small'] as TenantId[] as [TenantId, TenantId];

function run(slots: TenantSlots, tenant: TenantId, count: number): void {
  for (let n = 0; n < count; n++) {
    slots.take();
    slots.begin(tenant);
  }
}

function end(slots: TenantSlots, tenant: TenantId, count: number): void {
  for (let n = 0; n < count; n++) slots.end(tenant);
}

/** Takes every slot that a backlog may have. */
function fill(slots: TenantSlots): number {
  let taken = 0;
  for (; slots.open > 0; taken++) run(slots, flood, 1);
  return taken;
}

test('what a tenant ran lately is kept for it while another has a backlog', () => {
  const slots = new TenantSlots(64);
  run(slots, small, 6);
  end(slots, small, 6);
  fill(slots);
  // Four that are always reserved, and six.
  expect(slots.free).toBe(10);
  expect(slots.full).toEqual(new Set([flood]));
  run(slots, small, 6);
  expect([slots.free, slots.open]).toEqual([4, 0]);
});

test('no more than a quarter is kept, whatever others ran', () => {
  const slots = new TenantSlots(64);
  run(slots, small, 30);
  end(slots, small, 30);
  fill(slots);
  expect(slots.free).toBe(16);
});

test('a backlog that was keeps nothing for the one who had it while it runs its share', () => {
  const slots = new TenantSlots(64);
  run(slots, small, 1);
  fill(slots);
  end(slots, flood, 20);
  expect(slots.open).toBe(20);
});

test('what was is forgotten in time', () => {
  const slots = new TenantSlots(64);
  run(slots, small, 6);
  end(slots, small, 6);
  for (let n = 0; n < 100; n++) end(slots, flood, fill(slots));
  fill(slots);
  expect(slots.free).toBe(4);
});

test('who is alone has all', () => {
  const slots = new TenantSlots(64);
  fill(slots);
  expect(slots.free).toBe(0);
});
