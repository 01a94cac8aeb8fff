/** What a new holder does before it runs anything: decisions of people, crashes (D5), budgets, and phantom checkpoints (D1, D3). */

import {
  type Controls,
  DEFAULT_RECOVERY,
  InvalidError,
  type RecoveryPolicy,
  type Resolution,
  type StreamState,
} from '@tidemark/core';
import type { EffectRow } from '@tidemark/ports';
import { SimulatedLog } from '@tidemark/testkit';
import {
  controlsOf,
  definitionOf,
  effectOf,
  entriesOf,
  foldLog,
  inboxRecord,
  NO_RETRY,
  openWorkflow,
  P0,
  RETRY_AT_ONCE,
  typesOf,
} from '@tidemark/testkit/engine/simulated-definition';
import { type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { claimedRun } from '@tidemark/testkit/engine/simulated-run';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Definition, EffectDefinition, ProbeResult, TaskRequest } from '../definition/definition.ts';
import { FatalError, ParkError } from '../definition/step-errors.ts';
import { CALL_WINDOW_MS } from '../effects/limits.ts';

const DIGEST = 'd'.repeat(64);

let log: SimulatedLog;
let ports: SimulatedPorts;
let holderCount: number;

beforeEach(() => {
  log = new SimulatedLog(1);
  ports = simulatedPorts(log);
  holderCount = 0;
});

const state = async (): Promise<StreamState> => [...(await foldLog(log)).state.streams.values()][0]!;
const claim = (definition: Definition, head: readonly EffectRow[] = [], recovery?: RecoveryPolicy) =>
  claimedRun(log, definition, { ports, holder: `h${++holderCount}-`, head, recovery });

/** The holder is dead, as a coordinator saw at this time; `isGone`: so it knew for certain. */
async function die(atMs = 0, isGone = true): Promise<void> {
  const stream = await state();
  const { epoch, holder } = stream.lease!;
  const control: Controls['LeaseRevoked'] = { epoch, holder, reason: 'holder-dead', isGone };
  await log.append(P0, [
    { value: inboxRecord(stream, `revoke:${epoch}`, 'LeaseRevoked', control, null, atMs), type: 'LeaseRevoked' },
  ]);
}

async function decide(resolution: Resolution, response?: string): Promise<void> {
  const stream = await state();
  const control: Controls['ApprovalDecided'] = {
    question: stream.question!.id,
    resolution,
    by: 'ann',
    responseDigest: response === undefined ? null : DIGEST,
  };
  const payload = { why: 'looked it up', ...(response === undefined ? {} : { response }) };
  const id = `decide:${stream.question!.id}`;
  await log.append(P0, [
    { value: inboxRecord(stream, id, 'ApprovalDecided', control, payload), type: 'ApprovalDecided' },
  ]);
}

/** Two tasks side by side; each waits for its turn to be counted. */
const pair = (): { definition: Definition; under: string[]; go: PromiseWithResolvers<void> } => {
  const under: string[] = [];
  const go = Promise.withResolvers<void>();
  const definition = definitionOf({
    next: [
      { step: 'a', input: 1 },
      { step: 'a', input: 2 },
    ],
    steps: {
      a: async (context) => {
        under.push(context.task);
        await go.promise;
        return under.length < 2 ? {} : { done: 1 };
      },
    },
  });
  return { definition, under, go };
};

