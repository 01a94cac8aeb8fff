/** The runner: what starts when (W1, W2), how attempts end, and that nothing hangs or is done twice whatever comes between. */

import { decodePayload } from '@tidemark/codec';
import { UnavailableError } from '@tidemark/core';
import {
  definitionOf,
  effectOf,
  entriesOf,
  foldLog,
  inboxRecord,
  openWorkflow,
  P0,
  RETRY_AT_ONCE,
  revocationOf,
  type StepSpec,
  typesOf,
} from '@tidemark/testkit/engine/simulated-definition';
import { quiet, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { claimedRun, heldRun, watched } from '@tidemark/testkit/engine/simulated-run';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import type { StepContext, StepResult } from '../definition/definition.ts';
import { INBOX_POLL_PERIOD_MS } from './workflow-runner.ts';

/** A step that ends when the test says so; each start is counted. */
function gate(result: StepResult = {}) {
  const starts: StepContext[] = [];
  const waiting: PromiseWithResolvers<StepResult>[] = [];
  return {
    starts,
    run: (context: StepContext): Promise<StepResult> => {
      starts.push(context);
      const open = Promise.withResolvers<StepResult>();
      waiting.push(open);
      return open.promise;
    },
    open: (value: StepResult = result) => waiting.shift()!.resolve(value),
    fail: (error: unknown) => waiting.shift()!.reject(error),
  };
}

const staged = (run: StepSpec['run']): StepSpec => ({ durability: 'staged', run });

describe('a runner', () => {
  let log: SimulatedLog;
  beforeEach(() => {
    log = new SimulatedLog(1);
  });

  it('runs tasks in order of creation, commits each and completes', async () => {
    const seen: unknown[] = [];
    const { runner, stream } = await heldRun(
      log,
      definitionOf({
        steps: {
          a: (context, input) => {
            seen.push(['a', input, context.belief]);
            return { belief: () => ({ n: 1 }), next: [{ step: 'b', input: 7 }], output: 'x', tokens: 3, costMicros: 5 };
          },
          b: (context, input) => {
            seen.push(['b', input, context.belief]);
            return { done: 'end' };
          },
        },
      }),
    );
    expect(await runner.run()).toBe('closed');
    expect(seen).toEqual([
      ['a', null, {}],
      ['b', 7, { n: 1 }],
    ]);
    expect(await typesOf(log)).toEqual([
      'WorkflowOpened',
      'LeaseClaimed',
      'CheckpointCommitted',
      'CheckpointCommitted',
      'WorkflowCompleted',
    ]);
    expect(stream.confirmed).toMatchObject({ status: 'completed', tokens: 3, costMicros: 5, lease: null });
    expect((await foldLog(log)).rejected).toEqual([]);
  });

  it('W1: a durable step counts as done only once its checkpoint is accepted', async () => {
    const first = gate();
    const beside = gate();
    const second = gate();
    const { runner } = await heldRun(
      log,
      definitionOf({
        steps: { a: first.run, beside: staged(beside.run), b: second.run },
        next: ['a', 'beside'].map((step) => ({ step, input: null })),
      }),
    );
    const run = watched(runner.run());
    await quiet();
    const release = log.hold();
    first.open({ next: [{ step: 'b', input: null }] });
    await quiet();
    // Another task's end makes the runner look for what may start.
    beside.open();
    await quiet();
    expect(second.starts).toHaveLength(0);
    release();
    await quiet();
    expect(second.starts).toHaveLength(1);
    second.open({ done: 1 });
    expect(await run.ended).toBe('closed');
  });

  it('W1 (control): a staged step counts as done at once', async () => {
    const second = gate();
    const { runner } = await heldRun(
      log,
      definitionOf({ steps: { a: staged(() => ({ next: [{ step: 'b', input: null }] })), b: second.run } }),
    );
    const release = log.hold();
    const run = watched(runner.run());
    await quiet();
    expect(second.starts).toHaveLength(1);
    release();
    second.open({ done: 1 });
    expect(await run.ended).toBe('closed');
  });

  it('does not start a staged task again while another task waits for the log', async () => {
    const slow = gate();
    let quickCount = 0;
    const quick = gate();
    const { runner } = await heldRun(
      log,
      definitionOf({
        steps: {
          slow: slow.run,
          quick: staged((context) => {
            quickCount++;
            return quick.run(context);
          }),
          end: () => ({ done: 1 }),
        },
        next: [
          { step: 'slow', input: null },
          { step: 'quick', input: null },
          { step: 'end', input: null, after: 'all' },
        ],
      }),
    );
    const run = watched(runner.run());
    await quiet();
    const release = log.hold();
    slow.open();
    await quiet();
    // The durable checkpoint is on its way; what the log has confirmed doesn't know that `quick` is done.
    quick.open();
    await quiet();
    expect(quickCount).toBe(1);
    release();
    expect(await run.ended).toBe('closed');
    expect((await foldLog(log)).rejected).toEqual([]);
  });

  it('starts nothing while the end of the workflow is on its way', async () => {
    const last = gate();
    const late = gate();
    const { runner } = await heldRun(
      log,
      definitionOf({
        parallel: 1,
        steps: { last: last.run, late: late.run },
        next: [
          { step: 'last', input: null },
          { step: 'late', input: null },
        ],
      }),
    );
    const run = watched(runner.run());
    await quiet();
    last.open({ done: 'end' });
    expect(await run.ended).toBe('closed');
    expect(late.starts).toHaveLength(0);
  });

  it('runs no more tasks at once than the definition allows', async () => {
    const step = gate();
    const { runner } = await heldRun(
      log,
      definitionOf({
        parallel: 2,
        steps: { a: step.run },
        next: [1, 2, 3].map((input) => ({ step: 'a', input })),
      }),
    );
    const run = watched(runner.run());
    await quiet();
    expect(step.starts).toHaveLength(2);
    step.open();
    await quiet();
    expect(step.starts).toHaveLength(3);
    step.open();
    step.open({ done: 1 });
    expect(await run.ended).toBe('closed');
  });

  it('waits at the tenth unflushed checkpoint, and no earlier', async () => {
    let count = 0;
    const { runner } = await heldRun(
      log,
      definitionOf({
        steps: { a: staged(() => (++count < 30 ? { next: [{ step: 'a', input: null }] } : { done: 1 })) },
      }),
    );
    const letGo = log.hold();
    const run = watched(runner.run());
    await quiet();
    expect(count).toBe(10);
    letGo();
    expect(await run.ended).toBe('closed');
    expect(count).toBe(30);
  });

  it('flushes what is staged after 50 ms', async () => {
    const second = gate();
    const { runner, ports } = await heldRun(
      log,
      definitionOf({ steps: { a: staged(() => ({ next: [{ step: 'b', input: null }] })), b: second.run } }),
    );
    const run = watched(runner.run());
    await ports.clock.run(49);
    expect(await typesOf(log)).not.toContain('CheckpointCommitted');
    expect(runner.pendingCheckpoints).toMatchObject([{ control: { sequence: 1, step: 'a' } }]);
    await ports.clock.run(1);
    expect(await typesOf(log)).toContain('CheckpointCommitted');
    expect(runner.pendingCheckpoints).toEqual([]);
    second.open({ done: 1 });
    await run.ended;
    expect(ports.clock.sleeperCount).toBe(0);
  });

  it('flushes sooner or later where the definition says so', async () => {
    const second = gate();
    const steps = { a: staged(() => ({ next: [{ step: 'b', input: null }] })), b: second.run };
    const { runner, ports } = await heldRun(log, { ...definitionOf({ steps }), staging: { delayMs: 200 } });
    const run = watched(runner.run());
    await ports.clock.run(199);
    expect(await typesOf(log)).not.toContain('CheckpointCommitted');
    await ports.clock.run(1);
    expect(await typesOf(log)).toContain('CheckpointCommitted');
    second.open({ done: 1 });
    await run.ended;

    const other = new SimulatedLog(1);
    let count = 0;
    const many = { a: staged(() => (++count < 30 ? { next: [{ step: 'a', input: null }] } : { done: 1 })) };
    const held = await heldRun(other, { ...definitionOf({ steps: many }), staging: { steps: 3 } });
    const letGo = other.hold();
    const running = watched(held.runner.run());
    await quiet();
    expect(count).toBe(3);
    letGo();
    expect(await running.ended).toBe('closed');
  });

  it('W2: an intention goes out after the staged checkpoints before it, and the call after both', async () => {
    const order: string[] = [];
    const pay = effectOf({ call: async () => void order.push((await typesOf(log)).join()) });
    const { runner } = await heldRun(
      log,
      definitionOf({
        steps: {
          a: staged(() => ({ next: [{ step: 'b', input: null }] })),
          b: async (context) => {
            await context.effect(pay, null);
            return { done: 1 };
          },
        },
      }),
    );
    expect(await runner.run()).toBe('closed');
    expect(order).toEqual(['WorkflowOpened,LeaseClaimed,CheckpointCommitted,CheckpointReserved,EffectIntended']);
  });

  it.each([
    [2, 'irreversible', 1],
    [1, 'irreversible', 0],
    [2, 'idempotent', 0],
  ] as const)('tells of %i %s effects in one step: %i warning in its execution log', async (times, kind, expected) => {
    const pay = effectOf({ kind, call: async () => null });
    const a = async (context: StepContext) => {
      for (let at = 0; at < times; at++) await context.effect(pay, null);
      return { done: 1 };
    };
    const { runner } = await heldRun(log, definitionOf({ steps: { a } }));
    await runner.run();
    const notes = (await entriesOf(log)).flatMap((entry) =>
      entry.kind === 'event' && entry.envelope.type === 'CheckpointCommitted'
        ? (decodePayload('CheckpointCommitted', entry.payload).log ?? [])
        : [],
    );
    expect(notes.filter(({ action }) => action === 'warning')).toHaveLength(expected);
  });

  it('lets parallel belief updates compose, in the order in which they commit', async () => {
    const a = gate();
    const { runner, content } = await heldRun(
      log,
      definitionOf({
        belief: { seen: [] },
        steps: { a: a.run },
        next: [1, 2].map((input) => ({ step: 'a', input })),
      }),
    );
    const run = watched(runner.run());
    await quiet();
    const add = (n: number): StepResult => ({
      belief: (belief) => ({ seen: [...(belief as { seen: number[] }).seen, n] }),
    });
    a.open(add(1));
    a.open({ ...add(2), done: 1 });
    await run.ended;
    expect(content.belief).toEqual({ seen: [1, 2] });
  });

  it('refuses a last task that leaves nothing to do: the workflow would never end', async () => {
    const { runner, stream } = await heldRun(
      log,
      definitionOf({ steps: { a: () => ({}) }, next: [1, 2].map((input) => ({ step: 'a', input })) }),
    );
    expect(await runner.run()).toBe('closed');
    expect(stream.confirmed).toMatchObject({ status: 'failed', reason: 'nothing-left', head: { sequence: 1 } });
  });

  describe('that is about to end its workflow', () => {
    const paying = (call: () => Promise<unknown>) => effectOf({ call });

    it('waits for the irreversible calls of other tasks, begins nothing more, and then ends once they are committed', async () => {
      const call = Promise.withResolvers<unknown>();
      let paidCount = 0;
      const pay = paying(() => call.promise);
      const { runner, stream } = await heldRun(
        log,
        definitionOf({
          parallel: 2,
          steps: {
            pay: async (context) => {
              paidCount++;
              await context.effect(pay, null);
              return {};
            },
            end: {
              retry: RETRY_AT_ONCE,
              run: async () => {
                await quiet();
                return { done: 1 };
              },
            },
          },
          next: ['pay', 'end', 'pay'].map((step) => ({ step, input: null })),
        }),
      );
      const run = watched(runner.run());
      await quiet(40);
      expect(run.outcome).toBeUndefined();
      expect(paidCount).toBe(1);
      call.resolve('paid');
      expect(await run.ended).toBe('closed');
      expect(stream.confirmed.status).toBe('completed');
      // What was paid is in a checkpoint; the task that had not begun is dropped.
      expect([...stream.confirmed.frontier.tasks].map(({ id }) => id)).toEqual(['0.2']);
      expect(paidCount).toBe(1);
      expect((await foldLog(log)).rejected).toEqual([]);
    });

    it('does not wait for another that waits for it', async () => {
      const calls = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()];
      const { runner, stream } = await heldRun(
        log,
        definitionOf({
          steps: {
            a: {
              retry: RETRY_AT_ONCE,
              run: async (context, input) => {
                context
                  .effect(
                    paying(() => calls[input as number]!.promise),
                    null,
                  )
                  .catch(() => {});
                await quiet();
                return { done: input };
              },
            },
          },
          next: [0, 1].map((input) => ({ step: 'a', input })),
        }),
      );
      const run = watched(runner.run());
      await quiet(60);
      for (const call of calls) call.resolve('paid');
      await quiet(60);
      expect(run.outcome).toBeDefined();
      expect(stream.confirmed.lease).toBeNull();
    });
  });

  describe('when an attempt fails', () => {
    it('commits what others run, tries again by a timer, and lets go', async () => {
      const other = gate();
      const { runner, stream } = await heldRun(
        log,
        definitionOf({
          steps: {
            bad: { retry: { ...RETRY_AT_ONCE, firstDelayMs: 100 }, run: () => Promise.reject(new Error('no')) },
            other: other.run,
          },
          next: [
            { step: 'bad', input: null },
            { step: 'other', input: null },
          ],
        }),
      );
      const run = watched(runner.run());
      await quiet();
      expect(run.outcome).toBeUndefined();
      other.open();
      expect(await run.ended).toBe('idle');
      const [task] = [...stream.confirmed.frontier.tasks];
      expect(task).toMatchObject({ id: '0.0', failureCount: 1, retry: { timer: 'retry:1:0', delayMs: 100 } });
      expect((await typesOf(log)).at(-1)).toBe('LeaseReleased');
    });

    it('fails the workflow after the last one, and tells the others to stop', async () => {
      const other = gate();
      const { runner, stream } = await heldRun(
        log,
        definitionOf({
          steps: { bad: () => Promise.reject(new Error('no')), other: other.run },
          next: [
            { step: 'other', input: null },
            { step: 'bad', input: null },
          ],
        }),
      );
      expect(await runner.run()).toBe('closed');
      expect(other.starts[0]!.signal.aborted).toBe(true);
      expect(stream.confirmed).toMatchObject({ status: 'failed', reason: 'Error' });
      expect((await foldLog(log)).rejected).toEqual([]);
    });

    it('does not wait for a step that ignores its signal when the workflow has ended', async () => {
      const deaf = gate();
      const { runner } = await heldRun(
        log,
        definitionOf({
          steps: { deaf: deaf.run, last: () => ({ done: 1 }) },
          next: [
            { step: 'deaf', input: null },
            { step: 'last', input: null },
          ],
        }),
      );
      expect(await runner.run()).toBe('closed');
      // Whatever it does later comes to nothing, and harms nobody.
      await expect(deaf.starts[0]!.run('late', () => 1)).rejects.toThrow();
      deaf.fail(new Error('late'));
      await quiet();
      expect((await typesOf(log)).at(-1)).toBe('WorkflowCompleted');
    });

    it('fails a workflow whose output is too large, also while other tasks run', async () => {
      const other = gate();
      const { runner, stream } = await heldRun(
        log,
        definitionOf({
          steps: { other: other.run, last: () => ({ done: 'x'.repeat(1_100_000) }) },
          next: [
            { step: 'other', input: null },
            { step: 'last', input: null },
          ],
        }),
      );
      const run = watched(runner.run());
      await quiet();
      expect(run.outcome).toBe('closed');
      expect(stream.confirmed).toMatchObject({ status: 'failed', reason: 'value-too-large' });
    });

    it.each([
      ['an object without a prototype', Object.create(null)],
      ['an error whose name is no text', Object.assign(new Error('x'), { name: 5 })],
      ['an error whose message is no text', Object.assign(new Error('x'), { message: { a: 1 } })],
      ['an error whose stack is no text', Object.assign(new Error('x'), { stack: 7 })],
      ['an error whose code holds control characters', Object.assign(new Error('x'), { code: 'a\u0000b' })],
      ['an error whose code ends in half a pair', Object.assign(new Error('x'), { code: `${'x'.repeat(199)}😀` })],
      ['nothing', undefined],
    ])('fails the workflow when a step throws %s', async (_, thrown) => {
      const { runner, stream } = await heldRun(
        log,
        definitionOf({
          steps: {
            a: () => {
              throw thrown;
            },
          },
        }),
      );
      expect(await runner.run()).toBe('closed');
      expect(stream.confirmed.status).toBe('failed');
      expect((await foldLog(log)).rejected).toEqual([]);
    });

    it('leaves to a person a workflow whose definition has lost a step, with the step named', async () => {
      const ports = simulatedPorts(log);
      const all = definitionOf({ steps: { a: () => ({}), b: () => ({}) }, next: [{ step: 'b', input: null }] });
      await openWorkflow(ports, all);
      const { runner, stream } = await claimedRun(log, definitionOf({ steps: { a: () => ({}) } }), { ports });
      expect(await runner.run()).toBe('closed');
      expect(stream.confirmed).toMatchObject({ status: 'parked', reason: 'step-gone' });
    });
  });

  describe('while one task waits for its retry and another runs', () => {
    const held = async (run: StepSpec['run']) => {
      const long = gate();
      const definition = definitionOf({
        steps: { bad: { retry: { ...RETRY_AT_ONCE, firstDelayMs: 100 }, run }, long: long.run },
        next: [
          { step: 'bad', input: null },
          { step: 'long', input: null },
        ],
      });
      const made = await heldRun(log, definition);
      const run_ = watched(made.runner.run());
      await quiet();
      return { ...made, long, run: run_ };
    };
    const timer = { timer: 'retry:1:0' };

    it('sees the timer without an append of its own, and tries again', async () => {
      let attempts = 0;
      const { ports, stream, long, run } = await held(() => {
        if (++attempts === 1) throw new Error('no');
        return {};
      });
      await log.append(P0, [
        { value: inboxRecord(stream.confirmed, 'timer:1', 'TimerFired', timer, null), type: 'TimerFired' },
      ]);
      await ports.clock.run(INBOX_POLL_PERIOD_MS);
      expect(attempts).toBe(2);
      long.open({ done: 1 });
      expect(await run.ended).toBe('closed');
      expect((await foldLog(log)).rejected).toEqual([]);
    });

    it('reads the log no more often than its period, and not at all when nothing waits (control)', async () => {
      const { ports, long, run } = await held(() => Promise.reject(new Error('no')));
      log.readCount = 0;
      await ports.clock.run(10 * INBOX_POLL_PERIOD_MS);
      expect(log.readCount).toBe(10);
      long.open();
      await run.ended;
      const other = new SimulatedLog(1);
      const busy = gate();
      const quietRun = await heldRun(other, definitionOf({ steps: { a: busy.run } }));
      const ended = watched(quietRun.runner.run());
      other.readCount = 0;
      await quiet();
      expect(quietRun.ports.clock.sleeperCount).toBe(0);
      busy.open({ done: 1 });
      expect(await ended.ended).toBe('closed');
      expect(other.readCount).toBe(0);
    });

    it('finds out that its lease was revoked', async () => {
      const { ports, stream, long, run } = await held(() => Promise.reject(new Error('no')));
      await log.append(P0, [{ value: revocationOf(stream.confirmed), type: 'LeaseRevoked' }]);
      await ports.clock.run(INBOX_POLL_PERIOD_MS);
      expect(run.outcome).toMatchObject({ code: 'lease-lost' });
      expect(long.starts[0]!.signal.aborted).toBe(true);
    });

    it('goes on when the log could not be read just then', async () => {
      const { ports, long, run } = await held(() => Promise.reject(new Error('no')));
      const read = log.read.bind(log);
      log.read = async () => {
        log.read = read;
        throw new UnavailableError('log-unavailable', 'away');
      };
      await ports.clock.run(INBOX_POLL_PERIOD_MS);
      expect(run.outcome).toBeUndefined();
      long.open();
      expect(await run.ended).toBe('idle');
    });
  });

  describe('when it must go', () => {
    it('starts nothing more after a stop, lets steps under way end, and releases', async () => {
      const a = gate();
      const { runner, stop } = await heldRun(
        log,
        definitionOf({ parallel: 1, steps: { a: a.run }, next: [1, 2].map((input) => ({ step: 'a', input })) }),
      );
      const run = watched(runner.run());
      await quiet();
      stop.abort();
      await quiet();
      expect(run.outcome).toBeUndefined();
      a.open();
      expect(await run.ended).toBe('stopped');
      expect(a.starts).toHaveLength(1);
      const [last] = (await entriesOf(log)).slice(-1);
      expect(last).toMatchObject({ envelope: { type: 'LeaseReleased', control: { reason: 'drain' } } });
    });

    it('abandons a step that ignores its signal: nothing of it counts, and the lease is let go', async () => {
      const deaf = gate();
      const { runner, stop, abandon, stream } = await heldRun(log, definitionOf({ steps: { deaf: deaf.run } }));
      const run = watched(runner.run());
      await quiet();
      stop.abort();
      abandon.abort(new Error('now'));
      await quiet();
      expect(run.outcome).toBe('stopped');
      deaf.open({ done: 1 });
      await quiet();
      expect(stream.confirmed).toMatchObject({ status: 'open', lease: null, head: { sequence: 0 } });
    });

    it('ends with the fence when the lease is lost while a step ignores its signal', async () => {
      const deaf = gate();
      const busy = gate();
      const { runner, stream } = await heldRun(
        log,
        definitionOf({
          steps: { deaf: deaf.run, busy: busy.run },
          next: [
            { step: 'deaf', input: null },
            { step: 'busy', input: null },
          ],
        }),
      );
      const run = watched(runner.run());
      await quiet();
      log.interpose([revocationOf(stream.confirmed)]);
      busy.open();
      await quiet();
      expect(run.outcome).toMatchObject({ code: 'lease-lost' });
      expect(deaf.starts[0]!.signal.aborted).toBe(true);
    });
  });
});
