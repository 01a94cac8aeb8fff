/** A model's answer and an HTTP response of 2 MB each, on the embedded default: recorded once, and found again after a restart. */

import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { model } from '@tidemark/ai';
import { httpEffect } from '@tidemark/effects';
import { type Host, openEmbedded } from '@tidemark/host';
import { defineWorkflow, task } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

const TIMEOUT_MS = 180_000;
const ANSWER = 'a'.repeat(2_000_000);
const BODY = JSON.stringify({ page: 'b'.repeat(2_000_000) });

/** How often each was really asked, and whether the step may go on. */
let asked: { model: number; http: number };
let failures: number;
let isAgain: boolean;
beforeEach(() => {
  asked = { model: 0, http: 0 };
  failures = 0;
  isAgain = false;
});

const large = model(
  {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'large',
    supportedUrls: {},
    doGenerate: async () => {
      asked.model++;
      return {
        content: [{ type: 'text', text: ANSWER }],
        finishReason: { unified: 'stop', raw: 'stop' },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 5, text: 5, reasoning: 0 },
        },
        warnings: [],
      };
    },
    doStream: () => Promise.reject(new Error('It is not asked for a stream.')),
  },
  { maxOutputTokens: 1_000 },
);

function workflow(url: string) {
  const page = httpEffect({
    operation: 'page.get',
    kind: 'irreversible',
    request: z.object({}),
    response: z.object({ page: z.string() }),
    send: () => ({ url, method: 'POST', json: {} }),
  });
  return defineWorkflow({
    name: 'reader',
    version: 1,
    input: z.object({}),
    belief: z.object({ kept: z.string() }),
    output: z.object({ answer: z.string(), page: z.string(), kept: z.string() }),
    tasks: { read: z.object({}), say: z.object({ page: z.string() }) },
    flow: { read: ['say'], say: [] },
    effects: [page],
    models: { default: large },
    begin: () => ({ belief: { kept: '' }, next: [task('read', {})] }),
    steps: {
      read: {
        retry: { attempts: 1_000, firstDelayMs: 50, factor: 1, jitter: 0 },
        run: async (ctx) => {
          const { text } = await ctx.model({ prompt: 'Write it all down.' });
          const response = await ctx.effect(page, {});
          if (!isAgain) {
            failures++;
            // Each failure is another one: the same too often would ask a person.
            throw Object.assign(new Error('not yet'), { code: `not-yet-${failures}` });
          }
          return { belief: () => ({ kept: text }), next: [task('say', { page: response.page })] };
        },
      },
      say: async (ctx, { page: text }) => ({ done: { answer: ctx.belief.kept, page: text, kept: ctx.belief.kept } }),
    },
  });
}

async function pages(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      asked.http++;
      response.end(BODY);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it(
  'are used by the step, and asked for once, though its host is closed and opened between',
  async () => {
    const definition = workflow(await pages());
    const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-large-'));
    let host: Host | undefined;
    onTestFinished(async () => {
      await host?.close();
      await rm(folder, { recursive: true, force: true });
    });
    const open = async (): Promise<Host> => {
      host = await openEmbedded({ folder });
      await host.startWorker({ definitions: [definition], concurrency: 4 });
      return host;
    };
    const first = await open();
    await first.client.start(definition, {}, { id: 'w' });
    await eventually(() => failures > 0);
    await first.close();
    host = undefined;

    isAgain = true;
    const second = await open();
    const { answer, page } = await second.client.run<{ answer: string; page: string }>('w').result();
    expect([answer === ANSWER, page === JSON.parse(BODY).page]).toEqual([true, true]);
    expect(asked).toEqual({ model: 1, http: 1 });
  },
  TIMEOUT_MS,
);