describe('after a crash', () => {
  it('tasks run one at a time until one commits, so that the next crash tells which it is', async () => {
    const { definition, under, go } = pair();
    await openWorkflow(ports, definition);
    await claim(definition);
    await die();
    const { runner } = await claim(definition);
    const run = runner.run();
    await ports.clock.run(0);
    expect(under).toEqual(['0.0']);
    go.resolve();
    expect(await run).toBe('closed');
  });

  it('and without one they run side by side (the control)', async () => {
    const { definition, under, go } = pair();
    await openWorkflow(ports, definition);
    const { runner } = await claim(definition);
    const run = runner.run();
    await ports.clock.run(0);
    expect(under).toEqual(['0.0', '0.1']);
    go.resolve();
    expect(await run).toBe('closed');
  });

  it('the fourth within an hour without a checkpoint asks a person, with the step that ran alone', async () => {
    const { definition } = pair();
    await openWorkflow(ports, definition);
    for (let crash = 0; crash < 4; crash++) {
      await claim(definition);
      await die(crash * 60_000);
    }
    const { runner } = await claim(definition);
    expect(await runner.run()).toBe('closed');
    expect(await state()).toMatchObject({ status: 'parked', question: { code: 'recovery-limit', task: '0.0' } });
    await decide('retry');
    expect(await state()).toMatchObject({ status: 'open', crashCount: 0 });
  });

  it('four over more than an hour do not (the control)', async () => {
    const { definition, go } = pair();
    go.resolve();
    await openWorkflow(ports, definition);
    for (let crash = 0; crash < 4; crash++) {
      await claim(definition);
      await die((crash * (DEFAULT_RECOVERY.windowMs + 3)) / 3);
    }
    const { runner } = await claim(definition);
    expect(await runner.run()).toBe('closed');
    expect((await state()).status).toBe('completed');
  });

  it.each<[string, Partial<RecoveryPolicy> | undefined, RecoveryPolicy | undefined, number]>([
    ['the definition says', { attempts: 1 }, { attempts: 9, windowMs: 3_600_000, delayMs: 0 }, 2],
    ['the fleet says', undefined, { attempts: 5, windowMs: 3_600_000, delayMs: 0 }, 6],
    ['neither says (control)', undefined, undefined, 4],
  ])('a person is asked after as many as %s', async (_, recovery, fleet, count) => {
    const { definition } = pair();
    const own = { ...definition, recovery };
    await openWorkflow(ports, own);
    for (let crash = 1; crash <= count; crash++) {
      const { runner } = await claim(own, [], fleet);
      const run = runner.run();
      await ports.clock.run(0);
      expect((await state()).status).toBe('open');
      await die(crash * 60_000);
      runner.cancel(new Error('died'));
      await run.catch(() => {});
    }
    void (await claim(own, [], fleet)).runner.run().catch(() => {});
    await ports.clock.run(0);
    expect((await state()).question?.code).toBe('recovery-limit');
  });

  it('it rests for as long as it is told, longer after each, without a worker, and uses up no attempt by that', async () => {
    const { definition, under, go } = pair();
    const own = { ...definition, recovery: { delayMs: 60_000 } };
    go.resolve();
    await openWorkflow(ports, own);
    await claim(own);
    await die(ports.clock.nowMs());
    await claim(own);
    await die(ports.clock.nowMs());
    const { runner } = await claim(own);
    expect(await runner.run()).toBe('idle');
    const { frontier, crashCount } = await state();
    const [task] = [...frontier.tasks];
    expect(task).toMatchObject({
      retry: { delayMs: 120_000 },
      outage: { why: 'its worker crashed', inLineMs: 120_000 },
    });
    expect([under.length, crashCount, task!.failureCount - task!.passingCount!]).toEqual([0, 2, 0]);
    await ports.clock.run(120_000);
    for (const { retry } of (await state()).frontier.tasks) {
      const { timer } = retry!;
      const value = inboxRecord(await state(), `timer:${timer}`, 'TimerFired', { timer }, null);
      await log.append(P0, [{ value, type: 'TimerFired' }]);
    }
    expect(await (await claim(own)).runner.run()).toBe('closed');
    expect((await state()).status).toBe('completed');
  });
});

describe('a step', () => {
  it('that fails the same way again and again is parked with its evidence, whatever its policy', async () => {
    const definition = definitionOf({
      steps: {
        a: {
          retry: { ...RETRY_AT_ONCE, attempts: 1_000 },
          run: () => Promise.reject(Object.assign(new Error('no'), { code: 'e-broken' })),
        },
      },
    });
    await openWorkflow(ports, definition);
    for (let attempt = 0; (await state()).status === 'open' && attempt < 100; attempt++) {
      await (await claim(definition)).runner.run();
      const [task] = [...(await state()).frontier.tasks];
      if (task?.retry == null) break;
      const { timer } = task.retry;
      await log.append(P0, [
        { value: inboxRecord(await state(), `timer:${timer}`, 'TimerFired', { timer }, null), type: 'TimerFired' },
      ]);
    }
    expect(await state()).toMatchObject({ status: 'parked', question: { code: 'poison-step', task: '0.0' } });
    expect(await controlsOf(log, 'StepFailed')).toHaveLength(20);
  });

  it('that loops for ever is asked about when the budget is used up, and goes on with as much again', async () => {
    const definition = definitionOf({
      stepBudget: 5,
      steps: { a: () => ({ next: [{ step: 'a', input: null }] }) },
    });
    await openWorkflow(ports, definition);
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect(await state()).toMatchObject({ status: 'parked', reason: 'step-budget', head: { sequence: 5 } });
    await decide('retry');
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect(await state()).toMatchObject({ status: 'parked', head: { sequence: 10 } });
  });
});

