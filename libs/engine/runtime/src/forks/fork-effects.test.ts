/**
 * What answers the effects of a fork: records in their places, or in order; failures as they were; nothing twice, whatever dies. A fork
 * that replays compensates, remembers and pays nothing. Each case has its control, where the outside is called.
 */

import { DEFAULT_TENANT, type Json, type WorkflowId, workflowId } from '@tidemark/core';
import { FORK_PARTITIONS, ForkWorld } from '@tidemark/testkit/engine/fork-fixture';
import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Definition, StepContext } from '../definition/definition.ts';
import { PendingResult } from '../definition/definition.ts';
import { FatalError, NotDoneError } from '../definition/step-errors.ts';
import type { RetryPolicy } from '../kernel/retry.ts';

let log: SimulatedLog;
let world: ForkWorld;
beforeEach(async () => {
  log = new SimulatedLog(FORK_PARTITIONS);
  world = new ForkWorld(log);
  await world.coordinator.start();
});
afterEach(() => world.close());

const QUICK: RetryPolicy = { attempts: 3, firstDelayMs: 1, factor: 1, maxDelayMs: 1, jitter: 0, nonRetryable: [] };
const effectsOf = (workflow: WorkflowId) => world.ports.store.effects(workflow);
const replaysIn = async (workflow: WorkflowId): Promise<readonly (string | undefined)[]> =>
  (await effectsOf(workflow)).map(({ request }) => (request === null ? undefined : JSON.parse(request).replays));

describe('equal requests', () => {
  /** Rolls as often as belief says, each time with the same request. */
  const rolling = (): Definition =>
    definitionOf({
      name: 'rolling',
      belief: { times: 2 },
      steps: {
        first: () => ({ next: [{ step: 'roll', input: null }] }),
        async roll(ctx) {
          const rolls: Json[] = [];
          for (let at = 0; at < (ctx.belief as { times: number }).times; at++) rolls.push(await ctx.effect(roll, {}));
          return { belief: (b) => ({ ...(b as object), rolls }), next: [{ step: 'last', input: null }] };
        },
        async last(ctx) {
          const extra = (ctx.belief as { skips?: boolean }).skips ? null : await ctx.effect(roll, {});
          return { done: { belief: ctx.belief, extra } };
        },
      },
    });
  let roll: ReturnType<ForkWorld['effect']>;
  let base: WorkflowId;
  let definition: Definition;
  beforeEach(async () => {
    roll = world.effect('roll');
    definition = rolling();
    await world.worker([definition]);
    base = await world.ended(definition);
  });

  it('are answered in their places', async () => {
    const { workflow } = await world.fork(base, { at: 0 });
    await world.until(workflow, 'completed');
    expect(await replaysIn(workflow)).toEqual(['base:1.0:roll:0', 'base:1.0:roll:1', 'base:2.0:roll:0']);
    expect(world.outputOf(workflow)).toEqual(world.outputOf(base));
  });

  it('elsewhere in the order of recording, each once; then there is none', async () => {
    const once = await world.fork(base, { at: 1, belief: { times: 1 }, definitions: [definition] });
    await world.until(once.workflow, 'completed');
    expect(await replaysIn(once.workflow)).toEqual(['base:1.0:roll:0', 'base:2.0:roll:0']);
    const thrice = { belief: { times: 3, skips: true }, definitions: [definition] };
    const three = await world.fork(base, { at: 1, ...thrice });
    await world.until(three.workflow, 'completed');
    expect(await replaysIn(three.workflow)).toEqual(['base:1.0:roll:0', 'base:1.0:roll:1', 'base:2.0:roll:0']);
    const four = await world.fork(base, { at: 1, belief: { times: 4 }, definitions: [definition] });
    await world.until(four.workflow, 'parked');
    expect(await replaysIn(four.workflow)).toEqual([
      'base:1.0:roll:0',
      'base:1.0:roll:1',
      'base:2.0:roll:0',
      undefined,
    ]);
    expect(world.calls).toHaveLength(3);
  });

  it('what was recorded before the checkpoint answers nothing after it', async () => {
    const { workflow } = await world.fork(base, { at: 2, belief: { times: 9 }, definitions: [definition] });
    await world.until(workflow, 'completed');
    expect(await replaysIn(workflow)).toEqual(['base:2.0:roll:0']);
  });
});

