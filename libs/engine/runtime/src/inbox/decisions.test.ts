/** Input of people and outside systems counts once, or is refused with a clear message; the first one counts. */

import type { EventId, Json, WorkflowId } from '@tidemark/core';
import { definitionOf, effectOf, typesOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../client/client.ts';
import { type Definition, type EffectDefinition, PendingResult } from '../definition/definition.ts';
import { ParkError } from '../definition/step-errors.ts';
import { LamportClock } from '../kernel/ports.ts';
import type { Decision } from '../lease/decision-checks.ts';

const PARTITIONS = 4;
const W = 'w' as WorkflowId;

describe('what is said to a workflow', () => {
  let log: SimulatedLog;
  let world: SimulatedWorld;
  /** A second person's process. */
  let other: Client;
  beforeEach(async () => {
    log = new SimulatedLog(PARTITIONS);
    world = new SimulatedWorld(log, PARTITIONS);
    other = new Client({ ports: world.ports, lamport: new LamportClock() });
    await world.coordinator.start();
  });
  afterEach(async () => {
    other.close();
    await world.close();
  });

  const inTime = async <T>(promise: Promise<T>, maxMs = 30_000): Promise<T> => {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    settled.catch(() => {});
    await world.ports.clock.runUntil(() => isSettled, maxMs);
    return settled;
  };

  let callCount = 0;
  /** Its outcome is lost, and there is no probe. */
  const wire: EffectDefinition = effectOf({
    operation: 'wire',
    call: async () => {
      callCount++;
      throw new Error('no answer');
    },
    parseResponse: (value) => {
      if (typeof value === 'string') return value;
      throw new TypeError('expected a text');
    },
  });
  const paying = definitionOf({ steps: { pay: async (ctx) => ({ done: await ctx.effect(wire, null) }) } });
  /** Asks as long as its question names nothing in particular. */
  const asking = definitionOf({
    steps: {
      ask: async (ctx) => {
        if (ctx.attempt === 1) throw new ParkError('enough', 'Shall it go on?', null, {});
        return { done: null };
      },
    },
  });

  async function parked(definition: Definition): Promise<EventId> {
    callCount = 0;
    await world.worker([definition]);
    await world.start(definition);
    await world.until(W, 'parked');
    return (await world.ports.store.workflow(W))!.question!.id;
  }

  const says = (resolution: Decision['resolution'], more: Partial<Decision> = {}): Decision => ({
    resolution,
    by: 'Ada',
    why: 'asked the bank',
    ...more,
  });
  const decide = (decision: Decision, client = world.client, effects: readonly EffectDefinition[] = []) =>
    inTime(client.decide('w', decision, effects));
  const answersOf = async (): Promise<number> => {
    const partition = (await world.ports.store.workflow(W))!.partition;
    return (await typesOf(log, partition)).filter((type) => type === 'ApprovalDecided').length;
  };

  describe('an answer', () => {
    it('that the effect happened goes on with what it answered', async () => {
      const question = await parked(paying);
      const decided = await decide(says('done', { response: 'receipt 7' }));
      expect(decided).toEqual({ workflow: W, question, resolution: 'done' });
      expect(await inTime(world.client.run<Json>('w').result())).toBe('receipt 7');
      expect(callCount).toBe(1);
    });

    it('that it did not happen calls again', async () => {
      await parked(paying);
      await decide(says('not-done'));
      await world.until(W, 'parked');
      expect(callCount).toBe(2);
    });

    it('to fail ends the workflow', async () => {
      await parked(paying);
      await decide(says('fail'));
      await world.until(W, 'failed');
      await expect(inTime(world.client.run('w').result())).rejects.toMatchObject({ code: 'workflow-failed' });
    });

    it('of the same person counts once, however often it is given', async () => {
      const question = await parked(paying);
      const answer = says('done', { response: 'r', question });
      const all = await Promise.all([decide(answer), decide(answer), decide(answer, other)]);
      expect(new Set(all.map((decided) => JSON.stringify(decided))).size).toBe(1);
      await world.until(W, 'completed');
      expect((await decide(answer)).resolution).toBe('done');
    });

    it('stands: another person learns who was first', async () => {
      const question = await parked(paying);
      const first = decide(says('done', { response: 'r' }));
      const second = decide(says('not-done', { by: 'Bo', question }), other);
      await expect(second).rejects.toMatchObject({
        name: 'ConflictError',
        code: 'already-decided',
        message: `Question ${question} of w was already answered by Ada: done. The first answer counts.`,
      });
      await first;
      await world.until(W, 'completed');
      expect(callCount).toBe(1);
    });

    it.each<[string, Partial<Decision>, string, RegExp]>([
      ['no one', { by: '' }, 'by-invalid', /^by: /],
      ['a name with a line feed', { by: 'a\nb' }, 'by-invalid', /^by: /],
      ['no reason', { why: ' ' }, 'why-invalid', /^why: /],
      ['no resolution', { resolution: 'maybe' as never }, 'resolution-invalid', /^resolution: .*not 'maybe'/],
      ['a response that nobody wants', { resolution: 'retry', response: 1 }, 'response-unfit', /^response: /],
      ['no response', { resolution: 'done' }, 'response-missing', /^response: 'done' needs/],
      ['a response that is no JSON', { resolution: 'done', response: 1n }, 'not-json', /response/],
      ['another question', { question: 'q' }, 'question-differs', /doesn't ask q, but .* \(effect-unknown\)/],
    ])('with %s is refused, and nothing is written', async (_, more, code, message) => {
      await parked(paying);
      const refused = decide(says('retry', more));
      await expect(refused).rejects.toMatchObject({ message: expect.stringMatching(message) });
      await expect(refused).rejects.toMatchObject(code === 'not-json' ? {} : { code });
      expect(await answersOf()).toBe(0);
    });

    it("with a response that the effect's schema doesn't take is refused where the effect is known", async () => {
      await parked(paying);
      await expect(decide(says('done', { response: 7 }), world.client, [wire])).rejects.toThrow('expected a text');
      expect(await answersOf()).toBe(0);
    });

    it('that does not fit the question is refused with those that do', async () => {
      await parked(asking);
      await expect(decide(says('not-done'))).rejects.toMatchObject({
        code: 'resolution-unfit',
        message: expect.stringMatching(/^resolution: .*Fitting: retry, compensate, fail\.$/),
      });
    });

    it('to a workflow that is unknown, runs, or has ended is refused', async () => {
      await expect(inTime(world.client.decide('nobody', says('retry')))).rejects.toMatchObject({
        code: 'workflow-unknown',
      });
      await world.start(paying);
      await expect(decide(says('retry'))).rejects.toMatchObject({ code: 'not-asked' });
      await world.worker([paying]);
      await world.until(W, 'parked');
      await decide(says('fail'));
      await world.until(W, 'failed');
      await expect(decide(says('retry'))).rejects.toMatchObject({
        code: 'workflow-closed',
        message: 'Workflow w has ended: it is failed (rejected).',
      });
    });
  });

  describe('a confirmation', () => {
    const order = effectOf({ operation: 'order', kind: 'idempotent', call: async () => new PendingResult('t1') });
    const ordering = definitionOf({ steps: { buy: async (ctx) => ({ done: await ctx.effect(order, null) }) } });
    const pending = () => inTime(world.ports.clock.runUntil(() => isPending(), 5_000));
    const isPending = (): boolean => JSON.stringify([...(world.ports.store.rows.get(W)?.tasks ?? [])]).includes('t1');
    const confirm = (outcome: Parameters<Client['confirm']>[2], client = world.client, token = 't1') =>
      inTime(client.confirm('w', token, outcome));

    it('goes on with the response, and may be repeated', async () => {
      await world.worker([ordering]);
      await world.start(ordering);
      await pending();
      await confirm({ response: { price: 7 } });
      expect(await inTime(world.client.run('w').result())).toEqual({ price: 7 });
      await confirm({ response: { price: 7 } }, other);
      await expect(confirm({ error: 'sold out' })).rejects.toMatchObject({ code: 'already-confirmed' });
    });

    it('that comes before anybody knows that it is awaited is waited for', async () => {
      await world.start(ordering);
      const early = confirm({ response: 'here' });
      await world.worker([ordering]);
      await early;
      expect(await inTime(world.client.run<Json>('w').result())).toBe('here');
    });

    it('under another token is refused', async () => {
      await world.worker([ordering]);
      await world.start(ordering);
      await pending();
      await expect(confirm({ response: 1 }, other, 't2')).rejects.toMatchObject({
        code: 'token-unknown',
        message: "token: no effect of w waits under 't2'.",
      });
    });
  });

  describe('a signal', () => {
    const sleepy = definitionOf({ steps: { a: () => ({ done: null }) } });

    it('is taken once for a key, and every time without one', async () => {
      await world.start(sleepy);
      await inTime(world.client.signal('w', 'go', { n: 1 }, { key: 'k' }));
      await inTime(other.signal('w', 'go', { n: 1 }, { key: 'k' }));
      await inTime(other.signal('w', 'go'));
      const { state } = world.ports.store.rows.get(W)!.stream;
      expect(JSON.parse(state).signals).toHaveLength(2);
    });

    it('to a workflow that has ended is refused', async () => {
      await world.worker([sleepy]);
      await world.start(sleepy);
      await world.until(W, 'completed');
      await expect(inTime(world.client.signal('w', 'go'))).rejects.toMatchObject({ code: 'workflow-closed' });
    });
  });

  it('a pin stands until it is taken away', async () => {
    await world.start(paying);
    const pinned = () => world.ports.store.rows.get(W)!.stream.pinned;
    await inTime(world.client.pin('w', { pinned: true, by: 'Ada', why: 'audit' }));
    expect(pinned()).toBe(true);
    await inTime(world.client.pin('w', { pinned: false, by: 'Ada', why: 'done' }));
    expect(pinned()).toBe(false);
    await expect(inTime(world.client.pin('w', { pinned: true, by: '', why: 'x' }))).rejects.toThrow(/^by: /);
  });
});