describe('a decision', () => {
  const refused = effectOf({ call: () => Promise.reject(new Error('cut')), retry: RETRY_AT_ONCE });
  const asking = (effect: EffectDefinition = refused): Definition =>
    definitionOf({
      effects: [effect],
      steps: { a: async (context) => ({ done: await context.effect(effect, 1) }) },
    });
  const parked = async (definition: Definition): Promise<void> => {
    await openWorkflow(ports, definition);
    // The attempt fails with an open outcome; the next one asks for it, and nobody knows.
    expect(await (await claim(definition)).runner.run()).toBe('idle');
    const { timer } = [...(await state()).frontier.tasks][0]!.retry!;
    await log.append(P0, [
      { value: inboxRecord(await state(), `timer:${timer}`, 'TimerFired', { timer }, null), type: 'TimerFired' },
    ]);
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect(await state()).toMatchObject({ status: 'parked', reason: 'effect-unknown' });
  };

  it('done: goes on with the response that the person gave, and calls nothing', async () => {
    const definition = asking();
    await parked(definition);
    await decide('done', 'paid');
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect((await state()).status).toBe('completed');
    expect(await controlsOf(log, 'EffectIntended')).toHaveLength(1);
  });

  it('not done: calls again with the same key', async () => {
    const definition = asking();
    await parked(definition);
    await decide('not-done');
    await (await claim(definition)).runner.run();
    const keys = (await controlsOf(log, 'EffectIntended')).map(({ key }) => key);
    expect(keys).toEqual(['w:0.0:pay:0', 'w:0.0:pay:0']);
  });

  it('done, with a response that the effect does not take: a person is asked again, and may set it right', async () => {
    const definition = asking({
      ...refused,
      parseResponse: (value) => {
        if (value !== 'paid') throw new InvalidError('effect-response-invalid', 'expected paid');
        return value;
      },
    });
    await parked(definition);
    await decide('done', 'forged');
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect((await state()).question).toMatchObject({ code: 'response-unfit', key: 'w:0.0:pay:0' });
    await decide('done', 'paid');
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect((await state()).status).toBe('completed');
    expect(await controlsOf(log, 'EffectIntended')).toHaveLength(1);
  });

  it('not done: what fails again after that is tried again, as often as at first', async () => {
    const definition = asking();
    await parked(definition);
    await decide('not-done');
    await (await claim(definition)).runner.run();
    const timers = (await controlsOf(log, 'StepFailed')).map(({ retry }) => (retry as { timer: string }).timer);
    expect(new Set(timers).size).toBe(2);
    await log.append(P0, [
      {
        value: inboxRecord(await state(), `timer:${timers[1]}`, 'TimerFired', { timer: timers[1]! }, null),
        type: 'TimerFired',
      },
    ]);
    expect([...(await state()).frontier.tasks][0]!.retry).toBeNull();
  });

  it('fail: ends the workflow', async () => {
    const definition = asking();
    await parked(definition);
    await decide('fail');
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect(await state()).toMatchObject({ status: 'failed', reason: 'rejected' });
  });

  it('compensate: the workflow is compensated, the open effect counting as unknown', async () => {
    const definition = asking();
    await parked(definition);
    await decide('compensate');
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect(await state()).toMatchObject({ status: 'compensating', undo: 'w~undo' });
    expect(await controlsOf(log, 'CompensationStarted')).toMatchObject([{ depth: 1, key: 'w:0.0:pay:0' }]);
  });

  it('is not needed where a compensation for unknown outcomes is registered', async () => {
    const definition = asking({ ...refused, compensateUnknown: async () => {} });
    await openWorkflow(ports, definition);
    await (await claim(definition)).runner.run();
    const { timer } = [...(await state()).frontier.tasks][0]!.retry!;
    await log.append(P0, [
      { value: inboxRecord(await state(), `timer:${timer}`, 'TimerFired', { timer }, null), type: 'TimerFired' },
    ]);
    const { runner } = await claim(definition);
    const run = runner.run();
    // Not before the call that nobody knows of can't arrive any more.
    await ports.clock.run(CALL_WINDOW_MS + refused.timeoutMs - 1);
    expect((await state()).status).toBe('open');
    await ports.clock.run(1);
    expect(await run).toBe('closed');
    expect((await state()).status).toBe('compensating');
  });

  it('retry, about what is recorded as done: is not asked again', async () => {
    const paid = effectOf({ call: async () => 'paid', probe: async () => ({ status: 'not-done' }) });
    const definition = definitionOf({
      effects: [paid],
      steps: {
        a: async (context) => {
          await context.effect(paid, 1);
          await ports.clock.sleep(1_000);
          return { done: 1 };
        },
      },
    });
    await openWorkflow(ports, definition);
    const first = await claim(definition);
    void first.runner.run().catch(() => {});
    await ports.clock.run(0);
    await die();
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect(await state()).toMatchObject({ status: 'parked', reason: 'effect-invalid' });
    await decide('retry');
    const { runner } = await claim(definition);
    const run = runner.run();
    await ports.clock.run(1_000);
    expect(await run).toBe('closed');
    expect((await state()).status).toBe('completed');
  });
});

