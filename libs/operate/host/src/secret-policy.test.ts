/** The policy on secrets of a process: by its setting, and told once for each place and kind. */

import { ConfigError } from '@tidemark/core';
import { defineWorkflow, secret, task } from '@tidemark/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { onSecretFromEnv } from './config.ts';
import { FolderFixture } from './folder-fixture.ts';
import { secretPolicy } from './secret-policy.ts';

const TOKEN = `gh${'p_'}${'q7Zr2mX9wK4v'.repeat(3)}`;

describe('the setting', () => {
  it('is report, mask or refuse, and report by default', () => {
    expect(onSecretFromEnv({})).toBe('report');
    expect(onSecretFromEnv({ TIDEMARK_ON_SECRET: 'refuse' })).toBe('refuse');
    expect(() => onSecretFromEnv({ TIDEMARK_ON_SECRET: 'off' })).toThrow(ConfigError);
  });
});

it('warns once of each place and kind, items of a list being one', () => {
  const onWarning = vi.fn();
  const { onStored } = secretPolicy('report', onWarning);
  const found = { definition: 'refund', where: 'belief', field: 'belief', kind: 'github-token' } as const;
  for (const place of ['/notes/0/text', '/notes/17/text', '/apiKey', '/notes/2/text']) onStored!({ ...found, place });
  expect(onWarning.mock.calls.map(([code, message]) => [code, message.split(':')[0]])).toEqual([
    ['secret-stored', 'refund, belief/notes/*/text'],
    ['secret-stored', 'refund, belief/apiKey'],
  ]);
  onStored!({ ...found, place: '/pages/3', kind: 'too-large-to-search' });
  expect(onWarning.mock.lastCall![1]).toMatch(/^refund, belief\/pages\/\*: this is too large to be searched/);
});

describe('in a folder', () => {
  let at: FolderFixture;
  beforeEach(async () => {
    at = await FolderFixture.make();
  });
  afterEach(() => at.end());

  const input = z.object({ password: secret(z.string()), note: z.string() });
  const login = defineWorkflow({
    ...{ name: 'login', version: 1, input, belief: input, output: z.string() },
    tasks: { one: z.object({}) },
    flow: { one: [] },
    begin: (given) => ({ belief: given, next: [task('one', {})] }),
    steps: { one: ({ belief, input: { note } }) => ({ done: `${belief.password.length} ${note}` }) },
  });

  it('fields in secret() are exempt, and what stands beside them is not', async () => {
    const host = await at.open({ secretsUrl: at.keysUrl('secrets'), onSecret: 'refuse' });
    await host.startWorker({ definitions: [login], concurrency: 4 });
    const run = await host.client.start(login, { password: TOKEN, note: 'ok' });
    expect(await run.result()).toBe(`${TOKEN.length} ok`);
    await expect(host.client.start(login, { password: TOKEN, note: TOKEN })).rejects.toMatchObject({
      code: 'secret-found',
      message: expect.stringContaining('/note (github-token)'),
    });
    expect(await at.filesWith(TOKEN)).toEqual([]);
  });

  it('what is only reported is told of', async () => {
    const onWarning = vi.fn();
    const host = await at.open({ secretsUrl: at.keysUrl('secrets'), onWarning });
    await host.startWorker({ definitions: [login], concurrency: 4 });
    await (await host.client.start(login, { password: 'x', note: TOKEN })).result();
    const warnings = onWarning.mock.calls.map(([code, message]) => `${code} ${message}`);
    expect(warnings).toContainEqual(expect.stringMatching(/^secret-stored login, input\/note: .*github-token/));
    expect(warnings.join()).not.toContain(TOKEN);
  });
});