describe('a step that had begun at the checkpoint', () => {
  it('begins anew: what it had recorded answers, what is recorded after it too', async () => {
    const [slow, quick] = [world.effect('slow'), world.effect('quick')];
    let go = (): void => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const both = definitionOf({
      name: 'both',
      next: [
        { step: 'slow', input: null },
        { step: 'quick', input: null },
      ],
      steps: {
        async slow(ctx) {
          const first = await ctx.effect(slow, { at: 1 });
          if (ctx.workflow === 'base') await held;
          return { done: [first, await ctx.effect(slow, { at: 2 })] };
        },
        quick: async (ctx) => ({ output: await ctx.effect(quick, {}) }),
      },
    });
    await world.worker([both]);
    const base = await world.start(both, null, { id: 'base' });
    await world.ports.clock.runUntil(() => world.streamOf(base)?.sequence === 1, 5_000);
    const early = await world.fork(base, { at: 1 });
    expect(early.begun).toEqual([{ task: '0.0', operation: 'slow', status: 'done' }]);
    // The base hasn't reached the second call yet.
    await world.until(early.workflow, 'parked');
    go();
    await world.until(base, 'completed');
    await world.decide(early.workflow, { resolution: 'retry' });
    await world.until(early.workflow, 'completed');
    const late = await world.fork(base, { at: 1 });
    await world.until(late.workflow, 'completed');
    for (const { workflow } of [early, late]) expect(world.outputOf(workflow)).toEqual(world.outputOf(base));
    expect(world.calls).toHaveLength(3);
  });
});

describe('a recorded failure', () => {
  const falling = (fails: ReturnType<ForkWorld['effect']>, retry = QUICK): Definition =>
    definitionOf({
      name: 'falling',
      steps: {
        first: () => ({ next: [{ step: 'try', input: null }] }),
        try: {
          retry,
          run: async (ctx: StepContext) => {
            const said = await ctx.effect(fails, {}).catch((error: Error) => `${error.name}: ${error.message}`);
            return { done: { said } };
          },
        },
      },
    });

  it('is told as it was: the step does without, as it did', async () => {
    const fails = world.effect('fails', {
      call: async () => {
        world.calls.push('fails');
        throw new NotDoneError('sold out');
      },
    });
    const definition = falling(fails);
    await world.worker([definition]);
    const base = await world.ended(definition);
    const { workflow } = await world.fork(base, { at: 1 });
    await world.until(workflow, 'completed');
    expect(world.outputOf(workflow)).toEqual({ said: 'EffectError: fails: sold out' });
    expect(world.outputOf(base)).toEqual(world.outputOf(workflow));
    expect(await effectsOf(workflow)).toMatchObject([{ status: 'failed' }]);
    expect(world.calls).toHaveLength(1);
  });

  it('that ended the workflow ends the fork, after as many attempts as its policy has', async () => {
    const fatal = world.effect('fatal', {
      retry: QUICK,
      kind: 'idempotent',
      changesNothing: true,
      call: async () => {
        world.calls.push('fatal');
        throw new FatalError('never again');
      },
    });
    const definition = definitionOf({
      name: 'fatal',
      steps: {
        a: () => ({ next: [{ step: 'b', input: null }] }),
        b: async (ctx) => ({ done: await ctx.effect(fatal, {}) }),
      },
    });
    await world.worker([definition]);
    const base = await world.ended(definition, null, 'base', 'failed');
    const { workflow } = await world.fork(base, { at: 1 });
    await world.until(workflow, 'failed');
    expect(world.streamOf(workflow).reason).toBe(world.streamOf(base).reason);
    expect(world.calls).toHaveLength(1);
  });
});

describe('an effect that was confirmed later', () => {
  it('is answered at once', async () => {
    const ship = world.effect('ship', { call: async () => new PendingResult('parcel-1') });
    const definition = definitionOf({
      name: 'ship',
      effects: [ship],
      steps: {
        a: () => ({ next: [{ step: 'b', input: null }] }),
        b: async (ctx) => ({ done: await ctx.effect(ship, {}) }),
      },
    });
    await world.worker([definition]);
    const base = await world.start(definition, null, { id: 'base' });
    await world.ports.clock.run(5_000);
    const waiting = await world.fork(base, { at: 1 });
    expect(waiting.begun).toEqual([]);
    await world.until(waiting.workflow, 'parked');
    const confirming = world.client.confirm('base', 'parcel-1', { response: { at: 'door' } });
    await world.ports.clock.run(5_000);
    await confirming;
    await world.until(base, 'completed');
    const { workflow } = await world.fork(base, { at: 1 });
    await world.until(workflow, 'completed');
    expect(world.outputOf(workflow)).toEqual({ at: 'door' });
    expect(world.probed).toEqual([]);
  });
});

