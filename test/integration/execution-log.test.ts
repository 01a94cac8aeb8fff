/** The execution log of a run: a line for each action of a step, from the journal, with time, step, action, tokens and result. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { LOCAL_PRINCIPAL, LOCAL_URL } from '@tidemark/api/local';
import { localApi } from '@tidemark/api/local-api';
import { connect } from '@tidemark/client';
import { fileEffect } from '@tidemark/effects';
import { exportFiles, mirrorFiles } from '@tidemark/files';
import { openEmbedded } from '@tidemark/host';
import { defineEffect, defineWorkflow, NotDoneError, signal, task, tool, userMessage } from '@tidemark/sdk';
import { testModel } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

/** Made up, and of the form that services give out. */
const SECRET = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;

interface Line {
  readonly ts: string;
  readonly step: string | null;
  readonly action: string;
  readonly tokens: number | null;
  readonly result: unknown;
  readonly [field: string]: unknown;
}

async function world() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-log-'));
  const model = testModel((_, call) =>
    call === 1 ? { text: '', toolCalls: [{ id: 'c-1', name: 'search', input: { query: 'Ghent' } }] } : 'x'.repeat(900),
  );
  const report = fileEffect({
    operation: 'report.write',
    request: z.object({ name: z.string() }),
    path: ({ name }) => path.join(folder, name),
    content: () => 'By train.\n',
  });
  const mail = defineEffect({
    operation: 'mail.send',
    kind: 'idempotent',
    request: z.object({ fails: z.boolean() }),
    response: z.object({ id: z.string(), token: z.string() }),
    retry: { attempts: 1 },
    call: ({ fails }) => {
      if (fails) throw new NotDoneError('the address is unknown');
      return { id: 'm-1', token: SECRET };
    },
  });
  const agent = defineWorkflow({
    name: 'agent',
    version: 1,
    onFailure: 'fail',
    input: z.object({ fails: z.boolean(), waits: z.boolean().default(false) }),
    belief: z.object({}),
    output: z.object({}),
    signals: { go: z.null() },
    tasks: { research: z.object({}), publish: z.object({}) },
    flow: { research: ['publish'], publish: [] },
    models: { default: model },
    tools: {
      search: tool({ description: 'Searches.', input: z.object({ query: z.string() }), run: () => ({ found: 3 }) }),
    },
    bundles: { reply: { budgetTokens: 4_000 } },
    effects: [report, mail],
    begin: () => ({ belief: {}, next: [task('research', {})], fragments: [userMessage('How do I get there?')] }),
    steps: {
      async research(ctx) {
        const { toolCalls } = await ctx.model({ bundle: 'reply' });
        ctx.log('searching', { result: 'once', tokens: 5 });
        for (const call of toolCalls) await ctx.tool(call);
        await ctx.model({ bundle: 'reply' });
        const when = ctx.input.waits ? { when: signal('go') } : {};
        return { next: [task('publish', {}, when)], tokens: 7 };
      },
      async publish(ctx) {
        await ctx.effect(report, { name: `${ctx.workflow}.txt` });
        await ctx.effect(mail, { fails: ctx.input.fails });
        return { done: {} };
      },
    },
  });
  const host = await openEmbedded({ folder: path.join(folder, 'state') });
  onTestFinished(async () => {
    await host.close();
    await rm(folder, { recursive: true, force: true });
  });
  await host.startWorker({ definitions: [agent], concurrency: 4 });
  const api = localApi({ place: host, definitions: [agent], principal: LOCAL_PRINCIPAL });
  const client = connect({ url: LOCAL_URL, fetch: api.fetch, tries: 1 });
  const view = path.join(folder, 'view');
  /** What the folder says of the run. */
  const exported = async (workflow: string) => {
    const find = (value: unknown) =>
      JSON.stringify(value).includes(SECRET) ? [{ place: '/response', kind: 'github-token' }] : [];
    await exportFiles({ client, shown: { workflow }, folder: view, find });
    const text = await readFile(path.join(view, 'execution_log.jsonl'), 'utf8');
    const lines = text.trimEnd().split('\n');
    return { text, lines: lines.map((line) => JSON.parse(line) as Line), row: await client.run(workflow).get() };
  };
  const start = (fails: boolean, id: string, waits = false) => host.client.start(agent, { fails, waits }, { id });
  return { folder, view, client, exported, start };
}

