/** A bug in a folder's workflow: the run waits with all that one needs to find it, and goes on by itself once the file was mended and the command started again. */

import { symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { holderId } from '@tidemark/core';
import { expect, test } from 'vitest';
import { readDefinitions } from './definitions.ts';
import { folderTarget } from './place/folder.ts';
import { holdFolder } from './place/held-folder.ts';
import { cliFolder } from './spawned-cli-fixture.ts';

const PACKAGES = path.resolve(import.meta.dirname, '../../../../node_modules');

const source = (act: string): string => `import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';

interface Order { readonly cents: number }

export const order = defineWorkflow({
  name: 'order',
  version: 1,
  onFailure: 'retry-on-new-build',
  retry: { attempts: 1 },
  input: z.object({}),
  belief: z.object({ planned: z.number() }),
  output: z.object({ planned: z.number(), cents: z.number() }),
  tasks: { plan: z.object({}), act: z.object({ cents: z.number() }) },
  flow: { plan: ['act'], act: [] },
  begin: () => ({ belief: { planned: 0 }, next: [task('plan', {})] }),
  steps: {
    plan: () => ({ belief: ({ planned }) => ({ planned: planned + 1 }), next: [task('act', { cents: 5 })] }),
    act: (ctx, order: Order) => {
      ${act}
    },
  },
});
`;
const BROKEN = source("throw new TypeError('no price for ' + order.cents);");
const MENDED = source('return { done: { planned: ctx.belief.planned, cents: order.cents } };');

test('a mended file and a new start: the run goes on where it failed, by itself', async (context) => {
  const cli = await cliFolder(context);
  const file = path.join(cli.folder, 'order.ts');
  await symlink(PACKAGES, path.join(cli.folder, 'node_modules'));
  await writeFile(file, BROKEN);
  await cli.call('run', 'order', '--workflows', 'order.ts', '--input', '{}', '--id', 'o1');
  const show = await cli.here('show', 'o1', '--json');
  const { question } = JSON.parse(show.out) as { question: { evidence: Record<string, unknown> } };
  expect(question.evidence).toMatchObject({ step: 'act', attempt: 1, input: { cents: 5 } });
  expect(question.evidence.build).toMatch(/^[0-9a-f]{16}$/);
  const line = BROKEN.split('\n').findIndex((text) => text.includes('throw new')) + 1;
  expect((question.evidence.stack as string[]).join('\n')).toContain(`order.ts:${line}:`);
  // For people: what failed, where, and with which input.
  const shown = await cli.here('show', 'o1');
  expect(shown.out).toContain('no price for 5');
  expect(shown.out).toContain(`order.ts:${line}:`);
  expect(shown.out).toContain('"cents": 5');
  expect(shown.out).toContain('resumes by itself');

  // The same code is no new build.
  const same = cli.start('dev', '--workflows', 'order.ts', '--port', '0');
  await same.says(/step-failed/);
  await same.says(/order v1|order {2,}v?1/);
  await writeFile(file, MENDED);
  await same.says(/warning: order\.ts: it has changed, and the code that was loaded keeps running/);
  await same.kill();
  const dev = cli.start('dev', '--workflows', 'order.ts', '--port', '0');
  await dev.says(/announced itself/);
  await dev.says(/completed|o1 .*done/);
  await dev.kill();
  const ended = await cli.here('show', 'o1', '--json');
  expect(JSON.parse(ended.out)).toMatchObject({ status: 'completed', output: { planned: 1, cents: 5 } });
});

test('a build that announced itself and is gone: what waits for it says so', async (context) => {
  const { folder, here } = await cliFolder(context);
  const file = path.join(folder, 'broken.ts');
  await symlink(PACKAGES, path.join(folder, 'node_modules'));
  await writeFile(file, BROKEN);
  const definitions = await readDefinitions([file], folder);
  const held = await holdFolder(folderTarget('.tidemark', { env: {}, cwd: folder }), { definitions });
  context.onTestFinished(() => held.close());
  await held.startWorker({ onError: () => {} });
  await held.serve('dev');
  const { liveness, store } = held.host.ports;
  const status = async () => (await store.search({ limit: 1 }))[0]?.status;
  await here('run', 'order', '--input', '{}', '--id', 'o1', '--detach');
  await expect.poll(status, { timeout: 60_000 }).toBe('parked');
  const canary = holderId('worker-canary');
  await liveness.beat(canary, [], 60_000, 60_000, { build: 'canary', serves: ['1 order'], routes: ['1 order'] });
  await expect.poll(status, { timeout: 60_000 }).toBe('open');
  await liveness.leave(canary);

  // What is there is looked at once a second.
  const waits = async () => JSON.parse((await here('show', 'o1', '--json')).out).waits_for;
  await expect.poll(waits, { timeout: 60_000 }).toMatchObject({
    ...{ kind: 'no-build', is_there: false, since: expect.any(String) },
    text: expect.stringMatching(/^waits for build canary: task 1\.0 failed on [0-9a-f]{16}$/),
    ends_by: expect.stringMatching(/^a worker of any build but [0-9a-f]{16}$/),
  });
  const shown = await here('show', 'o1');
  expect(shown.out).toMatch(/^waits for build canary: task 1\.0 failed on \w+, since \d\d:\d\d:\d\d \(/m);
  expect(shown.out).toMatch(/^Ends by a worker of any build but \w+, and none is there\.$/m);
  expect((await here('ls')).out).toMatch(/^o1 .* ready .* waits for build canary: /m);
  const [listed] = JSON.parse((await here('ls', '--json')).out).workflows;
  expect(listed.waits_for).toEqual(await waits());
});
