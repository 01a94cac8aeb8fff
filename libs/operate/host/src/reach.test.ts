/** Who asks servers whether they answer must hold up nobody that goes. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { systemClock } from '@tidemark/runtime';
import { eventually } from '@tidemark/testkit/eventually';
import { expect, it } from 'vitest';
import { openEmbeddedIdle } from './embedded.ts';
import { startReach } from './reach.ts';

it('lets a host go whose store never answers', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-reach-'));
  const host = await openEmbeddedIdle({ folder });
  let asked = 0;
  host.ports.store.nowMs = () => {
    asked++;
    return new Promise(() => {});
  };
  try {
    host.health();
    await eventually(() => asked > 0, { what: 'a question' });
  } finally {
    await host.close();
    await rm(folder, { recursive: true });
  }
  expect(asked).toBe(1);
});

it('control: to wait for what it asks is to wait for ever', async () => {
  const never = new Promise<never>(() => {});
  const reach = startReach({
    clock: systemClock,
    log: { bounds: () => never },
    store: { nowMs: () => never },
  } as never);
  const over = await Promise.race([
    reach.stop().then(() => true),
    new Promise((resolve) => setImmediate(resolve, false)),
  ]);
  expect(over).toBe(false);
});
