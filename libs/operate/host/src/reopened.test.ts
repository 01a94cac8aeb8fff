/** A folder that is opened after a kill resumes at once: no period of the runtime has to pass first. */

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Clock } from '@tidemark/ports';
import { defineWorkflow, task } from '@tidemark/sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { openEmbeddedIdle } from './embedded.ts';
import type { Host } from './host.ts';

const TIMEOUT_MS = 120_000;

let root: string;
const hosts: Host[] = [];
beforeEach(() => {
  root = mkdtempSync(path.join(os.tmpdir(), 'tidemark-host-'));
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
  rmSync(root, { recursive: true });
});

const at = (name: string): string => path.join(root, name);

/** The second step of each workflow stands still until the gate opens. */
function gated(reached: (id: string) => void, gate: Promise<void>) {
  return defineWorkflow({
    name: 'gated',
    version: 1,
    input: z.object({ id: z.string() }),
    belief: z.object({}),
    output: z.object({ id: z.string() }),
    tasks: { first: z.object({}), second: z.object({}) },
    flow: { first: ['second'], second: [] },
    starts: ['first'],
    begin: () => ({ belief: {}, next: [task('first', {})] }),
    steps: {
      first: () => ({ next: [task('second', {})] }),
      async second(ctx) {
        reached(ctx.input.id);
        await gate;
        return { done: { id: ctx.input.id } };
      },
    },
  });
}

async function opened(folder: string): Promise<Host> {
  const host = await openEmbeddedIdle({ folder });
  hosts.push(host);
  return host;
}

it.each([
  ['whose rows show all of the log', 'rows'],
  ['whose rows show nothing of it yet', 'rows-before'],
])(
  'a folder %s: what was claimed and what waited for a worker goes on, though no period of any loop ends',
  async (_title, rows) => {
    const gate = Promise.withResolvers<void>();
    const running = await opened(at('state'));
    await running.startCoordinator();
    const reached = Promise.withResolvers<string>();
    const definition = gated((id) => reached.resolve(id), gate.promise);
    // One of them runs, the other one waits.
    await running.startWorker({ definitions: [definition], concurrency: 1 });
    cpSync(at('state/rows'), at('rows-before'), { recursive: true });
    const ids = ['a', 'b'];
    await Promise.all(ids.map((id) => running.client.start(definition, { id }, { id })));
    const held = await reached.promise;
    await expect.poll(async () => (await running.ports.store.runnable(null, 2)).length, { timeout: 30_000 }).toBe(1);
    await expect.poll(() => running.ports.store.leases(), { timeout: 30_000 }).toMatchObject([{ workflow: held }]);
    // What a process that is killed now would leave.
    cpSync(at('state/log'), at('left/log'), { recursive: true });
    cpSync(rows === 'rows' ? at('state/rows') : at(rows), at('left/rows'), { recursive: true });

    const next = await opened(at('left'));
    const clock = { ...next.ports.clock, sleep: endless(next.ports.clock.sleep) };
    Object.assign(next.ports, { clock });
    const seen = new Set<string>();
    await next.startCoordinator();
    await next.startWorker({ definitions: [gated((id) => seen.add(id), gate.promise)], concurrency: 2 });
    await expect.poll(() => [...seen].sort(), { timeout: 30_000 }).toEqual(ids);
    gate.resolve();
    await expect.poll(async () => (await next.ports.store.counts()).openCount, { timeout: 30_000 }).toBe(0);
  },
  TIMEOUT_MS,
);

/** Work is gathered for less; no period is shorter. */
const GATHERING_MAX_MS = 100;

/** What is longer ends when it is woken, and never by itself. */
const endless =
  (sleep: Clock['sleep']): Clock['sleep'] =>
  (ms, signal) =>
    ms <= GATHERING_MAX_MS
      ? sleep(ms, signal)
      : new Promise((resolve) => {
          if (signal?.aborted === true) resolve();
          signal?.addEventListener('abort', () => resolve(), { once: true });
        });