describe('what ends a run', () => {
  /** One task fails for good while a call of the other is under way. */
  const beside = (onFailure: Definition['onFailure'], fail: () => never) => {
    const answer = Promise.withResolvers<string>();
    const pay = effectOf({ kind: 'idempotent', call: () => answer.promise, compensate: async () => {} });
    const definition = definitionOf({
      onFailure,
      effects: [pay],
      next: [
        { step: 'a', input: null },
        { step: 'b', input: null },
      ],
      steps: {
        a: async (context) => {
          await context.effect(pay, 1);
          return {};
        },
        b: async () => {
          await ports.clock.sleep(10);
          return fail();
        },
      },
    });
    return { definition, answer };
  };
  const broken = (): never => {
    throw new Error('no');
  };

  it.each([
    ['an undo', 'compensate', broken, 'compensating'],
    [
      'a question',
      'fail',
      () => {
        throw new ParkError('asked', 'who knows', null, {});
      },
      'parked',
    ],
  ] as const)('waits for calls under way: %s', async (_, onFailure, fail, status) => {
    const { definition, answer } = beside(onFailure, fail);
    await openWorkflow(ports, definition);
    const { runner } = await claim(definition);
    const run = runner.run();
    await ports.clock.run(1_000);
    expect((await state()).status).toBe('open');
    answer.resolve('paid');
    await ports.clock.run(0);
    expect(await run).toBe('closed');
    expect(await state()).toMatchObject({ status, question: status === 'parked' ? { code: 'asked' } : null });
    expect(await controlsOf(log, 'EffectResolved')).toHaveLength(1);
  });
});

describe('a question about a call that another task left open', () => {
  it('names that task, so that it can be decided', async () => {
    const lost = effectOf({ call: () => Promise.reject(new Error('cut')), retry: RETRY_AT_ONCE });
    const definition = definitionOf({
      next: [
        { step: 'a', input: null },
        { step: 'b', input: null },
      ],
      steps: {
        a: async (context) => ({ output: await context.effect(lost, 1) }),
        b: async () => {
          await ports.clock.sleep(10);
          return { done: 1 };
        },
      },
    });
    await openWorkflow(ports, definition);
    const { runner } = await claim(definition);
    const run = runner.run();
    await ports.clock.run(10);
    expect(await run).toBe('closed');
    expect((await state()).question).toMatchObject({ code: 'effect-unknown', task: '0.0', key: 'w:0.0:pay:0' });
    await decide('done', 'paid');
    expect((await state()).status).toBe('open');
  });
});

