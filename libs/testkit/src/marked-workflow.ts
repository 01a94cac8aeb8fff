/**
 * Owns a workflow with a marker of its own in every place that holds content, for tests that search where content ended up. Names stay
 * readable whatever is encrypted (docs/encryption.md), so none contains a marker.
 */

import type { Client } from '@tidemark/runtime';
import {
  approval,
  defineEffect,
  defineWorkflow,
  FatalError,
  said,
  secret,
  signal,
  task,
  taskGoal,
  userMessage,
} from '@tidemark/sdk';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { testModel } from './test-model.ts';

export const PLACES = [
  ...['input', 'goal', 'message', 'belief', 'task', 'request', 'response', 'note', 'working', 'carried', 'output'],
  ...['fact', 'words', 'record', 'title', 'detail', 'answer', 'why', 'signal', 'prompt', 'model', 'large'],
  ...['result', 'error', 'card'],
] as const;
export type Place = (typeof PLACES)[number];

/** A unique word that no dictionary of Postgres shortens. */
export const marker = (who: string, place: Place | 'told'): string => `zq7${who}${place}k9qz`;

const book = defineEffect({
  operation: 'book',
  kind: 'idempotent',
  request: z.object({ who: z.string(), about: z.string() }),
  response: z.object({ receipt: z.string() }),
  call: ({ who }) => ({ receipt: marker(who, 'response') }),
  compensate: () => {},
});

/** Words of an effect or a step; `who` begins the markers. */
const model = () =>
  testModel(({ messages }) => {
    const [, who] = /zq7([a-z]+?)promptk9qz/.exec(JSON.stringify(messages)) ?? [];
    return { text: `${marker(who ?? '', 'model')}.` };
  });

const input = z.object({
  who: z.string(),
  about: z.string(),
  text: z.string(),
  card: secret(z.string()),
  falls: z.boolean(),
});

export const marked = defineWorkflow({
  name: 'marked',
  version: 1,
  onFailure: 'compensate',
  input,
  belief: z.object({ said: z.string() }),
  output: z.object({ said: z.string(), large: z.string() }),
  tasks: { say: z.object({ text: z.string() }), decide: z.object({}), listen: z.object({}), end: z.object({}) },
  flow: { say: ['decide'], decide: ['listen'], listen: ['end'], end: [] },
  effects: [book],
  signals: { news: z.object({ text: z.string() }) },
  approvals: { go: z.object({ note: z.string() }) },
  models: { default: model() },
  bundles: { reply: { budgetTokens: 4_000 } },
  phases: { work: { next: ['close'] }, close: {} },
  begin: ({ who }) => ({
    belief: { said: '' },
    next: [task('say', { text: marker(who, 'task') })],
    fragments: [taskGoal(marker(who, 'goal')), userMessage(marker(who, 'message'))],
  }),
  steps: {
    async say(ctx) {
      const { who, about } = ctx.input;
      ctx.log('noted', { text: marker(who, 'note') });
      await ctx.effect(book, { who, about: marker(who, 'request') });
      return {
        belief: () => ({ said: marker(who, 'belief') }),
        output: { text: marker(who, 'output') },
        memory: { working: marker(who, 'working') },
        memories: [
          {
            ...{ subject: about, kind: 'fact', key: `fact-${who}`, source: 'test' },
            ...{ value: { text: marker(who, 'fact') }, words: `It says: ${marker(who, 'words')}` },
          } as const,
          {
            ...{ subject: 'pipeline:q', kind: 'record', key: `record-${who}`, source: 'test' },
            ...{ value: { text: 'sealed' }, words: `${marker(who, 'record')} `.repeat(40) },
          } as const,
        ],
        next: [
          task(
            'decide',
            {},
            {
              when: approval('go', {
                assignee: 'user:carl',
                title: marker(who, 'title'),
                detail: { text: marker(who, 'detail') },
              }),
            },
          ),
        ],
      };
    },
    decide: ({ input: { who } }) => ({
      memory: { carried: marker(who, 'carried') },
      handOver: { to: 'close', carry: ['carried'], summary: marker(who, 'carried') },
      next: [task('listen', {}, { when: signal('news') })],
    }),
    async listen(ctx) {
      const { who } = ctx.input;
      const reply = await ctx.model({
        bundle: 'reply',
        prompt: marker(who, 'prompt'),
      });
      return { fragments: said(reply), next: [task('end', {})] };
    },
    end({ input: { who, falls } }) {
      if (falls) throw new FatalError(marker(who, 'error'));
      return { done: { said: marker(who, 'result'), large: largeText(marker(who, 'large')) } };
    },
  },
});

/** More than an event holds, and hardly compressible. */
function largeText(mark: string): string {
  let state = 1;
  let text = '';
  while (text.length < 20_000) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += state.toString(36);
  }
  return `${text}${mark}`;
}

export interface MarkedRun {
  /** Lower-case letters; begins the markers. */
  readonly who: string;
  readonly id: string;
  readonly user: string;
  /** The subject of its memories. */
  readonly about: string;
}

/** Runs one to its end, and another, `ID-falls`, that fails and is compensated; each in a session of its own. */
export async function runMarked(client: Client, run: MarkedRun): Promise<void> {
  await runOne(client, run, false);
  await runOne(client, { ...run, id: `${run.id}-falls` }, true);
}

async function runOne(client: Client, { who, id, user, about }: MarkedRun, falls: boolean) {
  const given = { who, about, text: marker(who, 'input'), card: marker(who, 'card'), falls };
  const started = await client.start(marked, given, { id, user, session: `session-${id}` });
  await eventually(async () => (await client.approvals({})).approvals.some(({ workflow }) => workflow === id));
  const [asked] = (await client.approvals({})).approvals.filter(({ workflow }) => workflow === id);
  await client.approve(id, asked!.task, {
    approved: true,
    by: 'carl',
    why: marker(who, 'why'),
    value: { note: marker(who, 'answer') },
  });
  await client.signal(id, 'news', { text: marker(who, 'signal') });
  await started.result().catch((error: { readonly code?: string }) => {
    if (error.code !== 'workflow-compensated') throw error;
  });
}
