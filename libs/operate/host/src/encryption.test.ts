/**
 * Encryption on the embedded default: what workflows say is in no file of the folder, reads as before from every tier and after rows were
 * lost, needs the key that it was written with, and is gone once its data keys are (I6).
 */

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { DEFAULT_TENANT, workflowId } from '@tidemark/core';
import { openFileKeys } from '@tidemark/keys-file';
import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { openEmbedded, openEmbeddedRebuild } from './embedded.ts';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';
import { folderKeysFromEnv, refuseTemporary } from './keys.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
const SECRET = 'the-secret-of-the-client';
const ID = workflowId('w');

const telling = defineWorkflow({
  name: 'telling',
  version: 1,
  input: z.object({ about: z.string() }),
  belief: z.object({ reported: z.string() }),
  output: z.object({ said: z.string() }),
  tasks: { say: z.object({}) },
  flow: { say: [] },
  begin: (input) => ({ belief: { reported: input.about }, next: [task('say', {})] }),
  steps: { say: ({ belief }) => ({ done: { said: `${belief.reported}!` } }) },
});

const waiting = defineWorkflow({
  name: 'waiting',
  version: 1,
  input: z.string(),
  belief: z.string(),
  output: z.string(),
  tasks: { note: z.object({}), wait: z.object({}) },
  flow: { note: ['wait'], wait: [] },
  signals: { go: z.object({ on: z.boolean() }) },
  begin: (input) => ({ belief: input, next: [task('note', {})] }),
  steps: {
    note: () => ({ next: [task('wait', {}, { when: signal('go') })] }),
    wait: ({ belief }) => ({ done: belief }),
  },
});

let at: FolderFixture;
beforeEach(async () => {
  at = await FolderFixture.make();
});
afterEach(() => at.end());

const open = (keysUrl = at.keysUrl()): Promise<Host> => at.open({ keysUrl });