describe('a fork whose holder dies', () => {
  it('goes on: each effect is intended and resolved once, with the same record, and nobody outside is asked', async () => {
    const roll = world.effect('roll');
    let hangs = true;
    const definition = definitionOf({
      name: 'hanging',
      belief: { times: 1 },
      effects: [roll],
      steps: {
        first: async (ctx) => ({ next: [{ step: 'second', input: await ctx.effect(roll, {}) }] }),
        async second(ctx, input) {
          const other = await ctx.effect(roll, {});
          if (hangs && ctx.workflow !== 'base') await new Promise(() => {});
          return { done: { input, other } };
        },
      },
    });
    const one = await world.worker([definition]);
    const base = await world.ended(definition);
    const { workflow } = await world.fork(base, { at: 0 });
    await world.ports.clock.runUntil(() => world.streamOf(workflow)?.sequence === 1, 5_000);
    await world.ports.clock.run(2_000);
    hangs = false;
    await one.die();
    const two = await world.worker([definition]);
    await world.until(workflow, 'completed');
    expect(world.outputOf(workflow)).toEqual(world.outputOf(base));
    expect(await replaysIn(workflow)).toEqual(['base:0.0:roll:0', 'base:1.0:roll:0']);
    expect([world.calls.length, world.probed]).toEqual([2, []]);
    expect(world.streamOf(workflow).epoch).toBe(2);

    // The control: a live fork that dies there probes its effect.
    hangs = true;
    const live = await world.fork(base, { at: 0, effects: 'live' });
    await world.ports.clock.runUntil(() => world.streamOf(live.workflow)?.sequence === 1, 5_000);
    await world.ports.clock.run(2_000);
    hangs = false;
    await two.die();
    await world.worker([definition]);
    await world.until(live.workflow, 'parked');
    expect(world.streamOf(live.workflow).reason).toBe('phantom-checkpoint');
    expect(world.probed).not.toEqual([]);
  });
});

describe('a fork that replays, and compensation', () => {
  const book = () => {
    const undone: string[] = [];
    const effect = world.effect('book', {
      compensate: async (response) => {
        undone.push(JSON.stringify(response));
      },
    });
    const definition = definitionOf({
      name: 'trip',
      onFailure: 'compensate',
      effects: [effect],
      steps: {
        a: async (ctx) => ({ next: [{ step: 'b', input: await ctx.effect(effect, {}) }] }),
        b: () => Promise.reject(new FatalError('the gangway is gone')),
      },
    });
    return { undone, definition };
  };

  it('fails where its base was compensated, and undoes nothing; with live effects its own is compensated', async () => {
    const { undone, definition } = book();
    await world.worker([definition]);
    const base = await world.ended(definition, null, 'base', 'compensated');
    expect(undone).toHaveLength(1);
    const { workflow } = await world.fork(base, { at: 0 });
    await world.until(workflow, 'failed');
    expect(world.streamOf(workflow).reason).toBe('fatal');
    expect(world.ports.store.rows.has(workflowId(`${workflow}~undo`))).toBe(false);
    expect(undone).toHaveLength(1);
    const live = await world.fork(base, { at: 0, effects: 'live' });
    await world.until(live.workflow, 'compensated');
    expect(undone).toHaveLength(2);
    expect(undone[1]).not.toBe(undone[0]);
  });
});

describe('a fork that replays, and long-term memory', () => {
  it('remembers nothing; with live effects it does', async () => {
    const definition = definitionOf({
      name: 'notes',
      steps: {
        a: () => ({ next: [{ step: 'b', input: null }] }),
        b: (ctx) => ({
          memories: [{ subject: 'user:ana', kind: 'fact', key: ctx.workflow, value: `seen by ${ctx.workflow}` }],
          done: null,
        }),
      },
    });
    await world.worker([definition]);
    const base = await world.ended(definition);
    const keys = async () => {
      const query = { tenant: DEFAULT_TENANT, subject: 'user:ana', kind: 'fact', limit: 10 } as const;
      return (await world.ports.store.memories(query)).map(({ key }) => key).sort();
    };
    const { workflow } = await world.fork(base, { at: 1 });
    await world.until(workflow, 'completed');
    expect(await keys()).toEqual(['base']);
    const live = await world.fork(base, { at: 1, effects: 'live', id: 'live' });
    await world.until(live.workflow, 'completed');
    expect(await keys()).toEqual(['base', 'live']);
  });
});

describe('a step that catches everything', () => {
  it('does not pass over what was not recorded', async () => {
    const roll = world.effect('roll');
    const definition = definitionOf({
      name: 'careless',
      belief: { asks: 0 },
      steps: {
        a: () => ({ next: [{ step: 'b', input: null }] }),
        async b(ctx) {
          const asks = (ctx.belief as { asks: number }).asks;
          return { done: await ctx.effect(roll, { asks }).catch(() => 'whatever') };
        },
      },
    });
    await world.worker([definition]);
    const base = await world.ended(definition);
    const { workflow } = await world.fork(base, { at: 1, belief: { asks: 1 }, definitions: [definition] });
    await world.until(workflow, 'parked');
    expect(world.streamOf(workflow).reason).toBe('effect-not-recorded');
  });
});