describe('a cancelled workflow whose call is open', () => {
  it.each([
    ['is compensated after its worker is gone', true, {}, 'compensating', null],
    ['asks a person after its worker fell silent', false, {}, 'parked', 'effect-unknown'],
    ['is compensated where its definition takes the risk', false, { afterSilence: 'call' }, 'compensating', null],
  ] as const)('%s', async (_, isGone, spec, status, code) => {
    const pay = effectOf({ ...spec, call: () => new Promise<never>(() => {}), compensateUnknown: async () => {} });
    const definition = definitionOf({
      effects: [pay],
      steps: { a: async (context) => ({ done: await context.effect(pay, 1) }) },
    });
    await openWorkflow(ports, definition);
    void (await claim(definition)).runner.run().catch(() => {});
    await ports.clock.run(0);
    await die(0, isGone);
    const cancel = inboxRecord(await state(), 'c', 'CancelRequested', { code: 'cancelled', by: 'ann' }, { why: '' });
    await log.append(P0, [{ value: cancel, type: 'CancelRequested' }]);
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect(await state()).toMatchObject({ status, question: code === null ? null : { code } });
  });
});

describe('two tasks that end the run at the same time', () => {
  it('are one end', async () => {
    const definition = definitionOf({
      next: [
        { step: 'a', input: null },
        { step: 'a', input: null },
      ],
      steps: {
        a: async () => {
          throw new ParkError('asked', 'who knows', null, {});
        },
      },
    });
    await openWorkflow(ports, definition);
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect((await foldLog(log)).rejected).toEqual([]);
    expect(await controlsOf(log, 'WorkflowParked')).toHaveLength(1);
  });
});

describe('a step that fails for good', () => {
  const failing = (onFailure: Definition['onFailure']): Definition =>
    definitionOf({ onFailure, steps: { a: () => Promise.reject(new Error('no')) } });

  it('leads to the undo where the workflow wants it so', async () => {
    const definition = failing('compensate');
    await openWorkflow(ports, definition);
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect((await state()).status).toBe('compensating');
    expect(await typesOf(log)).toEqual(['WorkflowOpened', 'LeaseClaimed', 'StepFailed', 'CompensationStarted']);
  });

  it.each([
    ['a bug', new Error('no'), 'parked', 'step-failed'],
    ['a value of ours that does not fit', new InvalidError('belief-invalid', 'no'), 'parked', 'step-failed'],
    ['what the step names as final', new FatalError('no'), 'failed', 'fatal'],
    ['what the policy names as final', Object.assign(new Error('no'), { code: 'sold-out' }), 'failed', 'sold-out'],
  ])('is a person’s where the workflow wants it so: %s', async (_, error, status, reason) => {
    const retry = { ...NO_RETRY, nonRetryable: ['sold-out'] };
    const definition = definitionOf({ onFailure: 'park', steps: { a: { run: () => Promise.reject(error), retry } } });
    await openWorkflow(ports, definition);
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect(await state()).toMatchObject({ status, reason });
  });

  it('goes on from its task once a person has let it', async () => {
    let isMended = false;
    const a = async () => {
      if (!isMended) throw new Error('no');
      return { done: null };
    };
    const definition = definitionOf({ onFailure: 'park', steps: { a } });
    await openWorkflow(ports, definition);
    await (await claim(definition)).runner.run();
    expect((await state()).status).toBe('parked');
    isMended = true;
    await decide('retry');
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect((await state()).status).toBe('completed');
  });

  it('and fails the workflow otherwise (the control)', async () => {
    const definition = failing('fail');
    await openWorkflow(ports, definition);
    expect(await (await claim(definition)).runner.run()).toBe('closed');
    expect((await state()).status).toBe('failed');
  });
});

