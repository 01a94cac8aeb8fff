/** Resuming a session by its id: the live workflow is answered; where all have ended the next one starts, once, and sees what was said. */

import { connect } from '@tidemark/client';
import { agentMessage, defineWorkflow, secret, task, userMessage } from '@tidemark/sdk';
import { testModel } from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { asking, greet, patient, type Served, sayingAuthenticator, serveApi } from './served.ts';

const model = testModel((_, call) => `Answer ${call}.`);
/** Answers one question by a model that sees the session. */
const assistant = defineWorkflow({
  name: 'assistant',
  version: 1,
  input: z.object({ question: z.string() }),
  belief: z.object({}),
  output: z.object({ answer: z.string() }),
  tasks: { answer: z.object({}) },
  flow: { answer: [] },
  models: { default: model },
  bundles: { reply: { budgetTokens: 4_000 } },
  begin: ({ question }) => ({ belief: {}, next: [task('answer', {})], fragments: [userMessage(question)] }),
  steps: {
    async answer(ctx) {
      const { text } = await ctx.model({ bundle: 'reply' });
      return { done: { answer: text }, fragments: [agentMessage(text)] };
    },
  },
});

const cards: string[] = [];
const paying = defineWorkflow({
  name: 'paying',
  version: 1,
  input: z.object({ card: secret(z.string()) }),
  belief: z.object({}),
  output: z.object({}),
  tasks: { pay: z.object({}) },
  flow: { pay: [] },
  begin: () => ({ belief: {}, next: [task('pay', {})] }),
  steps: {
    pay({ input }) {
      cards.push(input.card);
      return { done: {} };
    },
  },
});

let served: Served;
beforeAll(async () => {
  served = await serveApi({
    authenticator: sayingAuthenticator,
    secrets: true,
    definitions: [greet, patient, asking, assistant, paying],
  });
});
afterAll(() => served.close());

const as = (who: string) => connect({ url: served.url, token: who, tries: 1 });
const resume = (session: string, body: { definition?: string; input?: unknown } = {}, who = 'operator acme') =>
  as(who).ask('POST /v1/sessions/{session}/resume', { params: { session }, body });
const start = (definition: string, input: unknown, session: string, id: string) =>
  as('operator acme').start(definition, input, { id, session, user: 'ana' });
/** How it stands once it has ended or asks. */
const ended = (workflow: string) =>
  as('operator acme').ask('GET /v1/workflows/{workflow}/result', { params: { workflow }, query: { wait_ms: 20_000 } });

it('answers the live workflow and how it stands: waiting, paused, or in need of a person', async () => {
  const run = await start('patient', {}, 'live', 'live-1');
  await run.get();
  const live = await resume('live', { definition: 'greet', input: { name: 'Eve' } });
  expect(live).toMatchObject({
    workflow: 'live-1',
    created: false,
    session: { user: 'ana', is_live: true, workflow: { workflow: 'live-1', status: 'open', definition: 'patient' } },
  });
  await run.pause('later');
  const { workflow } = (await resume('live')).session;
  expect(workflow).toMatchObject({ workflow: 'live-1', status: 'open', reason: 'paused' });

  await start('asking', { cents: 5 }, 'asks', 'asks-1');
  await ended('asks-1');
  const asks = await resume('asks');
  expect(asks).toMatchObject({ workflow: 'asks-1', created: false });
  expect(asks.session.workflow?.question?.resolutions).toEqual(expect.arrayContaining(['done', 'not-done']));
});

it('starts the next workflow of a session that has ended, which sees what was said before', async () => {
  await start('assistant', { question: 'Where is Ghent?' }, 'talk', 'talk-1');
  await ended('talk-1');
  const next = await resume('talk', { input: { question: 'How far is that?' } });
  expect(next).toMatchObject({ created: true, session: { user: 'ana', workflow: { definition: 'assistant' } } });
  expect(next.workflow).not.toBe('talk-1');
  expect(next.session.earlier).toMatchObject([{ workflow: 'talk-1', status: 'completed' }]);
  expect(await ended(next.workflow)).toMatchObject({ status: 'completed', output: { answer: 'Answer 2.' } });
  const seen = JSON.stringify(model.prompts[1]?.messages);
  expect(seen).toContain('Where is Ghent?');
  expect(seen).toContain('How far is that?');
  // By default with the input of the newest; or another definition of its own.
  const again = await resume('talk');
  expect(again.session.workflow?.input).toEqual({ question: 'How far is that?' });
  await ended(again.workflow);
  const other = await resume('talk', { definition: 'greet', input: { name: 'Ana' } });
  expect(await ended(other.workflow)).toMatchObject({ output: { text: 'Hello, Ana!' } });
});

it('starts one where several resume at once', async () => {
  const run = await start('patient', {}, 'crowd', 'crowd-1');
  await run.cancel('over');
  await ended('crowd-1');
  const resumed = await Promise.all(Array.from({ length: 8 }, () => resume('crowd')));
  expect(new Set(resumed.map(({ workflow }) => workflow)).size).toBe(1);
  expect(resumed.filter(({ created }) => created)).toHaveLength(1);
  expect((await as('operator acme').list({ session: 'crowd' })).workflows).toHaveLength(2);
});

it('answers the one that another request started, though this one names another definition', async () => {
  const run = await start('patient', {}, 'unlike', 'unlike-1');
  await run.cancel('over');
  await ended('unlike-1');
  const resumed = await Promise.all([
    resume('unlike', { definition: 'patient', input: {} }),
    resume('unlike', { definition: 'greet', input: { name: 'Ana' } }),
  ]);
  expect(new Set(resumed.map(({ workflow }) => workflow)).size).toBe(1);
  expect(resumed.filter(({ created }) => created)).toHaveLength(1);
});

it('passes secret fields of the input on to the same definition, and to no other', async () => {
  await start('paying', { card: 'card-4111' }, 'paid', 'paid-1');
  await ended('paid-1');
  const refused = resume('paid', { definition: 'greet' });
  await expect(refused).rejects.toMatchObject({ status: 400, code: 'session-input-missing' });
  const next = await resume('paid');
  expect(next.session.workflow?.input).toEqual({ card: '[secret]' });
  await ended(next.workflow);
  expect(cards).toEqual(['card-4111', 'card-4111']);
});

it('is refused to a viewer before anything is read, and to another tenant as a session that there is not', async () => {
  await start('greet', { name: 'Ana' }, 'refused', 'refused-1');
  await ended('refused-1');
  for (const session of ['refused', 'no-such']) {
    const refused = resume(session, {}, 'viewer acme');
    await expect(refused).rejects.toMatchObject({ status: 403, code: 'right-missing' });
  }
  const unknown = resume('refused', {}, 'operator globex');
  await expect(unknown).rejects.toMatchObject({ status: 404, code: 'session-unknown' });
  await expect(resume('no-such')).rejects.toMatchObject({ status: 404, code: 'session-unknown' });
  await expect(resume('refused', { definition: 'none' })).rejects.toMatchObject({ code: 'definition-unknown' });
  expect((await as('operator acme').list({ session: 'refused' })).workflows).toHaveLength(1);
});
