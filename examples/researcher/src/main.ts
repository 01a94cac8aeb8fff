// `node examples/researcher/src/main.ts [QUESTION] [FOLDER] [--pause 500ms] [--state .tidemark] [--session ID] [--user NAME]`: answers a question about a folder of
// text files. End it anywhere, also with kill -9, and run it again: it goes on with what it knew. Asked again, it gives the recorded answer.

import { createHash } from 'node:crypto';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openEmbedded } from '@tidemark/host';
import type { Run } from '@tidemark/runtime';
import { modelOf } from './model-choice.ts';
import { researcher } from './researcher.ts';

const POLL_PERIOD_MS = 100;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pause: { type: 'string', default: '0ms' },
    state: { type: 'string', default: '.tidemark' },
    session: { type: 'string' },
    user: { type: 'string', default: 'me' },
  },
});
const [question = 'What happens to an irreversible effect when its worker dies?', given = 'docs'] = positionals;
const folder = path.resolve(given);
const id = `research-${createHash('sha256').update(`${question}\n${folder}`).digest('hex').slice(0, 8)}`;
const { provider, modelId } = modelOf(process.env);

const host = await openEmbedded({ folder: values.state });
try {
  await host.startWorker({
    definitions: [researcher],
    concurrency: 4,
    onResume: ({ workflow, sequence }) =>
      sequence > 0 && console.log(`${workflow} resumes from checkpoint ${sequence}.`),
  });
  console.log(
    `${question}\nFolder: ${given}. Model: ${provider} ${modelId}${provider === 'rule' ? ' (no model in the environment: it answers by rule)' : ''}.`,
  );
  const run = await host.client.start(
    researcher,
    { question, folder, pauseMs: millisecondsOf(values.pause) },
    { id, session: values.session ?? id, user: values.user },
  );
  const { answer, sources } = await followed(run);
  console.log(`\n${answer}\n`);
  for (const [at, source] of sources.entries()) console.log(`[${at + 1}] ${path.join(given, source)}`);
  console.log(
    `\nEvery model call, as it was: npm run -s tidemark -- bundle ${id}${values.state === '.tidemark' ? '' : ` --state ${values.state}`}`,
  );
} finally {
  await host.close();
}

/** Tells each checkpoint, and gives the output. */
async function followed<Output>(run: Run<Output>): Promise<Output> {
  let reported = 0;
  let isOver = false;
  const output = run.result().finally(() => {
    isOver = true;
  });
  output.catch(() => {}); // It is awaited below.
  for (;;) {
    const isLast = isOver;
    for (const { sequence, step, lastAction } of await run.checkpoints(reported + 1)) {
      console.log(`#${sequence} ${step}${lastAction === step ? '' : `: ${lastAction}`}`);
      reported = sequence;
    }
    if (isLast) return output;
    await wait(POLL_PERIOD_MS);
  }
}

/** `500ms`, `2s`. */
function millisecondsOf(text: string): number {
  const [, count, unit] = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text) ?? [];
  if (count === undefined) throw new Error(`--pause is '${text}': give a time, such as 500ms or 2s.`);
  return Math.round(Number(count) * (unit === 's' ? 1_000 : 1));
}
