/** Effects that are accepted outside and confirmed later (D3): waiting holds nothing, and ends by a signal, a probe or a person. */

import { encodePayload, NAME_MAX_CHARS } from '@tidemark/codec';
import { type Controls, isClosed } from '@tidemark/core';
import { SimulatedLog } from '@tidemark/testkit';
import {
  controlsOf,
  definitionOf,
  effectOf,
  foldLog,
  inboxRecord,
  P0,
  RETRY_AT_ONCE,
} from '@tidemark/testkit/engine/simulated-definition';
import type { SimulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { claimedRun, heldRun } from '@tidemark/testkit/engine/simulated-run';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type EffectDefinition,
  PendingResult,
  type ProbeResult,
  type StepContext,
  type StepResult,
} from '../definition/definition.ts';
import { checkedToken } from './effect-pending.ts';

const DIGEST = 'd'.repeat(64);

it.each(['', 'r'.repeat(NAME_MAX_CHARS + 1)])('a token of a receiver is a name (%#)', (token) => {
  const refused = expect.objectContaining({ code: 'token-invalid' });
  expect(() => checkedToken('order', new PendingResult(token))).toThrow(refused);
});

describe('a pending effect', () => {
  let log: SimulatedLog;
  let callCount: number;
  let attemptCount: number;
  const order = (spec: Partial<EffectDefinition> = {}): EffectDefinition =>
    effectOf({
      operation: 'order',
      retry: RETRY_AT_ONCE,
      confirm: { probeEveryMs: 1_000, timeoutMs: 5_000 },
      ...spec,
      call: async () => {
        callCount++;
        return new PendingResult('r-1', { queue: 7 });
      },
    });
  const workflow = (effect: EffectDefinition) =>
    definitionOf({
      steps: {
        a: async (context) => {
          attemptCount++;
          return { done: await context.effect(effect, 1) };
        },
      },
    });
  const state = async () => [...(await foldLog(log)).state.streams.values()][0]!;
  const effectNow = async () => [...(await state()).frontier.tasks][0]!.effects[0]!;
  const inbox = async <T extends 'CancelRequested' | 'EffectConfirmed' | 'TimerFired'>(
    type: T,
    id: string,
    control: Controls[T],
    payload: never,
  ): Promise<void> => {
    await log.append(P0, [{ value: inboxRecord(await state(), id, type, control, payload), type }]);
  };
  const fire = async (timer: string): Promise<void> => inbox('TimerFired', `timer:${timer}`, { timer }, null as never);
  const again = (definition: ReturnType<typeof workflow>, ports: SimulatedPorts, holder: string) =>
    claimedRun(log, definition, { ports, holder });

  beforeEach(() => {
    log = new SimulatedLog(1);
    callCount = 0;
    attemptCount = 0;
  });

  it('ends the attempt without a failure, and lets the lease go', async () => {
    const { runner } = await heldRun(log, workflow(order()));
    expect(await runner.run()).toBe('idle');
    expect(await effectNow()).toMatchObject({ status: 'pending', pending: { token: 'r-1', probe: null } });
    expect(await controlsOf(log, 'StepFailed')).toEqual([]);
    expect((await state()).lease).toBeNull();
  });

  it('that is confirmed goes on with what was confirmed, and is not called again', async () => {
    const definition = workflow(order());
    const { runner, ports } = await heldRun(log, definition);
    await runner.run();
    await inbox('EffectConfirmed', 'confirm:1', { token: 'r-1', outcome: 'done', responseDigest: DIGEST }, {
      response: 'shipped',
    } as never);
    const next = await again(definition, ports, 'n');
    expect(await next.runner.run()).toBe('closed');
    expect(callCount).toBe(1);
    expect(attemptCount).toBe(2);
    expect(encodePayload('WorkflowCompleted', { output: 'shipped' })).toEqual(await resultOf(log));
  });

  it('that is confirmed as not done is called again', async () => {
    const definition = workflow(order());
    const { runner, ports } = await heldRun(log, definition);
    await runner.run();
    await inbox('EffectConfirmed', 'confirm:1', { token: 'r-1', outcome: 'failed', responseDigest: DIGEST }, {
      error: { name: 'Refused', message: 'sold out' },
    } as never);
    const next = await again(definition, ports, 'n');
    expect(await next.runner.run()).toBe('idle');
    // The step is told first: it may do something else about it.
    expect(callCount).toBe(1);
    expect(await controlsOf(log, 'StepFailed')).toMatchObject([{ attempt: 1 }]);
    await fire([...(await state()).frontier.tasks][0]!.retry!.timer);
    const third = await again(definition, ports, 'm');
    expect(await third.runner.run()).toBe('idle');
    expect(callCount).toBe(2);
  });

  /** One step waits for the effect, while another keeps the lease. */
  const besideLong = (effect: EffectDefinition, long: (context: StepContext) => Promise<StepResult>) =>
    definitionOf({
      next: [
        { step: 'a', input: null },
        { step: 'long', input: null },
      ],
      steps: { a: async (context) => ({ done: await context.effect(effect, 1) }), long },
    });

  it.each([['irreversible'], ['idempotent']] as const)(
    'of kind %s that is confirmed while another task keeps the lease counts as confirmed',
    async (kind) => {
      const end = Promise.withResolvers<void>();
      const definition = besideLong(order({ kind }), async () => {
        await end.promise;
        return {};
      });
      const { runner, stream, ports } = await heldRun(log, definition);
      const run = runner.run();
      await ports.clock.run(0);
      await inbox('EffectConfirmed', 'confirm:1', { token: 'r-1', outcome: 'done', responseDigest: DIGEST }, {
        response: 'shipped',
      } as never);
      await stream.catchUp();
      end.resolve();
      expect(await run).toBe('closed');
      expect((await state()).status).toBe('completed');
      expect(callCount).toBe(1);
    },
  );

  it('that is confirmed right behind its own event counts as confirmed', async () => {
    const end = Promise.withResolvers<void>();
    const definition = besideLong(order(), async (context) => {
      await end.promise;
      // Its append finds the confirmation in the gap before it, in one turn with the event that it confirms.
      await context.run('look', () => 1);
      return {};
    });
    const { runner, ports } = await heldRun(log, definition);
    const run = runner.run();
    await ports.clock.run(0);
    await inbox('EffectConfirmed', 'confirm:1', { token: 'r-1', outcome: 'done', responseDigest: DIGEST }, {
      response: 'shipped',
    } as never);
    end.resolve();
    expect(await run).toBe('closed');
    expect((await state()).status).toBe('completed');
    expect(callCount).toBe(1);
  });

  it.each([false, true])(
    'that is confirmed while its own event is on its way runs the step again (cancelled: %s)',
    async (isCancelled) => {
      const definition = {
        ...definitionOf({
          steps: {
            first: () => ({ next: [{ step: 'a', input: null }] }),
            a: async (context) => ({ done: await context.effect(order(), 1) }),
          },
        }),
        unwinds: true as const,
      };
      const [appended, acknowledged] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const append = log.append.bind(log);
      log.append = async (partition, records) => {
        const result = await append(partition, records);
        if (records.some(({ type }) => type === 'EffectPending')) {
          appended.resolve();
          await acknowledged.promise;
        }
        return result;
      };
      const { runner, stream } = await heldRun(log, definition);
      const run = runner.run();
      await appended.promise;
      if (isCancelled) {
        await inbox('CancelRequested', 'cancel:1', { code: 'cancelled', by: 'ann' }, { why: '' } as never);
      }
      await inbox('EffectConfirmed', 'confirm:1', { token: 'r-1', outcome: 'done', responseDigest: DIGEST }, {
        response: 'shipped',
      } as never);
      const caughtUp = stream.catchUp();
      acknowledged.resolve();
      await caughtUp;
      expect(await run).toBe('closed');
      expect((await state()).status).toBe('completed');
      expect(await controlsOf(log, 'StepFailed')).toEqual([]);
      expect(await resultOf(log)).toEqual(encodePayload('WorkflowCompleted', { output: 'shipped' }));
    },
  );

  it('that a step swallows does not end the step', async () => {
    const definition = definitionOf({
      steps: {
        a: {
          retry: RETRY_AT_ONCE,
          run: async (context) => {
            await context.effect(order({ probe: () => Promise.reject(new Error('down')) }), 1).catch(() => {});
            return { done: 1 };
          },
        },
      },
    });
    const { runner, ports } = await heldRun(log, definition);
    await runner.run();
    await fire((await effectNow()).pending!.probe!.timer);
    const next = await again(definition, ports, 'n');
    expect(await next.runner.run()).toBe('idle');
    expect(await controlsOf(log, 'StepFailed')).toMatchObject([{ code: 'effect-open' }]);
  });

  it('is asked about when its probe is due, again and again, and goes on when the probe knows', async () => {
    const answers: ProbeResult<unknown>[] = [{ status: 'unknown' }, { status: 'done', response: 'shipped' }];
    const definition = workflow(order({ probe: async () => answers.shift()! }));
    const { runner, ports } = await heldRun(log, definition);
    await runner.run();
    const first = (await effectNow()).pending!;
    await fire(first.probe!.timer);
    const second = await again(definition, ports, 'n');
    expect(await second.runner.run()).toBe('idle');
    const rearmed = (await effectNow()).pending!;
    expect(rearmed.probe!.timer).not.toBe(first.probe!.timer);
    expect(rearmed.deadline).toEqual(first.deadline);
    await fire(rearmed.probe!.timer);
    const third = await again(definition, ports, 'm');
    expect(await third.runner.run()).toBe('closed');
    expect(isClosed(await state())).toBe(true);
    expect(callCount).toBe(1);
  });

  it('that nobody confirms in time goes to a person, with the token', async () => {
    const definition = workflow(order());
    const { runner, ports } = await heldRun(log, definition);
    await runner.run();
    await fire((await effectNow()).pending!.deadline!.timer);
    const next = await again(definition, ports, 'n');
    expect(await next.runner.run()).toBe('closed');
    expect(await state()).toMatchObject({ status: 'parked', reason: 'confirmation-overdue' });
    expect(callCount).toBe(1);
  });

  it('that is confirmed while its probe is asked counts as confirmed, whatever the probe says', async () => {
    const asked = Promise.withResolvers<ProbeResult<unknown>>();
    const definition = workflow(order({ probe: () => asked.promise }));
    const { runner, ports } = await heldRun(log, definition);
    await runner.run();
    await fire((await effectNow()).pending!.probe!.timer);
    const next = await again(definition, ports, 'n');
    const run = next.runner.run();
    await ports.clock.run(0);
    await inbox('EffectConfirmed', 'confirm:1', { token: 'r-1', outcome: 'done', responseDigest: DIGEST }, {
      response: 'shipped',
    } as never);
    await next.stream.catchUp();
    asked.resolve({ status: 'unknown' });
    expect(await run).toBe('closed');
    expect((await state()).status).toBe('completed');
  });

  it('whose deadline passes while its probe is asked goes to a person, and does not wait anew', async () => {
    const asked = Promise.withResolvers<ProbeResult<unknown>>();
    const answers = [asked.promise, Promise.resolve<ProbeResult<unknown>>({ status: 'unknown' })];
    const definition = workflow(order({ probe: () => answers.shift()! }));
    const { runner, ports } = await heldRun(log, definition);
    await runner.run();
    const { probe, deadline } = (await effectNow()).pending!;
    await fire(probe!.timer);
    const next = await again(definition, ports, 'n');
    const run = next.runner.run();
    await ports.clock.run(0);
    await fire(deadline!.timer);
    await next.stream.catchUp();
    asked.resolve({ status: 'unknown' });
    expect(await run).toBe('closed');
    expect(await state()).toMatchObject({ status: 'parked', reason: 'confirmation-overdue' });
  });

  it('with a token that is none leaves the outcome open, and a person is asked', async () => {
    const effect = effectOf({ retry: RETRY_AT_ONCE, call: async () => new PendingResult('') });
    const { runner } = await heldRun(log, workflow(effect));
    expect(await runner.run()).toBe('closed');
    expect(await state()).toMatchObject({ status: 'parked', reason: 'effect-unknown' });
  });
});

async function resultOf(log: SimulatedLog): Promise<Uint8Array> {
  const [result] = await log.read([{ partition: P0, from: 0 as never }]);
  const last = Buffer.from(result!.records.at(-1)!.value);
  return last.subarray(last.indexOf(0x0a) + 1);
}
