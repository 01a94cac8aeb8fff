/**
 * The journal: an effect is called after its intention is accepted and never again once it is resolved (I4), never late, and
 * what a former holder left open is decided by the recovery table.
 */

import { FencedError, InvalidError, type Json } from '@tidemark/core';
import type { CallEnd, CallLimiter } from '@tidemark/ports';
import {
  controlsOf,
  definitionOf,
  effectOf,
  entriesOf,
  foldLog,
  inboxRecord,
  openWorkflow,
  P0,
  RETRY_AT_ONCE,
  revocationOf,
  typesOf,
} from '@tidemark/testkit/engine/simulated-definition';
import { quiet, type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { claimedRun, heldRun, watched } from '@tidemark/testkit/engine/simulated-run';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import type { EffectDefinition, ProbeResult, StepContext, StepResult } from '../definition/definition.ts';
import { FatalError, NotDoneError } from '../definition/step-errors.ts';
import { RECORD_CLAIM_PERIODS } from './effect-uses.ts';
import { CALL_WINDOW_MS, RECORD_CLAIM_PERIOD_MS } from './limits.ts';

type Body = (context: StepContext, input: Json) => Promise<StepResult>;
const one = (run: Body) => definitionOf({ steps: { a: run } });

interface Parked {
  readonly error: { readonly message: string };
  readonly evidence: { readonly [name: string]: Json };
}

/** Payloads of the events of a type, in order. */
const payloadsOf = async (log: SimulatedLog, type: string): Promise<readonly unknown[]> =>
  (await entriesOf(log)).flatMap((entry) =>
    entry.kind === 'event' && entry.envelope.type === type ? [JSON.parse(new TextDecoder().decode(entry.payload))] : [],
  );

describe('an effect', () => {
  let log: SimulatedLog;
  let calls: { readonly request: Json; readonly key: string; readonly log: string }[];

  const paying = (spec: Partial<EffectDefinition> = {}): EffectDefinition => {
    const { call = async () => 'paid', ...rest } = spec;
    return effectOf({
      ...rest,
      call: async (request, context) => {
        calls.push({ request, key: context.key, log: (await typesOf(log)).at(-1)! });
        return call(request, context);
      },
    });
  };

  beforeEach(() => {
    log = new SimulatedLog(1);
    calls = [];
  });

  it('is called once its intention and its checkpoint are in the log, with the key of its place', async () => {
    const pay = paying();
    const { runner } = await heldRun(
      log,
      one(async (context) => {
        expect(await context.effect(pay, { cents: 5 })).toBe('paid');
        expect(await context.effect(pay, { cents: 6 })).toBe('paid');
        expect(await context.effect(pay, { cents: 7 }, { name: 'tip' })).toBe('paid');
        return { done: 1 };
      }),
    );
    expect(await runner.run()).toBe('closed');
    expect(calls).toEqual([
      { request: { cents: 5 }, key: 'w:0.0:pay:0', log: 'EffectIntended' },
      { request: { cents: 6 }, key: 'w:0.0:pay:1', log: 'EffectIntended' },
      { request: { cents: 7 }, key: 'w:0.0:pay:tip', log: 'EffectIntended' },
    ]);
    // The checkpoint is reserved once, and is the one that is committed.
    const [reserved, ...others] = await controlsOf(log, 'CheckpointReserved');
    expect(others).toEqual([]);
    const [committed] = await controlsOf(log, 'CheckpointCommitted');
    expect(committed!.checkpoint).toBe(reserved?.checkpoint);
    expect((await foldLog(log)).rejected).toEqual([]);
  });

  it('is not called while its intention is only on its way', async () => {
    const pay = paying();
    const { runner } = await heldRun(
      log,
      one(async (context) => ({ done: await context.effect(pay, null) })),
    );
    const release = log.hold();
    const run = watched(runner.run());
    await quiet();
    expect(calls).toHaveLength(0);
    release();
    expect(await run.ended).toBe('closed');
    expect(calls).toHaveLength(1);
  });

  it('is not called when the lease turns out to be lost, and the run ends with the fence', async () => {
    const pay = paying();
    const { runner, stream } = await heldRun(
      log,
      one(async (context) => ({ done: await context.effect(pay, null) })),
    );
    log.interpose([revocationOf(stream.confirmed)]);
    await expect(runner.run()).rejects.toMatchObject({ code: 'lease-lost' });
    expect(calls).toHaveLength(0);
  });

  it.each(['run', 'effect'] as const)('is not repeated once its outcome is recorded: %s', async (kind) => {
    let bodies = 0;
    const pay = paying();
    let attempts = 0;
    const definition = definitionOf({
      steps: {
        a: {
          retry: RETRY_AT_ONCE,
          run: async (context) => {
            const got =
              kind === 'effect' ? await context.effect(pay, 1) : await context.run('roll', () => `body ${++bodies}`);
            if (++attempts === 1) throw new Error('after the effect');
            return { done: got };
          },
        },
      },
    });
    const { runner, ports } = await heldRun(log, definition);
    expect(await runner.run()).toBe('idle');
    await fireRetry(log, ports);
    const next = await claimedRun(log, definition, { ports });
    expect(await next.runner.run()).toBe('closed');
    expect(attempts).toBe(2);
    expect(bodies + calls.length).toBe(1);
    expect((await foldLog(log)).rejected).toEqual([]);
  });

  it('is one effect when the same key is used twice at once', async () => {
    const pay = paying();
    const { runner, stream } = await heldRun(
      log,
      one(async (context) => {
        const both = [1, 2].map(() => context.effect(pay, 9, { name: 'same' }));
        return { done: await Promise.all(both) };
      }),
    );
    expect(await runner.run()).toBe('closed');
    expect(stream.confirmed.status).toBe('completed');
    expect(calls).toHaveLength(1);
    expect((await foldLog(log)).rejected).toEqual([]);
  });

  it('makes another call where the first was certainly not done', async () => {
    let attempts = 0;
    const pay = paying({
      retry: RETRY_AT_ONCE,
      call: async (request: unknown) => {
        if (JSON.stringify(request).includes('1')) throw new NotDoneError('refused');
        return 'paid';
      },
    });
    const definition = one(async (context) => ({ done: await context.effect(pay, { attempt: ++attempts }) }));
    const { runner, ports } = await heldRun(log, definition);
    await runner.run();
    await fireRetry(log, ports);
    const next = await claimedRun(log, definition, { ports });
    expect(await next.runner.run()).toBe('closed');
    expect(next.stream.confirmed.status).toBe('completed');
  });

  it('parks when the same key asks for something else, and lets nothing be called after it', async () => {
    const pay = paying({ call: async () => 'paid', retry: RETRY_AT_ONCE });
    let attempts = 0;
    const definition = definitionOf({
      steps: {
        a: {
          retry: RETRY_AT_ONCE,
          run: async (context) => {
            attempts++;
            // A step that catches the refusal is stopped all the same.
            await context.effect(pay, { attempt: attempts }).catch(() => context.effect(pay, { attempt: 'another' }));
            if (attempts === 1) throw new Error('after the effect');
            return { done: null };
          },
        },
      },
    });
    const { runner, ports } = await heldRun(log, definition);
    expect(await runner.run()).toBe('idle');
    await fireRetry(log, ports);
    const next = await claimedRun(log, definition, { ports });
    const again = watched(next.runner.run());
    await ports.clock.run(RECORD_CLAIM_PERIODS * RECORD_CLAIM_PERIOD_MS);
    expect(await again.ended).toBe('closed');
    expect(calls).toHaveLength(1);
    expect(await controlsOf(log, 'WorkflowParked')).toMatchObject([
      { code: 'request-changed', task: '0.0', key: 'w:0.0:pay:0' },
    ]);
    expect((await foldLog(log)).rejected).toEqual([]);
  });

  it('parks also when the evidence is as large as an event', async () => {
    const pay = paying();
    const { runner } = await heldRun(
      log,
      one(async (context) => {
        await context.effect(pay, 1, { name: 'x' });
        return { done: await context.effect(pay, 'y'.repeat(2_000_000), { name: 'x' }) };
      }),
    );
    expect(await runner.run()).toBe('closed');
    expect(await controlsOf(log, 'WorkflowParked')).toHaveLength(1);
  });

  it('without a name is refused beside one that differs in a masked secret alone; the same again is not', async () => {
    const refund = (token: string): EffectDefinition => ({
      ...paying({ kind: 'idempotent', parseRequest: () => ({ token: '[masked]' }) }),
      asked: { token },
    });
    const { runner } = await heldRun(
      log,
      one(async (context) => {
        await Promise.all(['a', 'a'].map((token) => context.effect(refund(token), null)));
        await context.effect(refund('b'), null, { name: 'b' });
        await context.effect(refund('b'), null);
        return { done: null };
      }),
    );
    expect(await runner.run()).toBe('closed');
    expect(calls.map(({ request }) => request)).toEqual(['a', 'a', 'b'].map((token) => ({ token })));
    expect(await controlsOf(log, 'WorkflowParked')).toMatchObject([{ code: 'calls-unordered' }]);
  });

  it('of memory is known by its question', async () => {
    const { runner } = await heldRun(
      log,
      one(async (context) => {
        for (const question of ['a', 'b', 'a']) await context.recall(question);
        return { done: await context.run('recall', () => 1) };
      }),
    );
    expect(await runner.run()).toBe('closed');
    const digests = (await controlsOf(log, 'EffectResolved')).map((control) => control.requestDigest);
    expect(new Set(digests).size).toBe(3);
    expect(digests[0]).toBe(digests[2]);
  });

  describe('the call window', () => {
    /** The process stands still while the log's answer is on its way to it. */
    const stopped = async (
      forMs: number,
      limiter?: CallLimiter,
      more: Partial<EffectDefinition> = {},
    ): Promise<{ run: unknown; intentions: number }> => {
      const pay = paying({ call: async () => ports.clock.monotonicMs(), ...more });
      const { runner, ports } = await heldRun(
        log,
        one(async (context) => ({ done: await context.effect(pay, null) })),
        { ports: { ...simulatedPorts(log), calls: limiter } },
      );
      const append = log.append.bind(log);
      let isFirst = true;
      log.append = async (...args) => {
        const offset = await append(...args);
        if (isFirst) ports.clock.jump(forMs);
        isFirst = false;
        return offset;
      };
      const run = await runner.run();
      return { run, intentions: (await controlsOf(log, 'EffectIntended')).length };
    };

    it('intends afresh when the process was stopped after the acceptance, and calls only then', async () => {
      expect(await stopped(CALL_WINDOW_MS + 1)).toEqual({ run: 'closed', intentions: 2 });
      expect(calls).toHaveLength(1);
      expect((await foldLog(log)).rejected).toEqual([]);
    });

    const limiterOf = (said: string[]): CallLimiter => ({
      ask: async () => {
        said.push('ask');
        return { kind: 'pass', call: 'c', inMs: 0 };
      },
      end: async (_asked: unknown, _call: string, { kind }: CallEnd) => void said.push(kind),
      close: async () => {},
    });

    it('keeps the turn that it took before, so no wait leaves an intention in doubt, and gives it back once', async () => {
      const said: string[] = [];
      const limiter = limiterOf(said);
      expect(await stopped(CALL_WINDOW_MS + 1, limiter)).toEqual({ run: 'closed', intentions: 2 });
      expect(said).toEqual(['ask', 'answered']);
    });

    it('gives its turn back where it is not prepared again', async () => {
      const said: string[] = [];
      let count = 0;
      const prepare = async () => {
        if (++count > 1) throw new FatalError('over budget');
        return { control: {}, payload: {} };
      };
      await stopped(CALL_WINDOW_MS + 1, limiterOf(said), { prepare });
      expect(calls).toHaveLength(0);
      expect(said).toEqual(['ask', 'unmade']);
    });

    it('gives its turn back once where the cost of its answer cannot be told', async () => {
      const said: string[] = [];
      const spentOf = () => {
        throw new Error('no usage');
      };
      await stopped(0, limiterOf(said), { spentOf });
      expect(said).toEqual(['ask', 'answered']);
    });

    it('calls at once within the window (control)', async () => {
      expect(await stopped(CALL_WINDOW_MS)).toEqual({ run: 'closed', intentions: 1 });
      expect(calls).toHaveLength(1);
    });

    it('never calls when the lease was revoked while the process was stopped', async () => {
      const pay = paying();
      const { runner, ports, stream } = await heldRun(
        log,
        one(async (context) => ({ done: await context.effect(pay, null) })),
      );
      const append = log.append.bind(log);
      log.append = async (...args) => {
        const offset = await append(...args);
        ports.clock.jump(60_000);
        await append(args[0], [{ value: revocationOf(stream.confirmed), type: 'LeaseRevoked' }]);
        return offset;
      };
      await expect(runner.run()).rejects.toMatchObject({ code: 'lease-lost' });
      expect(calls).toHaveLength(0);
    });
  });

  it('that outlasts its time-out and ignores its signal fails the attempt, and stays open', async () => {
    const pay = paying({ timeoutMs: 5, call: () => new Promise(() => {}), retry: RETRY_AT_ONCE });
    const { runner, stream, ports } = await heldRun(
      log,
      one(async (context) => ({ done: await context.effect(pay, null) })),
    );
    const run = watched(runner.run());
    await ports.clock.run(4);
    expect(run.outcome).toBeUndefined();
    await ports.clock.run(1);
    expect(await run.ended).toBe('idle');
    const [task] = [...stream.confirmed.frontier.tasks];
    expect(task).toMatchObject({ failureCount: 1, effects: [{ status: 'intended' }] });
  });

  it('that certainly was not done is recorded so, and called again with the same key', async () => {
    let refusals = 1;
    const pay = paying({
      retry: RETRY_AT_ONCE,
      call: async () => {
        if (refusals-- > 0) throw new NotDoneError('busy');
        return 'paid';
      },
    });
    const definition = one(async (context) => ({ done: await context.effect(pay, 1) }));
    const { runner, ports } = await heldRun(log, definition);
    expect(await runner.run()).toBe('idle');
    expect(await controlsOf(log, 'EffectResolved')).toMatchObject([{ outcome: 'failed' }]);
    await fireRetry(log, ports);
    const next = await claimedRun(log, definition, { ports });
    expect(await next.runner.run()).toBe('closed');
    expect(calls.map((call) => call.key)).toEqual(['w:0.0:pay:0', 'w:0.0:pay:0']);
  });

  it.each([
    ['irreversible', 'parked'],
    ['idempotent', 'failed'],
  ] as const)('%s and open when the step fails for good: %s', async (kind, status) => {
    const pay = paying({ kind, call: () => Promise.reject(new Error('gone')) });
    const { runner, stream } = await heldRun(
      log,
      one(async (context) => ({ done: await context.effect(pay, 1) })),
    );
    expect(await runner.run()).toBe('closed');
    expect(stream.confirmed.status).toBe(status);
  });

  it('whose answer is refused by its schema stays open', async () => {
    const pay = paying({
      parseResponse: () => {
        throw new InvalidError('response-invalid', 'no');
      },
    });
    const { runner, stream } = await heldRun(
      log,
      one(async (context) => ({ done: await context.effect(pay, 1) })),
    );
    expect(await runner.run()).toBe('closed');
    expect(stream.confirmed).toMatchObject({ status: 'parked', reason: 'effect-unknown' });
  });

  it('whose answer is too large to record is not answered from memory as if it were', async () => {
    const pay = paying({ call: async () => 'x'.repeat(1_100_000) });
    const seen: unknown[] = [];
    const { runner, stream } = await heldRun(
      log,
      one(async (context) => {
        for (const _ of [1, 2]) await context.effect(pay, 1, { name: 'n' }).catch((error: unknown) => seen.push(error));
        return { done: 1 };
      }),
    );
    expect(await runner.run()).toBe('closed');
    expect(seen).toHaveLength(2);
    expect(stream.confirmed.status).toBe('parked');
    expect(calls).toHaveLength(1);
  });

  it.each(['irreversible', 'idempotent'] as const)(
    'whose answer is too large to record asks a person, with its beginning as evidence (%s)',
    async (kind) => {
      const pay = paying({ kind, call: async () => 'x'.repeat(1_100_000) });
      const { runner, stream } = await heldRun(
        log,
        one(async (context) => ({ done: await context.effect(pay, 1) })),
      );
      expect(await runner.run()).toBe('closed');
      expect(calls).toHaveLength(1);
      expect(stream.confirmed.question).toMatchObject({ code: 'outcome-too-large', key: 'w:0.0:pay:0' });
      const { error, evidence } = (await payloadsOf(log, 'WorkflowParked')).at(-1) as unknown as Parked;
      expect(error.message).toMatch(/was called and has answered.*1100\d{3} bytes.*at most 1048576 fit/);
      expect(error.message).toMatch(
        /With a store for large payloads \(TIDEMARK_ARCHIVE_URL\).*as the response \(done\)/,
      );
      expect(error.message.includes('(retry)')).toBe(kind === 'idempotent');
      expect(evidence).toMatchObject({ operation: 'pay', maxBytes: 1_048_576 });
      expect(evidence.beginning).toMatch(/^"x{9999}$/);
    },
  );

  it('of a model whose answer is too large to record is counted with what it cost, and not asked again', async () => {
    const ask = paying({
      kind: 'idempotent',
      retry: RETRY_AT_ONCE,
      call: async () => 'x'.repeat(1_100_000),
      spentOf: () => ({ tokens: 7, costMicros: 3 }),
      lostOf: () => ({ tokens: 1_000, costMicros: 1_000 }),
    });
    const { runner, stream } = await heldRun(
      log,
      one(async (context) => ({ done: await context.effect(ask, 1) })),
    );
    expect(await runner.run()).toBe('closed');
    expect(calls).toHaveLength(1);
    const [failed] = await controlsOf(log, 'EffectResolved');
    expect(failed).toMatchObject({ outcome: 'failed', spent: { tokens: 7, costMicros: 3 } });
    expect(stream.confirmed).toMatchObject({ status: 'failed' });
    const [resolved] = await payloadsOf(log, 'EffectResolved');
    expect(resolved).toMatchObject({ error: { code: 'outcome-too-large' } });
  });

  it('of a closure whose result is too large fails the step, with the size named', async () => {
    const { runner, stream } = await heldRun(
      log,
      one(async (context) => ({ done: ((await context.run('big', () => 'x'.repeat(1_100_000))) as string).length })),
    );
    expect(await runner.run()).toBe('closed');
    expect(stream.confirmed).toMatchObject({ status: 'failed', reason: 'value-too-large' });
  });

  it('left undecided by the step that returned is decided before its checkpoint', async () => {
    const open = Promise.withResolvers<string>();
    const pay = paying({ call: () => open.promise, retry: RETRY_AT_ONCE });
    const { runner, stream, ports } = await heldRun(
      log,
      definitionOf({
        steps: {
          a: {
            retry: RETRY_AT_ONCE,
            run: async (context) => {
              context.effect(pay, 1).catch(() => {});
              await quiet();
              return { done: 1 };
            },
          },
        },
      }),
    );
    const run = watched(runner.run());
    await ports.clock.run(pay.timeoutMs);
    expect(await run.ended).toBe('idle');
    expect(await controlsOf(log, 'StepFailed')).toMatchObject([{ code: 'effect-open' }]);
    expect(stream.confirmed.head.sequence).toBe(0);
  });

  describe('when the worker must go', () => {
    it('between the intention and the call records that it was not called, and lets go after that', async () => {
      const pay = paying();
      const { runner, abandon, stop, stream } = await heldRun(
        log,
        one(async (context) => ({ done: await context.effect(pay, 1) })),
      );
      const release = log.hold();
      const run = watched(runner.run());
      await quiet();
      stop.abort();
      abandon.abort(new FencedError('abandoned', 'now'));
      await quiet();
      release();
      expect(await run.ended).toBe('stopped');
      expect(calls).toHaveLength(0);
      const [task] = [...stream.confirmed.frontier.tasks];
      expect(task!.effects).toMatchObject([{ status: 'failed' }]);
      expect((await foldLog(log)).rejected).toEqual([]);
    });

    it('during the call leaves it open, for the next holder to decide', async () => {
      const pay = paying({ call: () => new Promise(() => {}) });
      const { runner, abandon, stop, stream } = await heldRun(
        log,
        one(async (context) => ({ done: await context.effect(pay, 1) })),
      );
      const run = watched(runner.run());
      await quiet();
      stop.abort();
      abandon.abort(new FencedError('abandoned', 'now'));
      expect(await run.ended).toBe('stopped');
      const [task] = [...stream.confirmed.frontier.tasks];
      expect(task).toMatchObject({ failureCount: 0, effects: [{ status: 'intended' }] });
    });

    it('refuses further effects of the step, and intends none', async () => {
      const pay = paying();
      const go = Promise.withResolvers<void>();
      const refused: unknown[] = [];
      const { runner, abandon, stop } = await heldRun(
        log,
        one(async (context) => {
          await go.promise;
          await context.effect(pay, 1).catch((error: unknown) => refused.push(error));
          await context.run('late', () => 1).catch((error: unknown) => refused.push(error));
          return { done: 1 };
        }),
      );
      const run = watched(runner.run());
      await quiet();
      stop.abort();
      abandon.abort(new FencedError('abandoned', 'now'));
      go.resolve();
      expect(await run.ended).toBe('stopped');
      await quiet();
      expect(refused).toHaveLength(2);
      expect(await controlsOf(log, 'EffectIntended')).toEqual([]);
    });
  });

  describe('left intended by a holder that is gone', () => {
    /** A first holder dies during its call, or falls silent; the second goes on with the given effect. */
    const leaveOpen = async (
      pay: EffectDefinition,
      isGone: boolean,
    ): Promise<{ ports: SimulatedPorts; definition: ReturnType<typeof one> }> => {
      const ports = simulatedPorts(log);
      const definition = one(async (context) => ({ done: await context.effect(pay, 1) }));
      await openWorkflow(ports, definition);
      const dead = await claimedRun(log, definition, { ports, callEffect: () => new Promise(() => {}) });
      watched(dead.runner.run());
      await quiet();
      await log.append(P0, [{ value: revocationOf(dead.stream.confirmed, isGone), type: 'LeaseRevoked' }]);
      return { ports, definition };
    };

    const recover = async (pay: EffectDefinition, isGone = true) => {
      const { ports, definition } = await leaveOpen(pay, isGone);
      const held = await claimedRun(log, definition, { ports });
      const run = watched(held.runner.run());
      await quiet();
      return { ...held, ports, run, definition };
    };

    const answering = (...answers: ProbeResult<unknown>[]) => {
      const keys: string[] = [];
      const probe: NonNullable<EffectDefinition['probe']> = async (key) => {
        keys.push(key);
        return answers.length > 1 ? answers.shift()! : answers[0]!;
      };
      return { probe, keys };
    };

    it('and done by its probe: recorded, and not called', async () => {
      const { probe, keys } = answering({ status: 'done', response: 'earlier' });
      const { run, stream } = await recover(paying({ probe }));
      expect(await run.ended).toBe('closed');
      expect(keys).toEqual(['w:0.0:pay:0']);
      expect(calls).toHaveLength(0);
      expect(stream.confirmed.status).toBe('completed');
    });

    it('and not done by its probe: called again with the same key once window and time-out have passed', async () => {
      const { probe, keys } = answering({ status: 'not-done' });
      const { run, ports } = await recover(paying({ probe, timeoutMs: 30_000 }));
      await ports.clock.run(CALL_WINDOW_MS + 30_000 - 1);
      expect(calls).toHaveLength(0);
      await ports.clock.run(1);
      expect(await run.ended).toBe('closed');
      expect(calls.map((call) => call.key)).toEqual(['w:0.0:pay:0']);
      expect(keys).toHaveLength(2);
      expect(await controlsOf(log, 'EffectIntended')).toHaveLength(2);
    });

    it('and done after all while it waited: not called', async () => {
      const { probe } = answering({ status: 'not-done' }, { status: 'done', response: 'late' });
      const { run, ports } = await recover(paying({ probe }));
      await ports.clock.run(60_000);
      expect(await run.ended).toBe('closed');
      expect(calls).toHaveLength(0);
    });

    it('stops waiting when the worker must go', async () => {
      const { probe } = answering({ status: 'not-done' });
      const { run, abandon, stop } = await recover(paying({ probe }));
      stop.abort();
      abandon.abort(new FencedError('abandoned', 'now'));
      expect(await run.ended).toBe('stopped');
      expect(calls).toHaveLength(0);
    });

    it.each([
      ['no probe', undefined],
      ['a probe that knows nothing', { status: 'unknown' } as const],
    ])('irreversible with %s: a person decides', async (_, answer) => {
      const pay = paying(answer === undefined ? {} : { probe: async () => answer });
      const { run, stream } = await recover(pay);
      expect(await run.ended).toBe('closed');
      expect(stream.confirmed).toMatchObject({ status: 'parked', reason: 'effect-unknown' });
      expect(calls).toHaveLength(0);
    });

    it.each([
      ['no probe', undefined],
      ['a probe that knows nothing', { status: 'unknown' } as const],
    ])('idempotent with %s: called again with the same key', async (_, answer) => {
      const pay = paying({ kind: 'idempotent', ...(answer === undefined ? {} : { probe: async () => answer }) });
      const { run } = await recover(pay);
      expect(await run.ended).toBe('closed');
      expect(calls.map((call) => call.key)).toEqual(['w:0.0:pay:0']);
    });

    it('idempotent and refused when called again: still open, since the first call may have been made', async () => {
      const refuse = () => Promise.reject(new NotDoneError('busy'));
      const { run, stream } = await recover(paying({ kind: 'idempotent', retry: RETRY_AT_ONCE, call: refuse }));
      expect(await run.ended).toBe('idle');
      const [task] = [...stream.confirmed.frontier.tasks];
      expect(task!.effects).toMatchObject([{ status: 'intended' }]);
    });

    it('irreversible, known not to be done, and refused when called again: recorded as not done (the control)', async () => {
      const refuse = () => Promise.reject(new NotDoneError('busy'));
      const { probe } = answering({ status: 'not-done' });
      const { run, stream, ports } = await recover(paying({ probe, retry: RETRY_AT_ONCE, call: refuse }));
      await ports.clock.run(60_000);
      expect(await run.ended).toBe('idle');
      const [task] = [...stream.confirmed.frontier.tasks];
      expect(task!.effects).toMatchObject([{ status: 'failed' }]);
    });

    describe('that fell silent', () => {
      const NOT_DONE = { status: 'not-done' } as const;
      const effects = async () =>
        [...(await foldLog(log)).state.streams.values()][0]!.frontier.tasks.get('0.0' as never);

      it('and not done by a probe that fences nothing: a person is asked, who ends it and has the probe decide', async () => {
        const pay = paying({ probe: async () => NOT_DONE });
        const { run, ports, definition, stream } = await recover(pay, false);
        await ports.clock.run(60_000);
        expect(await run.ended).toBe('closed');
        expect(calls).toHaveLength(0);
        expect(stream.confirmed).toMatchObject({ status: 'parked', reason: 'caller-silent' });
        // The silent one's own end of the run comes later, and is rejected.
        const parked = ((await payloadsOf(log, 'WorkflowParked')) as readonly Parked[]).at(-1);
        const [{ holder: first }] = (await controlsOf(log, 'LeaseRevoked')) as [{ holder: string }];
        expect(parked!.error.message).toContain(`Worker ${first} fell silent in effect w:0.0:pay:0`);
        expect(parked!.evidence).toMatchObject({ silentWorkers: [first], probe: 'not-done' });
        const control = {
          question: stream.confirmed.question!.id,
          resolution: 'retry',
          by: 'ann',
          responseDigest: null,
        };
        const answer = inboxRecord(stream.confirmed, 'd', 'ApprovalDecided', control as never, { why: 'killed it' });
        await log.append(P0, [{ value: answer, type: 'ApprovalDecided' }]);
        const next = await claimedRun(log, definition, { ports });
        const again = watched(next.runner.run());
        await ports.clock.run(60_000);
        expect(await again.ended).toBe('closed');
        expect(calls).toHaveLength(1);
      });

      it('and so did an heir that waited: the question names both, since ending the last alone leaves the first', async () => {
        const { ports, definition } = await leaveOpen(paying({ probe: async () => NOT_DONE }), false);
        const heir = await claimedRun(log, definition, { ports });
        await log.append(P0, [{ value: revocationOf(heir.stream.confirmed, false), type: 'LeaseRevoked' }]);
        const next = await claimedRun(log, definition, { ports });
        const run = watched(next.runner.run());
        await ports.clock.run(60_000);
        expect(await run.ended).toBe('closed');
        // The silent first one's own end of the run comes too, and is rejected.
        const parked = ((await payloadsOf(log, 'WorkflowParked')) as readonly Parked[]).at(-1);
        const both = ((await controlsOf(log, 'LeaseRevoked')) as { holder: string }[]).map(({ holder }) => holder);
        expect(new Set(both).size).toBe(2);
        expect(parked!.evidence).toMatchObject({ silentWorkers: both });
        expect(parked!.error.message).toContain(`Workers ${both.join(', ')} fell silent`);
      });

      it('and came back while the heir waited: its call is recorded, and nobody is asked', async () => {
        const { probe } = answering(NOT_DONE, { status: 'done', response: 'late' });
        const { run, ports, stream } = await recover(paying({ probe }), false);
        await ports.clock.run(60_000);
        expect(await run.ended).toBe('closed');
        expect([calls.length, stream.confirmed.status]).toEqual([0, 'completed']);
      });

      it.each<[string, Partial<EffectDefinition>, number]>([
        ['its probe fences the key', { probeFences: true }, 0],
        ['the definition takes the risk', { afterSilence: 'call' }, 60_000],
        ['its receiver deduplicates', { kind: 'idempotent' }, 0],
      ])('is called again where %s', async (_, spec, waitMs) => {
        const { run, ports, stream } = await recover(paying({ probe: async () => NOT_DONE, ...spec }), false);
        await ports.clock.run(waitMs);
        expect(await run.ended).toBe('closed');
        expect(calls.map((call) => call.key)).toEqual(['w:0.0:pay:0']);
        expect(stream.confirmed.status).toBe('completed');
      });

      it('and refused when called again: still open, since the silent one may call; still silent when that one dies', async () => {
        const refuse = () => Promise.reject(new NotDoneError('busy'));
        const pay = paying({ kind: 'idempotent', probe: async () => NOT_DONE, retry: RETRY_AT_ONCE, call: refuse });
        const { run } = await recover(pay, false);
        expect(await run.ended).toBe('idle');
        const [{ holder }] = (await controlsOf(log, 'LeaseRevoked')) as [{ holder: string }];
        expect((await effects())?.effects).toMatchObject([{ status: 'intended', silentHolders: [holder] }]);
      });

      it('with nothing to ask: a person decides, and is told of it', async () => {
        const { run, stream } = await recover(paying(), false);
        expect(await run.ended).toBe('closed');
        expect(stream.confirmed.reason).toBe('effect-unknown');
        const [parked] = (await payloadsOf(log, 'WorkflowParked')) as readonly Parked[];
        expect(parked!.error.message).toContain('may still make the call');
      });
    });

    it.each([
      ['throws', () => Promise.reject(new Error('down'))],
      ['never answers and ignores its signal', () => new Promise<never>(() => {})],
    ])('whose probe %s: the attempt fails and is tried again, nothing is called', async (_, probe) => {
      const { run, stream, ports } = await recover(paying({ probe, timeoutMs: 5, retry: RETRY_AT_ONCE }));
      await ports.clock.run(5);
      expect(await run.ended).toBe('idle');
      expect(stream.confirmed.status).toBe('open');
      expect(calls).toHaveLength(0);
    });
  });

  it('of kind pure is journaled without an intention, and called again only when unrecorded', async () => {
    const poll = paying({ kind: 'pure', operation: 'look', call: async () => 3 });
    const { runner } = await heldRun(
      log,
      one(async (context) => ({ done: await context.effect(poll, 1) })),
    );
    expect(await runner.run()).toBe('closed');
    expect(await controlsOf(log, 'EffectIntended')).toEqual([]);
    expect(await controlsOf(log, 'EffectResolved')).toMatchObject([{ kind: 'pure', outcome: 'done' }]);
  });

  it('whose key is too long is refused, and so is a fatal error without another attempt', async () => {
    const pay = paying({ retry: RETRY_AT_ONCE, call: () => Promise.reject(new FatalError('never')) });
    const { runner, stream } = await heldRun(
      log,
      one(async (context) => {
        await expect(context.effect(pay, 1, { name: 'n'.repeat(600) })).rejects.toMatchObject({
          code: 'effect-key-too-long',
        });
        return { done: await context.effect(pay, 1) };
      }),
    );
    expect(await runner.run()).toBe('closed');
    expect(stream.confirmed.status).toBe('parked');
    expect(calls).toHaveLength(1);
  });
});

/** A coordinator fires the retry timer of the first task. */
async function fireRetry(log: SimulatedLog, ports: SimulatedPorts): Promise<void> {
  const { state } = await foldLog(log);
  const [stream] = [...state.streams.values()];
  const [task] = [...stream!.frontier.tasks];
  const { timer } = task!.retry!;
  const value = inboxRecord(stream!, `timer:${timer}`, 'TimerFired', { timer }, null);
  await log.append(P0, [{ value, type: 'TimerFired' }]);
  ports.clock.jump(1);
}
