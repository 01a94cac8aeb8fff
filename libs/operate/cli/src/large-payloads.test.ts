/** Large payloads by command: told in sizes, shown like others, proved with the archive, and missed where they are damaged. */

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openEmbedded } from '@tidemark/host';
import { defineWorkflow, task } from '@tidemark/sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { callCli } from './called-cli-fixture.ts';

const SAID = 'much '.repeat(20_000);

const telling = defineWorkflow({
  name: 'telling',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({ said: z.string() }),
  tasks: { say: z.object({}) },
  flow: { say: [] },
  begin: () => ({ belief: {}, next: [task('say', {})] }),
  steps: { say: () => ({ done: { said: SAID } }) },
});

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'tidemark-large-cli-'));
  const host = await openEmbedded({ folder: path.join(cwd, 'state'), inlineMaxBytes: 10_000 });
  await host.startWorker({ definitions: [telling], concurrency: 1 });
  await (await host.client.start(telling, {}, { id: 'one' })).result();
  await host.close();
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const call = (...args: string[]) => callCli([...args, '--state', 'state'], { cwd, env: {} });
const json = async (...args: string[]) => JSON.parse((await call(...args, '--json')).out) as Record<string, unknown>;

it('are told, shown and proved', async () => {
  const { log_bytes, storage } = await json('du', '--by', 'workflow');
  expect(log_bytes).toBeLessThan(SAID.length);
  const [use] = storage as { name: string; hot_bytes: number }[];
  expect(use).toMatchObject({ name: 'one' });
  expect(use!.hot_bytes).toBeGreaterThan(SAID.length);
  expect(await json('show', 'one')).toMatchObject({ status: 'completed', output: { said: SAID } });

  const archived = () => json('admin', 'compact', '--older-than', '1s');
  await expect.poll(archived).toMatchObject({ segments: 1 });
  expect(await json('admin', 'verify')).toMatchObject({ problems: [] });

  const folder = path.join(cwd, 'state/blobs');
  const [name] = (await readdir(folder, { recursive: true })).filter((each) => /[0-9a-f]{64}.[0-9a-f]{64}$/.test(each));
  const bytes = await readFile(path.join(folder, name!));
  bytes[bytes.length >> 1]! ^= 1;
  await writeFile(path.join(folder, name!), bytes);
  const { code, err } = await call('admin', 'verify');
  expect(code).toBe(74);
  expect(err).toContain('blob-damaged');
});
