/**
 * Owns one life of the pipeline that `npm run chaos -- pipeline` kills: `node pipeline-process.ts STATE FOLDER DOCS STEP_MS`, where
 * STATE is `tidemark` or `none`. Each step tells a witness outside of Tidemark that it begins and that it has ended; what it
 * waits in between stands for a model's answer. A life that comes to its end leaves the output in FOLDER.
 */

import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as steps from '@tidemark/example-content-pipeline/steps';
import type { PipelineContext } from '@tidemark/sdk';
import { OUTPUT_FILE, STATE_FOLDER, TOKENS_PER_STEP, WITNESS_FILE } from './pipeline-limits.ts';

const [state, folder, docs, stepText] = process.argv.slice(2) as [string, string, string, string];
const stepMs = Number(stepText);

function announce(step: string, what: 'begin' | 'end'): void {
  // One small append is whole or not there at all, whenever the process is killed.
  appendFileSync(
    path.join(folder, WITNESS_FILE),
    `${JSON.stringify({ step, what, pid: process.pid, atMs: Date.now() })}\n`,
  );
  process.stdout.write('.');
}

const witnessed =
  <Input, Output>(name: string, run: (input: Input, ctx: PipelineContext) => Output | Promise<Output>) =>
  async (input: Input, ctx: PipelineContext): Promise<Output> => {
    announce(name, 'begin');
    const output = await run(input, ctx);
    ctx.tokens(TOKENS_PER_STEP);
    await new Promise((resolve) => setTimeout(resolve, stepMs));
    announce(name, 'end');
    return output;
  };

const collect = witnessed('collect', steps.collect);
const filter = witnessed('filter', steps.filter);
const draft = witnessed('draft', steps.draft);
const rewrite = witnessed('rewrite', steps.rewrite);
const format = witnessed('format', steps.format);

/** The same five functions, one after the other, as a script has them. */
async function withoutState(): Promise<string> {
  const ctx = { handoff: () => {}, tokens: () => {} } as unknown as PipelineContext;
  const articles = await filter(await collect({ folder: docs }, ctx), ctx);
  return format(await rewrite(await draft(articles, ctx), ctx), ctx);
}

async function withTidemark(): Promise<string> {
  // Here, since the script without state is to start as quickly as a script does.
  const { openEmbedded } = await import('@tidemark/host');
  const { pipeline } = await import('@tidemark/sdk');
  const content = pipeline('content', { collect, filter, draft, rewrite, format });
  const host = await openEmbedded({ folder: path.join(folder, STATE_FOLDER) });
  await host.startWorker({ definitions: [content], concurrency: 1 });
  const run = await host.client.start(content, { folder: docs }, { id: 'content' });
  return run.result();
}

const output = await (state === 'tidemark' ? withTidemark() : withoutState());
writeFileSync(path.join(folder, `${OUTPUT_FILE}.part`), output);
renameSync(path.join(folder, `${OUTPUT_FILE}.part`), path.join(folder, OUTPUT_FILE));
process.exit(0);
