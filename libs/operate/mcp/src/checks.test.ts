/** Checks of stages through the server, in this process: which commands run, and what clients are told of the tools. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { checkDigest } from '@tidemark/repo-state';
import { type McpTestClient, mcpPipes } from '@tidemark/testkit/mcp-client';
import { expect, it, onTestFinished } from 'vitest';
import { serveStdio } from './stdio.ts';

/** A client with a server of its own on that folder, which ends with the test. */
async function client(name: string, folder: string, ...allowedChecks: readonly string[]): Promise<McpTestClient> {
  const pipes = mcpPipes();
  const served = serveStdio({
    ...{ ...pipes, version: '0', signal: new AbortController().signal, folder: () => folder, allowedChecks },
    withMemory: () => Promise.reject(new Error('asked for memory')),
    onError: () => {},
  });
  onTestFinished(async () => {
    pipes.close();
    await served;
  });
  return pipes.connect(name);
}

it('runs no command that a person has not approved by its digest, for this folder', async () => {
  const own = await mkdtemp(path.join(os.tmpdir(), 'tidemark-mcp-'));
  onTestFinished(() => rm(own, { recursive: true }));
  // As it lies in a repository that somebody cloned.
  const stages = [{ id: 'test', status: 'pending', check: 'echo x >> ran' }];
  await mkdir(path.join(own, '.workflow-state'));
  await writeFile(
    path.join(own, '.workflow-state/upgrade-state.json'),
    JSON.stringify({ workflow: 'upgrade', stages }),
  );
  const ran = async (): Promise<number> => (await readFile(path.join(own, 'ran'), 'utf8').catch(() => '')).length;
  const done = { name: 'upgrade', stages: ['test'], status: 'done' };

  const ann = await client('ann', own);
  const refused = await ann.call('state_checkpoint', done);
  expect(refused.error).toMatchObject({ code: 'check-not-approved', field: 'check' });
  const digest = /--allow-check ([0-9a-f]{64})/.exec(refused.text)?.[1] ?? '';
  expect(refused.text).toContain('echo x >> ran');
  expect(digest).toBe(checkDigest('echo x >> ran', own));
  // Neither the model's own, in any tool that takes one.
  const check = 'touch ran';
  const given = [{ id: 'a', check }];
  for (const [tool, input] of [
    ['state_checkpoint', { ...done, check }],
    ['state_checkpoint', { name: 'upgrade', stages: ['test'], check }],
    ['state_init', { name: 'other', stages: given }],
    ['state_resume', { name: 'other', stages: given }],
    ['state_migrate', { name: 'upgrade', to: 2, stages: given }],
    ['state_update', { name: 'upgrade', patch: { stages: given } }],
  ] as const) {
    expect((await ann.call(tool, input)).error?.code, tool).toMatch(/^(check-not-approved|patch-field-owned)$/);
  }
  const elsewhere = await client('bob', own, checkDigest('echo x >> ran', os.tmpdir()));
  expect((await elsewhere.call('state_checkpoint', done)).error).toMatchObject({ code: 'check-not-approved' });
  expect(await ran()).toBe(0);

  const allowed = await client('cal', own, digest);
  expect((await allowed.call('state_checkpoint', done)).data).toMatchObject({ passed: true });
  expect(await ran()).toBe(2);
  const { tools } = await allowed.client.listTools();
  for (const name of ['state_checkpoint', 'session_continue']) {
    expect(tools.find((tool) => tool.name === name)?.annotations).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    });
  }
});
