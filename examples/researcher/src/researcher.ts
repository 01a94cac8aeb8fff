// The agent: it thinks with a model, acts with tools, and when it knows enough, writes. Everything it was told, said and did is in
// checkpoints, so whoever goes on after a crash thinks with the same words.

import { setTimeout as wait } from 'node:timers/promises';
import { constraint, defineWorkflow, said, task, taskGoal, tool, toolResult, userMessage } from '@tidemark/sdk';
import { z } from 'zod';
import { read, search } from './library.ts';
import { modelOf } from './model-choice.ts';

const ROUNDS_MAX = 12;
const CALLS_AT_ONCE = 4;
/** Tools see their own input alone, so the step puts the folder into it, over whatever a model says there. */
const folder = z.string().default('').describe('Leave it out.');

export const researcher = defineWorkflow({
  name: 'researcher',
  version: 1,
  input: z.object({ question: z.string().min(1), folder: z.string().min(1), pauseMs: z.int().min(0).default(0) }),
  belief: z.object({ rounds: z.int() }),
  output: z.object({ answer: z.string(), sources: z.array(z.string()) }),
  tasks: {
    think: z.object({}),
    act: z.object({ id: z.string(), name: z.string(), input: z.record(z.string(), z.json()) }),
    write: z.object({}),
  },
  flow: { think: ['act', 'think', 'write'], act: [], write: [] },
  starts: ['think'],
  models: { default: modelOf(process.env) },
  tools: {
    search: tool({
      description: 'Finds passages by words. Each line begins with the source, by which the passage can be read.',
      input: z.object({ words: z.string(), folder }),
      run: (input) => search(input.folder, input.words),
    }),
    read: tool({
      description: 'Reads the passage of a source that search has named, such as effects.md:12.',
      input: z.object({ source: z.string(), folder }),
      run: (input) => read(input.folder, input.source),
    }),
  },
  system: 'You research a folder of text files. Search it, read passages, and stop as soon as you can answer.',
  phases: {
    research: { next: ['write'], budgetTokens: 12_000 },
    write: { memory: z.record(z.string(), z.string()), budgetTokens: 12_000 },
  },
  bundles: {
    investigate: { budgetTokens: 3_000 },
    write: { budgetTokens: 16_000, lanes: { working_memory: 0.9, messages: 0.1 } },
  },
  begin: ({ question }) => ({
    belief: { rounds: 0 },
    next: [task('think', {})],
    fragments: [
      taskGoal(`Answer from the files alone: ${question}`),
      constraint('Cite only sources that were read.'),
      userMessage(question),
    ],
  }),
  steps: {
    async think(ctx) {
      await pause(ctx);
      const reply = await ctx.model({ bundle: 'investigate' });
      const calls = reply.toolCalls.slice(0, CALLS_AT_ONCE);
      if (calls.length > 0 && ctx.belief.rounds < ROUNDS_MAX) {
        return {
          belief: ({ rounds }) => ({ rounds: rounds + 1 }),
          fragments: said({ ...reply, toolCalls: calls }),
          next: [
            ...calls.map(({ id, name, input }) => task('act', { id, name, input: inputOf(input) })),
            task('think', {}, { after: 'all' }),
          ],
        };
      }
      const summary = `${ctx.memory.keys.length} passages were read; they are in working memory, by source.`;
      return {
        fragments: said({ text: reply.text, toolCalls: [] }),
        handOver: { to: 'write', carry: ctx.memory.keys, summary },
        next: [task('write', {})],
      };
    },
    async act(ctx, { id, name, input }) {
      await pause(ctx);
      const call = { id, name, input: { ...input, folder: ctx.input.folder } };
      const outcome = await ctx.tool(call);
      const isRead = name === 'read' && !outcome.isError;
      return {
        lastAction: `${name} ${input.words ?? input.source ?? ''}`,
        fragments: [toolResult(call, outcome)],
        ...(isRead && { memory: { [String(input.source)]: outcome.text } }),
      };
    },
    async write(ctx) {
      await pause(ctx);
      const { object } = await ctx.model({
        bundle: 'write',
        schema: z.object({ answer: z.string(), sources: z.array(z.string()) }),
      });
      // What a model says it has read counts only where it has.
      const sources = object.sources.filter((source) => ctx.memory.keys.includes(source));
      return { done: { answer: object.answer, sources }, fragments: said({ text: object.answer, toolCalls: [] }) };
    },
  },
});

/** So that there is time to watch, and to end the process. */
const pause = ({ input, signal }: { readonly input: { readonly pauseMs: number }; readonly signal: AbortSignal }) =>
  wait(input.pauseMs, undefined, { signal });

/** A model may give anything. */
const inputOf = (input: unknown): Record<string, never> =>
  typeof input === 'object' && input !== null && !Array.isArray(input) ? (input as Record<string, never>) : {};