async function run(host: Host): Promise<unknown> {
  await host.startWorker({ definitions: [telling], concurrency: 4 });
  const started = await host.client.start(telling, { about: SECRET }, { id: ID });
  return started.result();
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
    await vi.waitFor(async () => expect(await compact(host)).toMatchObject({ failedCount: 0 }), { timeout: 60_000 });
    await expect.poll(async () => (await host.ports.store.segments({ limit: 10 })).length).toBeGreaterThan(0);
    expect(await outputOf(host)).toEqual(WHOLE);
    await at.close(host);
    expect(await at.filesWith(SECRET)).toEqual([]);

    await rm(path.join(at.state, 'rows'), { recursive: true });
    const again = await open();
    await expect.poll(() => again.ports.store.ready()).toBe(true);
    await expect.poll(() => outputOf(again)).toEqual(WHOLE);
    await at.close(again);
    expect(await at.filesWith(SECRET)).toEqual([]);
  });

  it('what it wrote can’t be read without it, nor with another, and the error says so', async () => {
    const host = await open();
    await run(host);
    await at.close(host);
    const without = await at.open({ encryption: 'off' });
    const row = await without.ports.store.workflow(ID);
    expect(row?.result).not.toContain(SECRET);
    await at.close(without);
    // Rows that are made without keys would be taken for what was said: none are.
    await rename(path.join(at.state, 'rows'), path.join(at.root, 'rows'));
    const reported: unknown[] = [];
    const blind = await at.openIdle({ encryption: 'off' });
    await blind.startCoordinator({ onError: (_, error) => reported.push(error) });
    await expect.poll(() => reported).toContainEqual(expect.objectContaining({ code: 'history-sealed' }));
    expect(await blind.ports.store.workflow(ID)).toBeUndefined();
    await at.close(blind);
    await rm(path.join(at.state, 'rows'), { recursive: true });
    await rename(path.join(at.root, 'rows'), path.join(at.state, 'rows'));
    await rename(path.join(at.root, 'keys.json'), path.join(at.root, 'lost.json'));
    await (await openFileKeys({ file: path.join(at.root, 'keys.json') })).close();
    const other = await open();
    await expect(other.ports.store.workflow(ID)).rejects.toMatchObject({ code: 'key-wrong' });
  });

  it('a key file that is lost is missed, and none is made in its place; where nothing needs one, one is', async () => {
    const [file, secretsFile] = [path.join(at.root, 'keys.json'), path.join(at.root, 'secrets.json')];
    const host = await open();
    await run(host);
    await at.close(host);
    await rename(file, path.join(at.root, 'lost.json'));
    const missing = { name: 'ConfigError', code: 'key-file-missing', details: { file, count: 1 } };
    await expect(open()).rejects.toMatchObject(missing);
    await expect(openEmbeddedRebuild({ folder: at.state, keysUrl: at.keysUrl() }, 'compare', {})).rejects.toMatchObject(
      missing,
    );
    expect(existsSync(file)).toBe(false);
    await rename(path.join(at.root, 'lost.json'), file);
    // Nothing was wrapped for secret fields yet.
    const both = await at.open({ keysUrl: at.keysUrl(), secretsUrl: at.keysUrl('secrets') });
    expect(await outputOf(both)).toEqual(WHOLE);
    expect(existsSync(secretsFile)).toBe(true);
    const { secrets } = both;
    await secrets!.data.create({ tenant: DEFAULT_TENANT, workflow: ID, user: null });
    await at.close(both);
    await rm(secretsFile);
    await expect(at.open({ keysUrl: at.keysUrl(), secretsUrl: at.keysUrl('secrets') })).rejects.toMatchObject({
      code: 'key-file-missing',
      details: { file: secretsFile },
    });
  });

  it('no plain text is written beside what it sealed, unless that is meant', async () => {
    const host = await at.open({ keysUrl: at.keysUrl(), secretsUrl: at.keysUrl('secrets') });
    await run(host);
    await at.close(host);
    const refused = {
      name: 'ConfigError',
      code: 'keys-missing',
      message: expect.stringMatching(/TIDEMARK_KEYS_URL is not set.*TIDEMARK_ENCRYPTION=off/),
    };
    await expect(open('')).rejects.toMatchObject(refused);
    await expect(at.open({ secretsUrl: at.keysUrl('secrets') })).rejects.toMatchObject(refused);
    await expect(openEmbeddedRebuild({ folder: at.state }, 'compare', {})).rejects.toMatchObject(refused);
    const meant = await at.open({ encryption: 'off', keysUrl: at.keysUrl() });
    await meant.startWorker({ definitions: [telling], concurrency: 4 });
    await (await meant.client.start(telling, { about: SECRET }, { id: 'plain' })).result();
    await at.close(meant);
    expect(await at.filesWith(SECRET)).not.toEqual([]);
  });

  it('begins where its opener says so, and not by the environment of a shell; then it stays so', async () => {
    const env = folderKeysFromEnv({ TIDEMARK_KEYS_URL: at.keysUrl() });
    const plain = await at.openIdle(env);
    expect(plain.keys).toBeUndefined();
    await at.close(plain);
    expect(existsSync(path.join(at.root, 'keys.json'))).toBe(false);
    await expect(at.openIdle({ ...env, encryption: 'on' })).rejects.toMatchObject({
      code: 'folder-plain',
      message: expect.stringContaining('tidemark admin keys begin'),
    });
    await at.close(await at.openIdle({ ...env, begins: true }));
    const begun = await at.openIdle(env);
    expect(begun.keys).toBeDefined();
    await at.close(begun);
    // Nothing was sealed yet, and all the same nothing plain is written.
    await expect(at.openIdle()).rejects.toMatchObject({ code: 'keys-missing' });
  });

  it('never begins with a key file that a restart takes away, unless the state goes with it', async () => {
    const lasting = path.resolve(import.meta.dirname, '../../../../.cache');
    await mkdir(lasting, { recursive: true });
    const folder = await mkdtemp(path.join(lasting, 'state-'));
    try {
      for (const keys of [{ keysUrl: at.keysUrl() }, { secretsUrl: at.keysUrl() }]) {
        await expect(openEmbedded({ folder, ...keys })).rejects.toMatchObject({ code: 'key-file-temporary' });
      }
      expect(existsSync(path.join(at.root, 'keys.json'))).toBe(false);
      for (const file of ['/run/other/key.json', '/tmp/key.json']) {
        expect(() => refuseTemporary('TIDEMARK_KEYS_URL', `file://${file}`, folder)).toThrow(file);
      }
      // Where containers' secrets are mounted.
      for (const file of ['/run/secrets/key.json', '/var/run/secrets/tidemark/key.json']) {
        refuseTemporary('TIDEMARK_KEYS_URL', `file://${file}`, folder);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('and where none ever was, a forged seal stops its own workflow alone', async () => {
    const host = await at.openIdle({ encryption: 'off' });
    const reported: unknown[] = [];
    const control = `"control":{"definition":"d","version":1,"rules":1,"partition":0,"placement":"shared","inputDigest":"${'ab'.repeat(32)}","tasks":[],"pinned":false,"shadow":false,"compensates":null}`;
    const place = `"tenant":"${DEFAULT_TENANT}","workflow":"forged","generation":1,"lamport":1,"epoch":0,"holder":"","ordinal":0,"atMs":1`;
    const header = `{"v":2,"id":"o",${place},"type":"WorkflowOpened",${control},"payload":"sealed","key":"${'0'.repeat(36)}"}`;
    await host.ports.log.append(0 as never, [{ value: Buffer.from(`${header}\n\u0000x`), type: 'WorkflowOpened' }]);
    await host.startCoordinator({ onError: (_, error) => reported.push(error) });
    const forged = () => host.ports.store.workflow(workflowId('forged'));
    await expect.poll(forged, { timeout: 20_000 }).toMatchObject({ status: 'parked', reason: 'key-missing' });
    expect(reported).not.toContainEqual(expect.objectContaining({ code: 'history-sealed' }));
  });

  it('what it wrote is missing, and not forgotten, while its key store is away; put back, it is read again', async () => {
    const host = await open();
    await run(host);
    await at.close(host);
    const keys = path.join(at.state, 'log', 'keys.sqlite');
    await rename(keys, path.join(at.root, 'copy.sqlite'));
    const without = await open();
    const missing = { name: 'CorruptError', code: 'key-missing', details: { workflow: ID } };
    await expect(without.ports.store.workflow(ID)).rejects.toMatchObject({
      ...missing,
      message: expect.stringContaining(keys),
    });
    await expect(outputOf(without)).rejects.toMatchObject(missing);
    await at.close(without);
    await rename(path.join(at.root, 'copy.sqlite'), keys);
    expect(await outputOf(await open())).toEqual(WHOLE);
  });

  it('what is destroyed is forgotten everywhere; who, when and how much stays', async () => {
    const host = await open();
    await run(host);
    expect(await host.keys!.data.destroy({ workflow: ID })).toBeGreaterThan(0);
    await at.close(host);
    const after = await open();
    expect(await after.ports.store.workflow(ID)).toMatchObject({ status: 'completed', result: '{}' });
    const [opening] = await after.ports.store.checkpoints(ID, { from: 0 as never, limit: 1 });
    expect(opening?.payload).toBe('{}');
  });

  it('what is destroyed while it is open needs a person, who can cancel it, and disturbs nobody else', async () => {
    const host = await open();
    await host.startWorker({ definitions: [waiting], concurrency: 4 });
    for (const id of [ID, 'other']) await host.client.start(waiting, SECRET, { id });
    const run = host.client.run(ID);
    await expect.poll(async () => (await run.summary())?.sequence).toBe(1);
    expect(await host.keys!.data.destroy({ workflow: ID })).toBe(1);
    await at.close(host);
    const after = await open();
    await after.startWorker({ definitions: [waiting], concurrency: 4 });
    const again = after.client.run(ID);
    for (const id of [ID, 'other']) await after.client.signal(id, 'go', { on: true });
    expect(await after.client.run('other').result()).toBe(SECRET);
    await expect.poll(() => again.summary()).toMatchObject({ status: 'parked', reason: 'history-forgotten' });
    await after.client.cancel(ID, { by: 'ana', why: 'forgotten' });
    await expect.poll(() => again.summary()).toMatchObject({ status: 'failed', reason: 'cancelled' });
  });
});

it('without a key what was said is there for everybody: the control', async () => {
  const host = await open('');
  await run(host);
  await at.close(host);
  expect(await at.filesWith(SECRET)).not.toEqual([]);
});

it('a task that failed goes on by itself on a new build: the decision has nothing to encrypt', async () => {
  let isBroken = true;
  const mended = defineWorkflow({
    name: 'mended',
    version: 1,
    onFailure: 'retry-on-new-build',
    retry: { attempts: 1 },
    input: z.object({}),
    belief: z.object({}),
    output: z.object({ said: z.string() }),
    tasks: { say: z.object({}) },
    flow: { say: [] },
    begin: () => ({ belief: {}, next: [task('say', {})] }),
    steps: {
      say: () => {
        if (isBroken) throw new TypeError(SECRET);
        return { done: { said: 'mended' } };
      },
    },
  });
  const host = await open();
  await host.startWorker({ definitions: [mended], concurrency: 4, build: 'one' });
  await host.client.start(mended, {}, { id: ID });
  await expect.poll(() => host.client.run(ID).summary()).toMatchObject({ status: 'parked' });
  await at.close(host);
  isBroken = false;
  const after = await open();
  await after.startWorker({ definitions: [mended], concurrency: 4, build: 'two' });
  await expect.poll(() => after.client.run(ID).summary(), { timeout: 60_000 }).toMatchObject({ status: 'completed' });
});