const sum = (lines: readonly Line[]): number => lines.reduce((before, { tokens }) => before + (tokens ?? 0), 0);

it('has a line for each model call, tool call, written file and other effect', async () => {
  const { folder, exported, start } = await world();
  await (await start(false, 'run-1')).result();
  const { text, lines, row } = await exported('run-1');
  expect(lines.map(({ step, action }) => `${step} ${action}`)).toEqual([
    ...['research model_call', 'research searching', 'research tool_call', 'research model_call', 'research done'],
    ...['publish file_write', 'publish effect', 'publish done', 'null ended'],
  ]);
  const [asks, noted, searches, answers, done, written, mailed] = lines as Required<Line>[];
  expect(asks).toMatchObject({ operation: 'model', status: 'done', result: 'calls search' });
  expect(noted).toMatchObject({ result: 'once' });
  expect(searches).toMatchObject({ operation: 'tool.search', tokens: null, result: '{"found":3}' });
  expect(answers).toMatchObject({ result: `${'x'.repeat(200)}…` });
  expect(written).toMatchObject({
    ...{ operation: 'report.write', tokens: null, result: '10 bytes', path: path.join(folder, 'run-1.txt') },
    checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  // A secret in an answer is withheld, however it is shortened.
  expect(mailed).toMatchObject({ operation: 'mail.send', tokens: null, result: '[withheld: github-token]' });
  expect(text).not.toContain(SECRET);
  // Times are those of the actions, in order; tokens are the model calls' own, and the lines add up to the run's.
  const times = lines.map(({ ts }) => Date.parse(ts));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(asks!.tokens).toBeGreaterThan(0);
  expect(answers!.tokens).toBeGreaterThan(0);
  expect(done).toMatchObject({ tokens: 7, step_tokens: asks!.tokens! + answers!.tokens! + 7 });
  expect(sum(lines)).toBe(row.tokens);
});

it('tells the actions of a step that failed, and is read again by its own reader', async () => {
  const { view, exported, start } = await world();
  await (await start(true, 'run-2')).result().catch(() => {});
  const { text, lines } = await exported('run-2');
  expect(lines.map(({ step, action }) => `${step} ${action}`)).toEqual(
    expect.arrayContaining(['null file_write', 'null effect', 'null ended']),
  );
  expect(lines.find(({ operation }) => operation === 'mail.send')).toMatchObject({
    ...{ status: 'failed', tokens: null, result: expect.stringMatching(/^failed: .*the address is unknown/) },
  });
  expect((await exported('run-2')).text).toBe(text);

  // Lines that another program wrote are kept as they were given, its tokens among them.
  await rm(view, { recursive: true });
  await exported('run-2');
  const others =
    '{"ts":"2026-05-20T10:01:00+08:00","step":"1_collect","action":"web_search","tokens":1200,"items":15}\n';
  await rm(path.join(view, '.tidemark-files.json'));
  await writeFile(path.join(view, 'execution_log.jsonl'), others);
  expect((await exported('run-2')).text).toBe(others + text);
});

it('grows in a mirror with each step', async () => {
  const { view, client, start } = await world();
  const actions = async () => {
    const text = await readFile(path.join(view, 'execution_log.jsonl'), 'utf8').catch(() => '');
    return text.split('\n').flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as Line).action]));
  };
  const mirror = await mirrorFiles({ client, shown: { workflow: 'run-3' }, folder: view, periodMs: 50 });
  onTestFinished(() => mirror.close());
  await start(false, 'run-3', true);
  const research = ['model_call', 'searching', 'tool_call', 'model_call', 'done'];
  await expect.poll(actions, { timeout: 60_000 }).toEqual(research);
  await client.run('run-3').signal('go', null);
  const all = [...research, 'signal', 'file_write', 'effect', 'done', 'ended'];
  await expect.poll(actions, { timeout: 60_000 }).toEqual(all);
});
