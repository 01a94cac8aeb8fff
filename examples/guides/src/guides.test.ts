/** What the guides show, before and after: both do the work; of what is after, no death of a worker does it twice. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command, MemorySaver } from '@langchain/langgraph';
import { Agent } from '@openai/agents-core';
import { assistantMessage, ScriptedModel } from '@openai/agents-core/testing';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { refundOrder } from './approval.ts';
import { answer, refundWhenAllowed } from './approval-before.ts';
import { fulfil } from './bullmq.ts';
import { openAgent } from './claude-session-store.ts';
import { ticket } from './langgraph.ts';
import { ticketGraph } from './langgraph-before.ts';
import { openStore, ticketOnce, ticketRun } from './langgraph-durable.ts';
import { openTickets } from './langgraph-saver.ts';
import { openChat } from './openai-session.ts';
import { lookOutside, refuse } from './outside.ts';
import { refundItems } from './refund-items.ts';
import { refundItemsSteps } from './refund-items-steps.ts';
import { bookTrip } from './saga.ts';
import { bookInOneGo } from './saga-before.ts';
import { remind } from './script.ts';
import { remindAll } from './script-before.ts';
import { label } from './spot.ts';
import { labelAtOnce } from './spot-before.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await testWorld({
    workflows: [
      label,
      labelAtOnce,
      refundOrder,
      refundItems,
      refundItemsSteps,
      bookTrip,
      remind,
      fulfil,
      ticket,
      ticketRun,
      ticketOnce,
    ],
  });
});
afterAll(() => world.close());
beforeEach(() => void lookOutside());

/** The task that asks, once it does. */
const asked = (workflow: string) =>
  eventually(async () => (await world.client.approvals()).approvals.find((one) => one.workflow === workflow));

describe('spot instances', () => {
  const tickets = ['I was charged twice', 'hello', 'a refund please', 'where is it?'];
  const labels = ['billing', 'other', 'billing', 'other'];

  it('one long step begins anew', async () => {
    world.crash({ before: 'CheckpointCommitted', step: 'label' });
    const run = await world.start(labelAtOnce, { tickets });
    expect(await run.result()).toEqual({ labels });
    expect(lookOutside()).toHaveLength(8);
  });

  it('a call for each loses at most what was under way', async () => {
    world.crash({ after: 'CheckpointCommitted', step: 'call' });
    const run = await world.start(label, { tickets });
    expect(await run.result()).toEqual({ labels });
    expect(lookOutside().length).toBeLessThanOrEqual(7);
  });
});

describe('human approval', () => {
  it('a process can wait', async () => {
    const refunded = refundWhenAllowed('o1', 9_900);
    answer('o1', true);
    expect(await refunded).toMatch(/^refund-/);
  });

  it('so can a function, which asks somebody else after two days', async () => {
    const run = await world.start(refundOrder, { order: 'o2', cents: 9_900 });
    expect(await asked(run.id)).toMatchObject({ assignee: 'group:support' });
    world.advance('3d');
    const again = await eventually(async () => {
      const one = await asked(run.id);
      return one.assignee === 'group:leads' ? one : undefined;
    });
    world.crash({ after: 'call', operation: 'payments.refund' });
    await world.client.approve(run.id, again.task, { approved: true, by: 'ana', value: { cents: 5_000 } });
    expect(await run.result()).toMatchObject({ by: 'ana' });
    expect(lookOutside()).toEqual(['refund o2 5000']);
  });

  it('small amounts need nobody', async () => {
    const run = await world.start(refundOrder, { order: 'o3', cents: 100 });
    expect(await run.result()).toMatchObject({ by: 'rule' });
  });
});

describe.each([refundItems, refundItemsSteps])('the same refund, $name', (refund) => {
  it('credits each item of a small order once', async () => {
    world.crash({ after: 'call', operation: 'payments.credit' });
    const run = await world.start(refund, { order: 'o4000' });
    expect((await run.result()).credits).toHaveLength(2);
    expect(lookOutside().toSorted()).toEqual(['credit o4000/laces 2000', 'credit o4000/shoes 2000']);
  });

  it('asks about a large one, and takes two days without an answer for a no', async () => {
    const [yes, late] = [
      await world.start(refund, { order: 'o60000' }),
      await world.start(refund, { order: 'o80000' }),
    ];
    await asked(late.id);
    const { task } = await asked(yes.id);
    await world.client.approve(yes.id, task, { approved: true, by: 'ana', value: { note: 'fine' } });
    expect((await yes.result()).credits).toHaveLength(2);
    world.advance('3d');
    expect(await late.result()).toEqual({ credits: [] });
  });
});

describe('sagas', () => {
  it('a catch block undoes while its process lives', async () => {
    refuse('car rome');
    await expect(bookInOneGo('rome')).rejects.toThrow('refused');
    expect(lookOutside()).toEqual(['flight rome', 'hotel rome', 'cancel hotel-2', 'cancel flight-1']);
  });

  it('a function undoes whoever dies', async () => {
    refuse('car oslo');
    world.crash({ after: 'EffectResolved', operation: 'hotel.book~undo' });
    const run = await world.start(bookTrip, { trip: 'oslo' });
    await expect(world.fastForward(run.result())).rejects.toMatchObject({ code: 'workflow-compensated' });
    expect(lookOutside()).toEqual(['flight oslo', 'hotel oslo', 'cancel hotel-2', 'cancel flight-1']);
  });

  it('and undoes nothing that went well', async () => {
    const run = await world.start(bookTrip, { trip: 'bern' });
    expect(await run.result()).toEqual({ ids: ['flight-1', 'hotel-2', 'car-3'] });
  });
});

