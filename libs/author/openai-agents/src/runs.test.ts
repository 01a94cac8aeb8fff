/** Owns real runs of agents over the session, with a scripted model: what a turn keeps, who goes on, and output that is replaced after approval. */

import { Agent, Runner, RunState, tool } from '@openai/agents-core';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents-core/testing';
import { Client, LamportClock } from '@tidemark/runtime';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { TidemarkSession } from './session.ts';

let world: TestWorld;
beforeEach(async () => {
  world = await testWorld({ workflows: [] });
});
afterEach(() => world.close());

/** A session as another process on the same servers has it. */
const sessionOf = () => {
  const client = new Client({ ports: world.ports, lamport: new LamportClock() });
  return new TidemarkSession({ client, forget: async () => {} }, { sessionId: 's' });
};
const runner = new Runner({ tracingDisabled: true });
const textsOf = (items: readonly object[]) =>
  items.map((item) => {
    const { content, type } = item as {
      readonly content?: string | readonly { readonly text?: string }[];
      readonly type?: string;
    };
    return typeof content === 'string' ? content : (content?.[0]?.text ?? type);
  });

it('gives each turn the history of the ones before, in whichever process', async () => {
  const model = new ScriptedModel([[assistantMessage('hello')], [assistantMessage('Ada')], [assistantMessage('bye')]]);
  const agent = new Agent({ name: 'a', model });
  await runner.run(agent, 'I am Ada', { session: sessionOf() });
  await runner.run(agent, 'who am I?', { session: sessionOf() });
  expect(textsOf(model.calls[1]!.request.input as object[])).toEqual(['I am Ada', 'hello', 'who am I?']);
  const streamed = await runner.run(agent, 'thanks', { session: sessionOf(), stream: true });
  await streamed.completed;
  expect(textsOf(await sessionOf().getItems())).toEqual(['I am Ada', 'hello', 'who am I?', 'Ada', 'thanks', 'bye']);
});

it('refuses the turn of a process that another one has overtaken', async () => {
  const slow = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const agentOf = (model: ScriptedModel) => new Agent({ name: 'a', model });
  const held = new ScriptedModel([
    {
      type: 'responder',
      respond: async () => {
        asked.resolve();
        await slow.promise;
        return [assistantMessage('late')];
      },
    },
  ]);
  await runner.run(agentOf(new ScriptedModel([[assistantMessage('0')]])), 'zero', { session: sessionOf() });
  const first = runner.run(agentOf(held), 'first', { session: sessionOf() });
  first.catch(() => {});
  await asked.promise;
  await runner.run(agentOf(new ScriptedModel([[assistantMessage('2')]])), 'second', { session: sessionOf() });
  slow.resolve();
  await expect(first).rejects.toMatchObject({ code: 'session-written-elsewhere' });
  expect(textsOf(await sessionOf().getItems())).toEqual(['zero', '0', 'second', '2']);
});

it('goes on with an approved call in another process', async () => {
  const mailed: string[] = [];
  const mail = tool({
    name: 'mail',
    description: 'mails',
    parameters: z.object({ to: z.string() }),
    needsApproval: true,
    execute: async ({ to }) => {
      mailed.push(to);
      return 'sent';
    },
  });
  const agentOf = (model: ScriptedModel) => new Agent({ name: 'a', model, tools: [mail] });
  const asks = agentOf(new ScriptedModel([[functionCall('mail', { to: 'ada' }, { callId: 'c' })]]));
  const waiting = await runner.run(asks, 'mail Ada', { session: sessionOf() });
  expect(waiting.interruptions).toHaveLength(1);
  const agent = agentOf(new ScriptedModel([[assistantMessage('done')]]));
  const state = await RunState.fromString(agent, waiting.state.toString());
  state.approve(state.getInterruptions()[0]!);
  await runner.run(agent, state, { session: sessionOf() });
  expect(mailed).toEqual(['ada']);
  const items = await sessionOf().getItems();
  expect(textsOf(items)).toEqual(['mail Ada', 'function_call', 'function_call_result', 'done']);
});
