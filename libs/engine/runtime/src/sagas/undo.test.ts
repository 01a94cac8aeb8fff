/** Undos: everything that was done and can be undone is compensated once, newest first; what is stuck waits for a person. */

import {
  DEFAULT_TENANT,
  eventId,
  type Json,
  type Position,
  streamFromJson,
  UnavailableError,
  undoId,
  type WorkflowId,
} from '@tidemark/core';
import { definitionOf, effectOf, NO_RETRY, RETRY_AT_ONCE } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Coordinator } from '../coordinator/coordinator.ts';
import type { Definition, EffectDefinition, StepDefinition } from '../definition/definition.ts';
import { ParkError } from '../definition/step-errors.ts';
import { OUTPUTS_PAGE_COUNT } from '../history/limits.ts';
import { LamportClock } from '../kernel/ports.ts';
import { Inbox } from '../lease/inbox.ts';
import type { WorkflowFailedError } from '../run/run-outcome.ts';
import { type CompensationReads, compensationItems } from './compensation-items.ts';

const PARTITIONS = 4;

it('finds all steps to undo, however many pages of them there are', async () => {
  const sequences = Array.from({ length: 2 * OUTPUTS_PAGE_COUNT }, (_, at) => at + 1);
  const rows = {
    effects: async () => [],
    checkpoints: async (_: WorkflowId, { from, limit }: { from: number; limit: number }) =>
      sequences.slice(from - 1, from - 1 + limit).map((sequence) => ({ sequence, position: sequence })),
  } as unknown as CompensationReads;
  const found = await compensationItems(rows, 'w' as WorkflowId, ['go'], { below: null }, 1 as Position);
  expect(found.map(({ position }) => position)).toEqual(sequences.toReversed());
});

