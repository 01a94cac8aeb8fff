/**
 * Encryption on the embedded default: what workflows say is in no file of the folder, reads as before from every tier and after rows were
 * lost, needs the key that it was written with, and is gone once its data keys are (I6).
 */

import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { workflowId } from '@tidemark/core';
import { defineWorkflow, task } from '@tidemark/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { openEmbedded } from './embedded.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const SECRET = 'the-secret-of-the-client';
const ID = workflowId('w');

const telling = defineWorkflow({
  name: 'telling',
  version: 1,
  input: z.object({ about: z.string() }),
  belief: z.object({ told: z.string() }),
  output: z.object({ said: z.string() }),
  tasks: { say: z.object({}) },
  flow: { say: [] },
  begin: (input) => ({ belief: { told: input.about }, next: [task('say', {})] }),
  steps: { say: ({ belief }) => ({ done: { said: `${belief.told}!` } }) },
});

let folder: string;
let keysUrl: string;
let hosts: Host[];
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-encryption-'));
  keysUrl = pathToFileURL(path.join(folder, 'keys.json')).href;
  hosts = [];
});
afterEach(async () => {
  for (const host of hosts) await host.close();
  await rm(folder, { recursive: true, force: true });
});

const state = (): string => path.join(folder, 'state');

async function open(url: string | undefined = keysUrl): Promise<Host> {
  const host = await openEmbedded({ folder: state(), keysUrl: url });
  hosts.push(host);
  await host.startCoordinator();
  return host;
}

async function close(host: Host): Promise<void> {
  await host.close();
  hosts = hosts.filter((other) => other !== host);
}

async function run(host: Host): Promise<unknown> {
  await host.startWorker({ definitions: [telling], concurrency: 4 });
  const started = await host.client.start(telling, { about: SECRET }, { id: ID });
  return started.result();
}

/** Files below the state's folder that hold the text as it is. */
async function filesWith(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(state(), { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isFile() && (await readFile(file)).includes(text)) found.push(path.relative(state(), file));
  }
  return found;
}

const compact = (host: Host) =>
  host.compactor({ policy: { hotMs: 1, segmentMinBytes: 1 }, paceBytesPerSecond: Number.POSITIVE_INFINITY }).pass();

const outputOf = async (host: Host): Promise<unknown> => {
  const [opening] = await host.ports.store.checkpoints(ID, { from: 0 as never, limit: 1 });
  const row = await host.ports.store.workflow(ID);
  return { opening: opening?.payload.includes(SECRET), output: JSON.parse(row?.result ?? 'null') as unknown };
};
const WHOLE = { opening: true, output: { output: { said: `${SECRET}!` } } };

describe('with a key', () => {
  it('nothing that was said is in any file, and everything reads as it was, in every tier', async () => {
    const host = await open();
    expect(await run(host)).toEqual({ said: `${SECRET}!` });
    expect(await outputOf(host)).toEqual(WHOLE);
    await vi.waitFor(async () => expect(await compact(host)).toMatchObject({ failedCount: 0 }));
    await expect.poll(async () => (await host.ports.store.segments({ limit: 10 })).length).toBeGreaterThan(0);
    expect(await outputOf(host)).toEqual(WHOLE);
    await close(host);
    expect(await filesWith(SECRET)).toEqual([]);

    await rm(path.join(state(), 'rows'), { recursive: true });
    const again = await open();
    await expect.poll(() => again.ports.store.ready()).toBe(true);
    await expect.poll(() => outputOf(again)).toEqual(WHOLE);
    await close(again);
    expect(await filesWith(SECRET)).toEqual([]);
  });

  it('what it wrote can’t be read without it, nor with another, and the error says so', async () => {
    const host = await open();
    await run(host);
    await close(host);
    const without = await open('');
    const row = await without.ports.store.workflow(ID);
    expect(row?.result).not.toContain(SECRET);
    await close(without);
    // Rows that are made without keys would be taken for what was said: none are.
    await rename(path.join(state(), 'rows'), path.join(folder, 'rows'));
    const told: unknown[] = [];
    const blind = await openEmbedded({ folder: state() });
    hosts.push(blind);
    await blind.startCoordinator({ onError: (_, error) => told.push(error) });
    await expect.poll(() => told).toContainEqual(expect.objectContaining({ code: 'history-sealed' }));
    expect(await blind.ports.store.workflow(ID)).toBeUndefined();
    await close(blind);
    await rm(path.join(state(), 'rows'), { recursive: true });
    await rename(path.join(folder, 'rows'), path.join(state(), 'rows'));
    await rename(path.join(folder, 'keys.json'), path.join(folder, 'lost.json'));
    const other = await open();
    await expect(other.ports.store.workflow(ID)).rejects.toMatchObject({ code: expect.stringMatching(/^key/) });
  });

  it('what it wrote is missing, and not forgotten, while its key store is away; put back, it is read again', async () => {
    const host = await open();
    await run(host);
    await close(host);
    const keys = path.join(state(), 'log', 'keys.sqlite');
    await rename(keys, path.join(folder, 'copy.sqlite'));
    const without = await open();
    for (const look of [without.ports.store.workflow(ID), outputOf(without)]) {
      await expect(look).rejects.toMatchObject({
        name: 'CorruptError',
        code: 'key-missing',
        message: expect.stringContaining(keys),
        details: { key: expect.any(String), workflow: ID },
      });
    }
    await close(without);
    await rename(path.join(folder, 'copy.sqlite'), keys);
    expect(await outputOf(await open())).toEqual(WHOLE);
  });

  it('what is destroyed is forgotten everywhere; who, when and how much stays', async () => {
    const host = await open();
    await run(host);
    expect(await host.keys!.data.destroy({ workflow: ID })).toBeGreaterThan(0);
    await close(host);
    const after = await open();
    expect(await after.ports.store.workflow(ID)).toMatchObject({ status: 'completed', result: '{}' });
    const [opening] = await after.ports.store.checkpoints(ID, { from: 0 as never, limit: 1 });
    expect(opening?.payload).toBe('{}');
  });
});

it('without a key what was said is there for everybody: the control', async () => {
  const host = await open('');
  await run(host);
  await close(host);
  expect(await filesWith(SECRET)).not.toEqual([]);
});
