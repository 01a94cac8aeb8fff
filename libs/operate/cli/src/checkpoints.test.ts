/** What became of checkpoints, and what memory held right after each, on the command line. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { callCli } from './called-cli-fixture.ts';
import { type HeldFolder, holdFolder } from './place/held-folder.ts';

const book = defineEffect({
  operation: 'book',
  kind: 'idempotent',
  request: z.object({}),
  response: z.object({}),
  call: async () => ({}),
  compensate: async () => {},
});
/** Two phases; corrects its first checkpoint, books, and fails. */
const essay = defineWorkflow({
  name: 'essay',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  system: 'You write.',
  tasks: { gather: z.object({}), sort: z.object({}), write: z.object({}) },
  flow: { gather: ['sort'], sort: ['write'], write: [] },
  effects: [book],
  onFailure: 'compensate',
  retry: { attempts: 1 },
  phases: { research: { next: ['text'], budgetTokens: 500 }, text: {} },
  begin: () => ({ belief: {}, next: [task('gather', {})] }),
  steps: {
    gather: () => ({ memory: { notes: 'moon', scratch: 'a dead end' }, next: [task('sort', {})] }),
    async sort(ctx) {
      await ctx.effect(book, {});
      return {
        handOver: { to: 'text', carry: ['notes'], summary: 'Two causes.' },
        supersedes: 1,
        next: [task('write', {})],
      };
    },
    write: () => {
      throw new Error('no ink');
    },
  },
});

let cwd: string;
let held: HeldFolder;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(os.tmpdir(), 'tidemark-checkpoints-'));
  const folder = path.join(cwd, '.tidemark');
  held = await holdFolder({ kind: 'embedded', folder, shown: '.tidemark', env: {} }, { definitions: [essay] });
  await held.startWorker({ onError: () => {} });
  await held.serve('dev');
  await (await held.host.client.start(essay, {}, { id: 'e1' })).result().catch(() => {});
});
afterAll(async () => {
  await held.close();
  await rm(cwd, { recursive: true });
});

const said = async (...args: string[]) => {
  const { code, out, err } = await callCli(args, { cwd });
  expect([code, err]).toEqual([0, '']);
  return out;
};

it('show --checkpoints says what became of each, and which one it corrects', async () => {
  const out = await said('show', 'e1', '--checkpoints');
  expect(out).toMatch(/^ +1 .* superseded by #2 +gather$/m);
  expect(out).toMatch(/^ +2 .* compensated +sort \(corrects #1\)$/m);
});

it('show tells working memory as it is, and --at as it was', async () => {
  expect(await said('show', 'e1')).toMatch(
    /^Working memory of phase text: 1 key, \d+ of 4,000 tokens\n {2}\{\n {4}"notes": "moon"\n {2}\}\n {2}system context: system; trace: 2 checkpoints$/m,
  );
  const before = await said('show', 'e1', '--at', '1');
  expect(before).toMatch(/^Working memory of phase research: 2 keys, \d+ of 500 tokens$/m);
  expect(before).toContain('"scratch": "a dead end"');
  expect(before).toMatch(/^ {2}#1 gather \(task 0\.0\), superseded by #2: gather$/m);
  expect(JSON.parse(await said('show', 'e1', '--at', '2', '--json'))).toMatchObject({
    memory_scope_snapshot: {
      system_context: { keys: ['system'] },
      working_memory: { phase: 'text', keys: ['notes'], budget_tokens: 4_000 },
      trace: { length: 2 },
    },
    working_memory: { notes: 'moon' },
  });
});

it('show --handovers lists hand-overs between phases and compares their keys', async () => {
  expect(await said('show', 'e1', '--handovers')).toMatch(
    /^ +2 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +v1 +research → text +notes +scratch +notes *$/m,
  );
  expect(JSON.parse(await said('show', 'e1', '--against', '2', '--json'))).toMatchObject({
    handovers: [{ sequence_number: 2, against: 2, added_keys: [], removed_keys: [], kept_keys: ['notes'] }],
  });
  const { code, err } = await callCli(['show', 'e1', '--against', '1'], { cwd });
  expect([code, err]).toEqual([65, expect.stringContaining('against: checkpoint 1 of e1 handed nothing over')]);
});
