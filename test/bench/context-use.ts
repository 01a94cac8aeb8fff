/**
 * Owns the measurement of what recall is worth, by its use: the labelled questions, each in a session of its own, with half of the sessions
 * in the control arm (`recall: { controlShare: 0.5 }`). What was found in earlier sessions is among the user's facts. The agent answers when
 * its prompt holds the fact; else it reads the user's earlier sessions again, some at a time, as one without memory would. By words alone.
 *
 * The model is a rule, so the figures are of steps and tokens that a real one would have been asked for, and say nothing of its quality.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DEFAULT_TENANT, recallArmOf } from '@tidemark/core';
import { openEmbedded } from '@tidemark/host';
import { defineWorkflow, said, task, taskGoal, userMessage } from '@tidemark/sdk';
import { testModel } from '@tidemark/testkit';
import { z } from 'zod';
import { readLabelledSet } from './recall/labelled-set.ts';
import type { Report } from './report.ts';

/** Earlier sessions that the agent reads in one step. */
const READ_COUNT = 10;

/** Adds `context.use.*` to the report. */
export async function measureUse(report: Report): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-use-'));
  const { summaries, queries } = readLabelledSet();
  const labelled = new Map(queries.map((query) => [query.query, query]));
  const earlier = (user: string) => summaries.filter((one) => one.user === user).map(({ summary }) => summary);
  const model = testModel(({ messages }) => {
    const text = JSON.stringify(messages);
    // All that it sees to the questions that it sees: the user's earlier ones are among what is recalled.
    const found = queries.filter(({ query, fact }) => text.includes(query) && text.includes(fact));
    return found.map(({ fact }) => fact).join('; ');
  });
  const agent = defineWorkflow({
    name: 'recaller',
    version: 1,
    input: z.object({ question: z.string(), user: z.string() }),
    belief: z.object({}),
    output: z.object({ known: z.boolean() }),
    tasks: { answer: z.object({ page: z.int() }) },
    flow: { answer: ['answer'] },
    models: { default: model },
    bundles: { reply: { budgetTokens: 16_000 } },
    recall: { controlShare: 0.5 },
    repeatsMax: 1_000,
    begin: ({ question }) => ({
      belief: {},
      next: [task('answer', { page: 0 })],
      fragments: [taskGoal(question), userMessage(question)],
    }),
    steps: {
      async answer(ctx, { page }) {
        const reply = await ctx.model({ bundle: 'reply' });
        const isKnown = reply.text.includes(labelled.get(ctx.input.question)!.fact);
        const read = earlier(ctx.input.user).slice(page * READ_COUNT, (page + 1) * READ_COUNT);
        if (isKnown || read.length === 0) return { done: { known: isKnown }, fragments: said(reply) };
        const seen = userMessage(`Earlier sessions: ${JSON.stringify(read)}`);
        return { next: [task('answer', { page: page + 1 })], fragments: [...said(reply), seen] };
      },
    },
  });
  const host = await openEmbedded({ folder });
  try {
    const { client } = host;
    for (const { user, relevant, fact } of queries) {
      const { task_description: of } = earlier(user).find(({ session_id }) => session_id === relevant[0])!;
      await client.memory.facts(DEFAULT_TENANT, `user:${user}`).remember(`${of}: ${fact}`, { source: relevant[0]! });
    }
    await host.startWorker({ definitions: [agent], concurrency: 4 });
    const arms = { injected: [] as number[][], control: [] as number[][] };
    for (const [at, { query: question, user }] of queries.entries()) {
      const run = await client.start(agent, { question, user }, { session: `use-${at}`, user });
      const { known } = await run.result();
      const { tags, sequence, tokens, openedAtMs, updatedAtMs } = (await run.summary())!;
      arms[recallArmOf(tags)!].push([sequence, tokens, updatedAtMs - openedAtMs, Number(known)]);
    }
    for (const [arm, of] of Object.entries(arms)) {
      const mean = (which: number): number => of.reduce((sum, one) => sum + one[which]!, 0) / of.length;
      report.note(`context: ${of.length} sessions with recall ${arm}`);
      report.add(`context.use.${arm}.steps`, mean(0), 'steps');
      report.add(`context.use.${arm}.tokens`, mean(1), 'tokens');
      report.add(`context.use.${arm}.ms`, mean(2), 'ms');
      report.add(`context.use.${arm}.known`, mean(3), 'share');
    }
  } finally {
    await host.close();
    await rm(folder, { recursive: true, force: true });
  }
}