describe('the newest checkpoint', () => {
  let probeCount: number;
  const paying = (answers: (() => Promise<ProbeResult<unknown>>)[], more: Partial<EffectDefinition> = {}) =>
    effectOf({
      call: async () => 'paid',
      retry: { ...RETRY_AT_ONCE, attempts: 2 },
      probe: () => {
        probeCount++;
        return (answers.length > 1 ? answers.shift()! : answers[0]!)();
      },
      ...more,
    });
  const twoSteps = (effect: EffectDefinition, width = 1): Definition =>
    definitionOf({
      effects: [effect],
      steps: {
        a: async (context) => {
          await context.effect(effect, 1);
          return { next: Array.from({ length: width }, () => ({ step: 'b', input: null })) };
        },
        b: () => ({ done: 1 }),
      },
    });
  /** The first step is committed, and its holder dies before the second. */
  const committed = async (definition: Definition): Promise<readonly EffectRow[]> => {
    await openWorkflow(ports, definition);
    const first = await claim({ ...definition, stepBudget: 1 });
    await first.runner.run();
    await decide('retry');
    await claim(definition);
    await die();
    const row = {
      workflow: 'w',
      key: 'w:0.0:pay:0',
      task: '0.0',
      operation: 'pay',
      kind: 'irreversible',
      status: 'done',
      requestDigest: DIGEST,
      responseDigest: DIGEST,
      position: 5,
      atMs: 0,
      payload: '{"response":"paid"}',
      request: '{"request":1}',
    };
    return [row as unknown as EffectRow];
  };
  const resumed = async (effect: EffectDefinition): Promise<StreamState> => {
    const definition = twoSteps(effect);
    const head = await committed(definition);
    for (;;) {
      const run = (await claim(definition, head)).runner.run();
      await ports.clock.run(1_000);
      if ((await run) === 'closed') return state();
      // A probe failed: no worker is held, and a timer brings the next.
      const { lease, frontier } = await state();
      expect(lease).toBeNull();
      const { timer } = [...frontier.tasks][0]!.retry!;
      await log.append(P0, [
        { value: inboxRecord(await state(), `timer:${timer}`, 'TimerFired', { timer }, null), type: 'TimerFired' },
      ]);
    }
  };

  beforeEach(() => {
    probeCount = 0;
  });

  it('whose effect is there goes on', async () => {
    expect((await resumed(paying([async () => ({ status: 'done', response: 'paid' })]))).status).toBe('completed');
    expect(probeCount).toBe(1);
  });

  it('whose effect never arrived goes to a person', async () => {
    const after = await resumed(paying([async () => ({ status: 'not-done' })]));
    expect(after).toMatchObject({ status: 'parked', question: { code: 'phantom-checkpoint', key: 'w:0.0:pay:0' } });
    expect(ports.telemetry.counts.get('effect_validation_failures_total')).toBe(1);
  });

  describe('whose effect is irreversible and has no probe', () => {
    const blind = effectOf({ call: async () => 'paid' });
    const unlisted = (effect: EffectDefinition): Definition => ({ ...twoSteps(effect), effects: [] });

    it.each([
      ['in this build', twoSteps(blind), /^The newest checkpoint \(1\): step a .*w:0\.0:pay:0.*pay has no probe in/],
      [
        'that the definition lists',
        unlisted(paying([async () => ({ status: 'done', response: 'paid' })])),
        /pay is not listed in effects, with a probe/,
      ],
    ])('%s goes to a person, who lets it go on', async (_, definition, message) => {
      const head = await committed(definition);
      expect(await (await claim(definition, head)).runner.run()).toBe('closed');
      expect(await state()).toMatchObject({
        status: 'parked',
        question: { code: 'validator-missing', key: 'w:0.0:pay:0', task: null },
      });
      const parked = (await entriesOf(log)).findLast(
        (entry) => entry.kind === 'event' && entry.envelope.type === 'WorkflowParked',
      );
      const { error, evidence } = JSON.parse(
        new TextDecoder().decode((parked as { readonly payload: Uint8Array }).payload),
      );
      expect(error.message).toMatch(message);
      expect(error.message).toMatch(/if it took place, answer with retry; if not, compensate, or let it fail/);
      expect(evidence).toMatchObject({ step: 'a', operation: 'pay', key: 'w:0.0:pay:0' });
      await decide('retry');
      expect(await (await claim(definition, head)).runner.run()).toBe('closed');
      expect((await state()).status).toBe('completed');
      expect(probeCount).toBe(0);
    });

    it.each<[string, Partial<EffectRow>]>([
      ['is idempotent', { kind: 'idempotent' }],
      ['is pure', { kind: 'pure' }],
      ['was not done', { status: 'failed' }],
    ])('goes on where it %s (the control)', async (_, change) => {
      const definition = twoSteps(blind);
      const [row] = await committed(definition);
      expect(await (await claim(definition, [{ ...row!, ...change }])).runner.run()).toBe('closed');
      expect((await state()).status).toBe('completed');
    });

    it('is asked where another of the checkpoint can be asked, and is there: it says nothing of this one', async () => {
      const effect = paying([async () => ({ status: 'done', response: 'paid' })]);
      const definition = { ...twoSteps(effect), effects: [effect, { ...blind, operation: 'wire' }] };
      const [row] = await committed(definition);
      const wire = {
        ...row!,
        key: 'w:0.0:wire:0' as EffectRow['key'],
        operation: 'wire',
        kind: 'irreversible' as const,
      };
      expect(await (await claim(definition, [wire, row!])).runner.run()).toBe('closed');
      expect(await state()).toMatchObject({
        status: 'parked',
        question: { code: 'validator-missing', key: wire.key },
      });
      expect(probeCount).toBe(1);
    });

    it('goes on where its holder did not die (the control)', async () => {
      const definition = twoSteps(blind);
      await openWorkflow(ports, definition);
      await (await claim({ ...definition, stepBudget: 1 })).runner.run();
      await decide('retry');
      expect(
        await (await claim(definition, [{ kind: 'irreversible', status: 'done' } as EffectRow])).runner.run(),
      ).toBe('closed');
      expect((await state()).status).toBe('completed');
    });
  });

  it('or is compensated where that is registered', async () => {
    const effect = paying([async () => ({ status: 'not-done' })], { compensate: async () => {} });
    expect((await resumed(effect)).status).toBe('compensating');
  });

  it('whose validator is away holds all its tasks by one probe, and none is charged with it', async () => {
    const away = () => Promise.reject(Object.assign(new Error('away'), { status: 503 }));
    const effect = paying([away], { retry: { ...RETRY_AT_ONCE, attempts: 2, patienceMs: 60_000 } });
    const broken = paying([() => Promise.reject(new Error('no'))]);
    for (const probed of [effect, broken]) {
      log = new SimulatedLog(1);
      ports = simulatedPorts(log);
      const definition = twoSteps(probed, 30);
      const head = await committed(definition);
      probeCount = 0;
      const run = (await claim(definition, head)).runner.run();
      await ports.clock.run(0);
      expect(await run).toBe('idle');
      const { frontier, lease } = await state();
      expect([probeCount, lease, frontier.tasks.size]).toEqual([1, null, 30]);
      const tasks = [...frontier.tasks];
      expect(new Set(tasks.map(({ retry }) => retry?.timer)).size).toBe(30);
      expect(new Set(tasks.map(({ retry }) => retry!.anchorMs + retry!.delayMs)).size).toBe(1);
      expect(tasks.filter(({ failureCount, passingCount = 0 }) => failureCount > passingCount).length).toBe(
        probed === broken ? 1 : 0,
      );
    }
  });

  describe('of a cancelled run that unwinds', () => {
    const back = async () => ({ status: 'done', response: 'paid' }) as const;
    const down = () => Promise.reject(new Error('down'));
    const cancelled = async (effect: EffectDefinition, next: readonly TaskRequest[]) => {
      const definition: Definition = {
        ...definitionOf({
          effects: [effect],
          steps: {
            a: async (context) => {
              await context.effect(effect, 1);
              return { next };
            },
            b: () => ({ done: 1 }),
          },
        }),
        unwinds: true,
      };
      const head = await committed(definition);
      const cancel = inboxRecord(await state(), 'c', 'CancelRequested', { code: 'cancelled', by: 'ann' }, { why: '' });
      await log.append(P0, [{ value: cancel, type: 'CancelRequested' }]);
      return { definition, head, ...(await claim(definition, head)) };
    };
    /** Fires what it waits for, until the run has ended. */
    const unwound = async (run: Promise<string>): Promise<string> => {
      let isOver = false;
      const over = run.finally(() => {
        isOver = true;
      });
      over.catch(() => {});
      while (!isOver) {
        await ports.clock.run(1_000);
        const waiting = [...(await state()).frontier.tasks].find(({ retry }) => retry !== null);
        if (waiting === undefined) continue;
        const { timer } = waiting.retry!;
        const fired = inboxRecord(await state(), `timer:${timer}`, 'TimerFired', { timer }, null);
        await log.append(P0, [{ value: fired, type: 'TimerFired' }]);
      }
      return over;
    };
    const signal = { anyOf: [{ kind: 'signal', name: 'never' }] } as const;

    it.each<[string, TaskRequest]>([
      ['whose task is ready', { step: 'b', input: null }],
      ['whose task waits for what comes no more', { step: 'b', input: null, when: signal }],
    ])('%s is asked again under the same lease, and the run unwinds then', async (_, next) => {
      const { runner } = await cancelled(paying([down, back]), [next]);
      const { epoch } = await state();
      expect(await unwound(runner.run())).toBe('closed');
      expect(await state()).toMatchObject({ epoch, status: 'completed' });
      expect(probeCount).toBe(2);
    });

    it('ends the run when it keeps throwing, and asks nobody', async () => {
      const { runner } = await cancelled(paying([down]), [{ step: 'b', input: null }]);
      expect(await unwound(runner.run())).toBe('closed');
      expect(await state()).toMatchObject({ status: 'failed', reason: 'cancelled' });
      expect(probeCount).toBe(2);
    });

    it('is asked at once after a crash: a run that only unwinds does not rest', async () => {
      const { definition, head } = await cancelled(paying([back]), [{ step: 'b', input: null }]);
      await die(ports.clock.nowMs());
      const { runner } = await claim({ ...definition, recovery: { delayMs: 30_000 } }, head);
      const run = runner.run();
      await ports.clock.run(0);
      expect(await run).toBe('closed');
      expect((await state()).status).toBe('completed');
    });

    it.each(['StepFailed', 'CheckpointCommitted'])(
      'goes on with a task that waits for its retry, cancelled as %s is appended',
      async (when) => {
        let callCount = 0;
        const effect = effectOf({
          kind: 'idempotent',
          retry: { ...RETRY_AT_ONCE, attempts: 5 },
          call: async () => {
            callCount++;
            if (callCount === 1) throw Object.assign(new Error('away'), { status: 503 });
            return 'paid';
          },
        });
        const failed = Promise.withResolvers<void>();
        const definition: Definition = {
          ...definitionOf({
            effects: [effect],
            steps: {
              first: () => ({ next: ['a', 'b'].map((step) => ({ step, input: null })) }),
              a: { durability: 'staged', run: () => failed.promise.then(() => ({})) },
              b: async (context) => ({ done: await context.effect(effect, 1) }),
            },
          }),
          unwinds: true,
        };
        await openWorkflow(ports, definition);
        const append = log.append.bind(log);
        const appended: string[] = [];
        log.append = async (partition, records) => {
          const types = records.map(({ type }) => type!);
          const isLast = types.includes(when) && (when === 'StepFailed' || appended.includes('StepFailed'));
          if (isLast && !appended.includes('CancelRequested')) {
            appended.push('CancelRequested');
            const control = { code: 'cancelled', by: 'ann' };
            const value = inboxRecord(await state(), 'c', 'CancelRequested', control, { why: '' });
            await append(P0, [{ value, type: 'CancelRequested' }]);
          }
          appended.push(...types);
          return append(partition, records);
        };
        const { runner } = await claim(definition);
        const run = runner.run();
        while (!appended.includes('StepFailed')) await ports.clock.run(1);
        failed.resolve();
        expect(await unwound(run)).toBe('closed');
        expect((await state()).status).toBe('completed');
        expect(callCount).toBe(2);
      },
    );

    it('holds nobody who has lost the lease meanwhile', async () => {
      const { runner, stream } = await cancelled(paying([down]), [{ step: 'b', input: null }]);
      const run = runner.run();
      run.catch(() => {});
      await ports.clock.run(0);
      const broken = new Error('an event of a newer release');
      log.read = () => Promise.reject(broken);
      await ports.clock.run(10_000);
      expect(stream.fenced).toBeDefined();
      await expect(run).rejects.toBe(stream.fenced);
    });
  });

  it('whose validator is away is waited for', async () => {
    const away = () => Promise.reject(Object.assign(new Error('away'), { status: 503 }));
    const back = async () => ({ status: 'done', response: 'paid' }) as const;
    const retry = { ...RETRY_AT_ONCE, attempts: 2, patienceMs: 60_000 };
    expect((await resumed(paying([away, away, away, away, back], { retry }))).status).toBe('completed');
    expect(probeCount).toBe(5);
  });

  it('whose validator throws is asked again, and goes to a person when it keeps throwing', async () => {
    const down = () => Promise.reject(new Error('down'));
    expect((await resumed(paying([down]))).question?.code).toBe('phantom-checkpoint');
    expect(probeCount).toBe(2);
    log = new SimulatedLog(1);
    ports = simulatedPorts(log);
    expect((await resumed(paying([down, async () => ({ status: 'done', response: 'paid' })]))).status).toBe(
      'completed',
    );
  });
});