describe('an undo', () => {
  let world: SimulatedWorld;
  /** What was done outside, in order. */
  let ledger: string[];
  beforeEach(async () => {
    world = new SimulatedWorld(new SimulatedLog(PARTITIONS), PARTITIONS);
    ledger = [];
    await world.coordinator.start();
  });
  afterEach(() => world.close());

  const W = 'w' as WorkflowId;
  const UNDO = undoId(W);

  const booking = (operation: string, spec: Partial<EffectDefinition> = {}): EffectDefinition =>
    effectOf({
      operation,
      kind: 'idempotent',
      retry: RETRY_AT_ONCE,
      call: async (request) => {
        ledger.push(`${operation} ${JSON.stringify(request)}`);
        return { id: `${operation}-1` };
      },
      compensate: async (response) => {
        ledger.push(`undo ${(response as { id: string }).id}`);
      },
      ...spec,
    });

  /** Calls each effect in a step of its own, then stops and asks a person. */
  function trip(effects: readonly EffectDefinition[], spec: Pick<StepDefinition, 'compensate'> = {}): Definition {
    return definitionOf({
      effects,
      steps: {
        go: {
          ...spec,
          run: async (ctx, input) => {
            const at = Number(input ?? 0);
            const effect = effects[at];
            if (effect === undefined) throw new ParkError('enough', 'Shall it go on?', null, {});
            await ctx.effect(effect, { n: at });
            return { output: { at }, next: [{ step: 'go', input: at + 1 }] };
          },
        },
      },
    });
  }

  const inTime = async <T>(promise: Promise<T>, maxMs = 60_000): Promise<T> => {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    settled.catch(() => {});
    await world.ports.clock.runUntil(() => isSettled, maxMs);
    return settled;
  };

  async function undone(definition: Definition, workers = [definition]): Promise<void> {
    await world.worker(workers);
    await world.start(definition);
    await world.until(W, 'parked');
    await inTime(world.client.decide('w', { resolution: 'compensate', by: 'Ada', why: 'the trip is off' }));
  }

  const outputOf = async (workflow: WorkflowId): Promise<Json> => inTime(world.client.run(workflow).result());

  it('undoes what was done, newest first and each once, and the workflow ends as compensated', async () => {
    await undone(trip([booking('flight'), booking('hotel'), booking('car')]));
    await world.until(W, 'compensated');
    expect(ledger.slice(3)).toEqual(['undo car-1', 'undo hotel-1', 'undo flight-1']);
    expect(await outputOf(UNDO)).toEqual({ undone: 3, leftCount: 0, left: [] });
    const result = inTime(world.client.run('w').result());
    await expect(result).rejects.toMatchObject({ code: 'workflow-compensated' } satisfies Partial<WorkflowFailedError>);
    expect(world.errors.filter(({ where }) => where === 'compensation')).toEqual([]);
  });

  it('is the user’s whose workflow it undoes, so that it is forgotten with them', async () => {
    const definition = trip([booking('flight')]);
    await world.worker([definition]);
    await world.start(definition, null, { id: 'w', user: 'ana' });
    await world.until(W, 'parked');
    await inTime(world.client.decide('w', { resolution: 'compensate', by: 'Ada', why: 'the trip is off' }));
    await world.until(W, 'compensated');
    const found = await world.ports.store.userWorkflows(DEFAULT_TENANT, 'ana', null, 10);
    expect(found).toEqual([W, UNDO].map((workflow) => ({ workflow, session: null, isOpen: false })));
  });

  it('leaves what is pure, and lists what has no compensation', async () => {
    const quote = booking('quote', { kind: 'pure' });
    const mail = booking('mail', { compensate: undefined });
    await undone(trip([booking('flight'), quote, mail]));
    await world.until(W, 'compensated');
    expect(ledger.slice(3)).toEqual(['undo flight-1']);
    const left = [{ operation: 'mail', key: 'w:2.0:mail:0', outcome: 'done' }];
    expect(await outputOf(UNDO)).toEqual({ undone: 1, leftCount: 1, left });
  });

  it('never calls the compensation of an effect that did not happen', async () => {
    const definition = definitionOf({
      effects: [booking('flight')],
      steps: {
        go: async () => {
          throw new ParkError('enough', 'before anything was done', null, {});
        },
      },
    });
    await undone(definition);
    await world.until(W, 'compensated');
    expect(ledger).toEqual([]);
  });

  it("undoes a step at its checkpoint's place, given its input and output", async () => {
    const compensate: StepDefinition['compensate'] = async (done) =>
      void ledger.push(`undo step ${JSON.stringify(done)}`);
    await undone(trip([booking('flight'), booking('hotel')], { compensate }));
    await world.until(W, 'compensated');
    expect(ledger.slice(2)).toEqual([
      'undo step {"input":1,"output":{"at":1}}',
      'undo hotel-1',
      'undo step {"input":null,"output":{"at":0}}',
      'undo flight-1',
    ]);
  });

  it('undoes first what nobody knows of, given what was asked', async () => {
    const doubtful = booking('wire', {
      kind: 'irreversible',
      retry: NO_RETRY,
      call: async () => {
        throw new Error('no answer');
      },
      compensateUnknown: async (request) => void ledger.push(`undo wire ${JSON.stringify(request)}`),
    });
    await world.worker([trip([booking('flight'), doubtful])]);
    await world.start(trip([booking('flight'), doubtful]));
    await world.ports.clock.runUntil(() => ['parked', 'compensated'].includes(world.status(W) ?? ''), 60_000);
    if (world.status(W) === 'parked') {
      await inTime(world.client.decide('w', { resolution: 'compensate', by: 'Ada', why: 'it is off' }));
    }
    await world.until(W, 'compensated');
    expect(ledger.slice(1)).toEqual(['undo wire {"n":1}', 'undo flight-1']);
  });

  it('undoes hundreds of things, a page at a time', async () => {
    const flight = booking('flight');
    const definition = definitionOf({
      effects: [flight],
      steps: {
        go: {
          run: async (ctx) => {
            for (let n = 0; n < 450; n++) await ctx.effect(flight, { n });
            return { next: [{ step: 'stop', input: null }] };
          },
        },
        stop: async () => {
          throw new ParkError('enough', 'Shall it go on?', null, {});
        },
      },
    });
    await undone(definition);
    await world.until(W, 'compensated', 600_000);
    expect(ledger.slice(450)).toHaveLength(450);
    expect(await outputOf(UNDO)).toMatchObject({ undone: 450 });
  });

  it('of an undo is told as an alert, has nothing to undo, and leaves the workflow failed', async () => {
    const flight = booking('flight');
    const hotel = booking('hotel', {
      compensate: async () => {
        throw new Error('broken');
      },
    });
    await undone(trip([hotel, flight]));
    await world.until(UNDO, 'parked');
    const row = (await world.ports.store.workflow(UNDO))!;
    const [snapshot] = await world.ports.store.loadStreams([UNDO]);
    const { question } = streamFromJson(snapshot!.state, snapshot!.tasks);
    const decision = { resolution: 'compensate', by: 'Ada', why: 'no idea' } as const;
    await expect(inTime(world.client.decide(UNDO, decision))).rejects.toThrow(/is itself an undo/);
    // As a client of another version may have written it.
    const control = { question: question!.id, resolution: 'compensate', by: 'Ada', responseDigest: null } as const;
    const inbox = new Inbox(world.ports, new LamportClock());
    await inTime(inbox.write(row, eventId('deep'), 'ApprovalDecided', control, { why: 'no idea' }));
    await world.until(undoId(UNDO), 'completed');
    await world.until(W, 'failed');
    expect(world.status(UNDO)).toBe('compensated');
    expect(await outputOf(undoId(UNDO))).toMatchObject({ undone: 0, leftCount: 2 });
    const alerts = world.errors.filter(({ where }) => where === 'compensation').map(({ error }) => error);
    expect(alerts).toEqual([expect.objectContaining({ code: 'compensation-deep' })]);
  });

  it('is made once, however many coordinators look', async () => {
    const other = new Coordinator({ ports: world.ports, lamport: new LamportClock(), name: 'c2' });
    await inTime(other.start());
    await undone(trip([booking('flight')]));
    await world.until(W, 'compensated');
    await inTime(other.stop());
    expect(ledger.slice(1)).toEqual(['undo flight-1']);
  });

  it('waits while the store is away, and comes then', async () => {
    let isGone = false;
    world.ports.store.on('place', () => {
      if (isGone) throw new UnavailableError('store-unavailable', 'away');
    });
    await world.worker([trip([booking('flight')])]);
    await world.start(trip([booking('flight')]));
    await world.until(W, 'parked');
    isGone = true;
    await inTime(world.client.decide('w', { resolution: 'compensate', by: 'Ada', why: 'off' }));
    await world.until(W, 'compensating');
    await world.ports.clock.run(20_000);
    expect(world.status(UNDO)).toBeUndefined();
    isGone = false;
    await world.until(W, 'compensated');
  });

  describe('that fails', () => {
    it('is tried again, with the same key', async () => {
      const keys: string[] = [];
      const flight = booking('flight', {
        compensate: async (_, { key }) => {
          keys.push(key);
          if (keys.length < 3) throw new Error('busy');
        },
      });
      await undone(trip([flight]));
      await world.until(W, 'compensated');
      expect(keys).toEqual(Array(3).fill(`${UNDO}:1.0:flight~undo:0`));
    });

    it('again and again waits for a person, and goes on when told so', async () => {
      let isBroken = true;
      const flight = booking('flight', {
        compensate: async () => {
          if (isBroken) throw new Error('broken');
          ledger.push('undone');
        },
      });
      await undone(trip([flight]));
      await world.until(UNDO, 'parked');
      expect([world.status(W), world.ports.store.rows.get(UNDO)?.stream.reason]).toEqual([
        'compensating',
        'compensation-stuck',
      ]);
      isBroken = false;
      await inTime(world.client.decide(UNDO, { resolution: 'retry', by: 'Ada', why: 'mended' }));
      await world.until(W, 'compensated');
      expect(ledger.slice(1)).toEqual(['undone']);
    });

    it('may be told to be done by hand', async () => {
      const flight = booking('flight', {
        compensate: async () => {
          throw new Error('broken');
        },
      });
      await undone(trip([flight, booking('hotel')]));
      await world.until(UNDO, 'parked');
      await inTime(world.client.decide(UNDO, { resolution: 'done', response: null, by: 'Ada', why: 'by phone' }));
      await world.until(W, 'compensated');
    });

    it('may be given up by a person: then the workflow has failed, and says so', async () => {
      const flight = booking('flight', {
        compensate: async () => {
          throw new Error('broken');
        },
      });
      await undone(trip([flight]));
      await world.until(UNDO, 'parked');
      await inTime(world.client.decide(UNDO, { resolution: 'fail', by: 'Ada', why: 'too late' }));
      await world.until(W, 'failed');
      const result = inTime(world.client.run('w').result());
      await expect(result).rejects.toMatchObject({
        code: 'workflow-failed',
        details: { reason: 'compensation-failed' },
        message: expect.stringContaining(`The undo ${UNDO} failed`),
      });
    });

    it('by hanging is cut off, tried again, and then waits for a person', async () => {
      let callCount = 0;
      const flight = booking('flight', {
        timeoutMs: 1_000,
        compensate: () => {
          callCount++;
          return new Promise(() => {});
        },
      });
      await undone(trip([flight]));
      await world.until(UNDO, 'parked');
      expect(callCount).toBe(RETRY_AT_ONCE.attempts);
    });

    it('for want of the effect waits for a person, who may run a build that has it', async () => {
      const flight = booking('flight');
      const without = trip([flight]);
      const lacking = await world.worker([{ ...without, effects: [] }]);
      await world.start(without);
      await world.until(W, 'parked');
      await inTime(world.client.decide('w', { resolution: 'compensate', by: 'Ada', why: 'off' }));
      await world.until(UNDO, 'parked');
      expect(JSON.stringify(await world.ports.store.events(UNDO, 100))).toContain(
        "No effect 'flight' is among this definition's effects",
      );
      await inTime(lacking.stop(0));
      await world.worker([without]);
      await inTime(world.client.decide(UNDO, { resolution: 'retry', by: 'Ada', why: 'the build is out' }));
      await world.until(W, 'compensated');
      expect(ledger.slice(1)).toEqual(['undo flight-1']);
    });
  });
});
