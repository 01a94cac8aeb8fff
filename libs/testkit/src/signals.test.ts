/** Owns the tests of sending signals: where the definition is known, callers may send what it declares, one at a time or many. */

import { decodePayload } from '@tidemark/codec';
import { leftOf, streamFromJson } from '@tidemark/core';
import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestWorld, testWorld } from './test-world.ts';

const inbox = (version: number) =>
  defineWorkflow({
    ...{ name: 'inbox', version, input: z.object({}), belief: z.object({}), output: z.object({}) },
    tasks: { turn: z.object({}) },
    flow: { turn: [] },
    signals: { mail: z.object({ subject: z.string() }), leave: z.object({}) },
    begin: () => ({ belief: {}, next: [task('turn', {}, { when: signal('leave') })] }),
    steps: { turn: () => ({ done: {} }) },
  });
const current = inbox(2);

let world: TestWorld;
beforeEach(async () => {
  world = await testWorld({ workflows: [current] });
  await world.start(current, {}, { id: 'w' });
});
afterEach(() => world.close());

const send = (name: string, value: unknown, definitions = [current]) =>
  world.client.signal('w', name, value, { definitions });

it('is refused with what is declared, which fields do not fit, and what stands for no value', async () => {
  await expect(send('mial', null)).rejects.toThrow('it declares leave, mail');
  await expect(send('mail', { subject: 1 })).rejects.toMatchObject({
    code: 'signal-unfit',
    details: { fields: [{ field: 'value.subject', problem: 'expected string, got a number' }] },
  });
  await expect(send('leave', null)).rejects.toThrow('Without a value it is null: give {}.');
  await expect(send('tidemark.schedule', null)).rejects.toMatchObject({ code: 'signal-reserved' });
  expect((await world.ports.store.events('w' as never, 100)).map(({ type }) => type)).not.toContain('SignalReceived');
  await send('leave', {});
  expect(await world.client.run('w').result()).toEqual({});
});

it('with a key counts once and may be sent again, also when it has brought the workflow to its end', async () => {
  const leave = () => world.client.signal('w', 'leave', {}, { key: 'k' });
  await leave();
  await world.client.run('w').result();
  await leave();
  const other = world.client.signal('w', 'leave', {}, { key: 'other' });
  await expect(other).rejects.toMatchObject({ code: 'workflow-closed' });
  expect(
    (await world.ports.store.events('w' as never, 100)).filter(({ type }) => type === 'SignalReceived'),
  ).toHaveLength(1);
});

it('is taken where the definition is not known, or only an older version of it', async () => {
  await send('mial', null, []);
  await send('mial', null, [inbox(1)]);
});

it('that no step has seen when the workflow ends is told to whoever looks', async () => {
  await send('mail', { subject: 'a' });
  await send('leave', {});
  await world.client.run('w').result();
  expect(await world.client.run('w').summary()).toMatchObject({ status: 'completed', reason: 'signals-unread' });
  await world.start(current, {}, { id: 'heard' });
  await world.client.signal('heard', 'leave', {});
  await world.client.run('heard').result();
  expect(await world.client.run('heard').summary()).toMatchObject({ status: 'completed', reason: null });
});

it('is refused by each workflow of a job, and in a job whose signal is the system’s own', async () => {
  const filter = { definition: 'inbox' };
  const job = { id: 'j', act: 'signal', filter, by: 'ana', why: 'a test', signal: { name: 'mial', value: 1 } } as const;
  await eventually(async () => (await world.client.run('w').summary()) !== undefined);
  await world.client.bulk.start(job);
  await world.fastForward(eventually(async () => (await world.client.bulk.get('j'))?.status === 'completed'));
  expect(await world.client.bulk.get('j')).toMatchObject({
    doneCount: 0,
    refused: [{ workflow: 'w', code: 'signal-unknown' }],
  });
  const reserved = { ...job, id: 'k', signal: { name: 'tidemark.schedule', value: 1 } };
  await expect(world.client.bulk.start(reserved)).rejects.toMatchObject({ code: 'signal-reserved' });
});

const left = async () => {
  const [found] = await world.ports.store.loadStreams(['w' as never], { payloads: false });
  return leftOf(streamFromJson(found!.state, found!.tasks)).map(({ name, event }) => ({ name, event }));
};
const ask = { by: 'ana', why: 'a test' };

it('that no step has read is amended, by what is declared, or discarded', async () => {
  await send('mail', { subject: 'nonsense' });
  await send('mail', { subject: 'spam' });
  const [first, second] = await left();
  const amend = (value: unknown) =>
    world.client.amendSignal('w', first!.event, value, { ...ask, definitions: [current] });
  await expect(amend({ subject: 1 })).rejects.toMatchObject({ code: 'signal-unfit' });
  expect(await amend({ subject: 'sense' })).toEqual({ changed: true });
  expect(await amend({ subject: 'sense' })).toEqual({ changed: false });
  await expect(amend({ subject: 'other' })).rejects.toMatchObject({ code: 'signal-read' });
  expect(await world.client.discardSignal('w', second!.event, ask)).toEqual({ changed: true });
  expect(await world.client.discardSignal('w', second!.event, ask)).toEqual({ changed: false });
  const now = await left();
  expect(now).toHaveLength(1);
  const events = await world.ports.store.events('w' as never, 100);
  const amended = events.find(({ event }) => event === now[0]!.event)!;
  expect(decodePayload('SignalReceived', amended.payload)).toEqual({ value: { subject: 'sense' }, why: 'a test' });
  await send('leave', {});
  await world.client.run('w').result();
  await expect(world.client.discardSignal('w', now[0]!.event, ask)).rejects.toMatchObject({ code: 'workflow-closed' });
});

it('that came for a task is read as it was amended, and one that is discarded is waited for again', async () => {
  const takes = defineWorkflow({
    ...{
      name: 'takes',
      version: 1,
      input: z.object({}),
      belief: z.object({}),
      output: z.object({ cents: z.number() }),
    },
    tasks: { take: z.object({}) },
    signals: { price: z.unknown() },
    flow: { take: [] },
    begin: () => ({ belief: {}, next: [task('take', {}, { when: signal('price') })] }),
    steps: {
      take: {
        retry: { attempts: 1 },
        run: ({ cause }) => {
          const cents = cause?.kind === 'signal' ? Number(cause.value) : 0;
          if (Number.isNaN(cents)) throw new Error('no number');
          return { done: { cents } };
        },
      },
    },
  });
  const own = await testWorld({ workflows: [takes] });
  try {
    const parked = async (id: string) => {
      await eventually(async () => (await own.client.run(id).summary())?.status === 'parked');
      const [found] = await own.ports.store.loadStreams([id as never], { payloads: false });
      return leftOf(streamFromJson(found!.state, found!.tasks))[0]!.event;
    };
    for (const id of ['t1', 't2']) {
      await own.start(takes, {}, { id });
      await own.client.signal(id, 'price', 'nonsense');
    }
    await own.client.amendSignal('t1', await parked('t1'), 5, ask);
    await own.client.decide('t1', { resolution: 'retry', ...ask });
    expect(await own.client.run('t1').result()).toEqual({ cents: 5 });
    await own.client.discardSignal('t2', await parked('t2'), ask);
    await own.client.decide('t2', { resolution: 'retry', ...ask });
    await own.client.signal('t2', 'price', 6);
    expect(await own.client.run('t2').result()).toEqual({ cents: 6 });
  } finally {
    await own.close();
  }
});