describe('a plain script', () => {
  it('goes on by its file', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-guides-'));
    expect(await remindAll(['ana', 'bo'], path.join(folder, 'done.json'))).toBe(2);
    expect(await remindAll(['ana', 'bo', 'cy'], path.join(folder, 'done.json'))).toBe(3);
    expect(lookOutside()).toHaveLength(6);
    await rm(folder, { recursive: true });
  });

  it('as a function writes to nobody twice', async () => {
    world.crash({ after: 'call', operation: 'mail.send' });
    const run = await world.start(remind, { customers: ['ana', 'bo', 'cy'] });
    expect(await run.result()).toEqual({ sentCount: 3 });
    const mails = lookOutside().filter((what) => what.startsWith('mail'));
    expect(mails.map((mail) => mail.split(':')[0])).toEqual(['mail ana', 'mail bo', 'mail cy']);
  });
});

it('an order is charged and shipped once (the job itself: bullmq.redis.test.ts)', async () => {
  world.crash({ after: 'call', operation: 'payments.charge' });
  const run = await world.start(fulfil, { order: '7' });
  expect(await run.result()).toEqual({ charge: 'charge-1' });
  expect(lookOutside()).toEqual(['charge 7', 'ship 7']);
});

describe('LangGraph', () => {
  const text = 'I was charged twice';

  it('classifies, waits, and answers', async () => {
    const graph = ticketGraph(new MemorySaver());
    const thread = { configurable: { thread_id: 't1' } };
    expect(await graph.invoke({ text }, thread)).toMatchObject({ topic: 'billing' });
    const ended = await graph.invoke(new Command({ resume: { reply: 'Sorry!' } }), thread);
    expect(ended).toMatchObject({ topic: 'billing', reply: 'Sorry!', sent: 'mail-2' });
  });

  it('does so over a folder, where another process resumes it', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-guide-'));
    const thread = { configurable: { thread_id: 't1' } };
    const first = await openTickets(folder);
    expect(await first.graph.invoke({ text }, thread)).toMatchObject({ topic: 'billing' });
    await first.close();
    const second = await openTickets(folder);
    const ended = await second.graph.invoke(new Command({ resume: { reply: 'Sorry!' } }), thread);
    expect(ended).toMatchObject({ topic: 'billing', reply: 'Sorry!', sent: 'mail-2' });
    await second.close();
    await rm(folder, { recursive: true });
  });

  it('does so as a run, which asks in the inbox and which nobody invokes again', async () => {
    const run = await world.start(ticketRun, { text });
    const { task, title } = await asked(run.id);
    expect(title).toBe('review asks');
    world.crash({ after: 'CheckpointCommitted', step: 'review' });
    await world.client.approve(run.id, task, { approved: true, by: 'ana', value: { reply: 'Sorry!' } });
    expect(await run.result()).toMatchObject({ topic: 'billing', reply: 'Sorry!', sent: 'mail-2' });
  });

  it('sends a mail once, whose draft was written once, wherever its process dies', async () => {
    const run = await world.start(ticketOnce, { text });
    const { task, assignee } = await asked(run.id);
    expect(assignee).toBe('group:support');
    world.crash({ after: 'call', operation: 'mail.answer' });
    await world.client.approve(run.id, task, { approved: true, by: 'ana', value: { name: 'Ada' } });
    expect(await run.result()).toMatchObject({ sent: 'mail-1' });
    expect(lookOutside()).toEqual(['mail Sorry, Ada']);
  });

  it('has a store over a folder', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-guide-'));
    const first = await openStore(folder);
    await first.store.put(['users', 'ana'], 'prefs', { tone: 'short' });
    await first.close();
    const second = await openStore(folder);
    expect(await second.store.get(['users', 'ana'], 'prefs')).toMatchObject({ value: { tone: 'short' } });
    await second.close();
    await rm(folder, { recursive: true });
  });

  it('the workflow does the same, once', async () => {
    const run = await world.start(ticket, { text });
    const { task } = await asked(run.id);
    world.crash({ after: 'call', operation: 'mail.send' });
    await world.client.approve(run.id, task, { approved: true, by: 'ana', value: { reply: 'Sorry!' } });
    expect(await run.result()).toEqual({ topic: 'billing', sent: 'mail-2' });
    expect(lookOutside()).toEqual([`model ${text}`, 'mail Sorry!']);
  });
});

it('an agent of the OpenAI Agents SDK knows in another process what was said in the first', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-guide-'));
  const model = new ScriptedModel([[assistantMessage('Hello Ada')], [assistantMessage('You are Ada')]]);
  const agent = new Agent({ name: 'a', model });
  const first = await openChat(folder, agent, 'chat-1');
  expect(await first.say('I am Ada')).toBe('Hello Ada');
  await first.close();
  const second = await openChat(folder, agent, 'chat-1');
  expect(await second.say('Who am I?')).toBe('You are Ada');
  expect(model.calls[1]?.request.input).toHaveLength(3);
  await second.close();
  await rm(folder, { recursive: true });
});

it('a session of the Claude Agent SDK is resumed on another host', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-guide-'));
  const key = { projectKey: 'p', sessionId: 's' };
  // What the framework does with a store, in short.
  const query: Parameters<typeof openAgent<Promise<number>>>[1] = async ({ prompt, options }) => {
    const before = options.resume === undefined ? [] : ((await options.sessionStore.load(key)) ?? []);
    await options.sessionStore.append(key, [{ type: 'user', uuid: prompt, message: prompt }]);
    return before.length;
  };
  const first = await openAgent(folder, query);
  expect(await first.ask('I am Ada')).toBe(0);
  await first.stop();
  const second = await openAgent(folder, query);
  expect(await second.ask('Who am I?', 's')).toBe(1);
  await second.stop();
  await rm(folder, { recursive: true });
});
