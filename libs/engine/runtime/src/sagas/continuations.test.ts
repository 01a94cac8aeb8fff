/** A workflow continues as new exactly once, whichever coordinators poll, whatever is lost, and whatever is sent to it while it closes. */

import { decodeRecord } from '@tidemark/codec';
import { RULES_VERSION, STATE_VERSION, type StreamState, type WorkflowId, workflowId } from '@tidemark/core';
import {
  definitionOf,
  entriesOf,
  foldLog,
  inboxRecord,
  openWorkflow,
} from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spentByWorkflow } from '../agent/model-budgets.ts';
import { CONTINUATION_PERIOD_MS } from '../coordinator/coordinator.ts';
import type { Definition } from '../definition/definition.ts';
import { currentOf, lastOf } from '../history/chain.ts';
import { Starter } from '../inbox/starter.ts';
import { LamportClock } from '../kernel/ports.ts';
import { drawUpNext } from '../run/continuing.ts';
import { Continuations } from './continuations.ts';

const PARTITIONS = 4;

let log: SimulatedLog;
let world: SimulatedWorld;
beforeEach(() => {
  log = new SimulatedLog(PARTITIONS);
  world = new SimulatedWorld(log, PARTITIONS);
});
afterEach(() => world.close());

/** Continues until its input is that number. */
const turnsTo = (last: number) =>
  definitionOf({
    steps: {
      turn: ({ input }) => {
        const { turn } = input as { readonly turn: number };
        return turn < last ? { continueAsNew: { turn: turn + 1 }, tokens: 10 } : { done: turn };
      },
    },
  });

/** Workflows of which the log has openings, one for each accepted opening. */
async function opened(): Promise<readonly string[]> {
  const found: string[] = [];
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const { rejected } = await foldLog(log, partition as never);
    const entries = await entriesOf(log, partition as never);
    const openings = entries.flatMap((entry) =>
      entry.kind === 'event' && entry.envelope.type === 'WorkflowOpened' ? [entry.envelope.workflow] : [],
    );
    found.push(...openings);
    for (const line of rejected) if (line.startsWith('WorkflowOpened')) found.pop();
  }
  return found.sort();
}

/** Runs before the log takes the first event of the type. */
function beforeThe(
  type: string,
  first: (workflow: WorkflowId, append: SimulatedLog['append']) => Promise<unknown>,
): void {
  const append = log.append.bind(log);
  let isDue = true;
  log.append = async (partition, records) => {
    const events = records.map(({ value }) => decodeRecord(value));
    const found = events.find((entry) => entry.kind === 'event' && entry.envelope.type === type);
    if (isDue && found?.kind === 'event') {
      isDue = false;
      await first(found.envelope.workflow, append);
    }
    return append(partition, records);
  };
}

const lookers = (count: number): readonly Continuations[] =>
  Array.from({ length: count }, () => {
    const lamport = new LamportClock();
    const starter = new Starter({ ports: world.ports, lamport });
    return new Continuations({
      ports: world.ports,
      starter,
      lamport,
      onError: (error) => world.errors.push({ where: 'test', error }),
    });
  });

describe('a workflow that goes on', () => {
  it('goes on once, however many look, and is not looked at again', async () => {
    await world.coordinator.start();
    await world.worker([turnsTo(2)]);
    const { store, clock } = world.ports;
    // The coordinator's own poll is held back, so that others are first.
    let isKept = true;
    store.on('pendingContinuations', () => {
      if (isKept) throw new Error('kept');
    });
    const w = await world.start(turnsTo(2), { turn: 1 });
    await world.until(w, 'completed');
    isKept = false;
    const looks = Promise.all(lookers(3).map((each) => each.poll()));
    await clock.runUntil(() => world.status(workflowId('w~2')) === 'completed', 10_000);
    await looks;
    expect(await opened()).toEqual(['w', 'w~2']);
    expect(await store.pendingContinuations(null, 10)).toEqual([]);
    expect(store.rows.get(workflowId('w~2'))!.stream).toMatchObject({ status: 'completed', reason: null, tokens: 0 });
    expect(world.errors.filter(({ error }) => !String(error).includes('kept'))).toEqual([]);
  });

  it('is found out again from rows that are rebuilt, and not begun again', async () => {
    await world.coordinator.start();
    await world.worker([turnsTo(3)]);
    await world.start(turnsTo(3), { turn: 1 });
    await world.until(workflowId('w~3'), 'completed');
    const fresh = new SimulatedWorld(log, PARTITIONS);
    await fresh.coordinator.start();
    await fresh.ports.clock.runUntil(() => fresh.status(workflowId('w~3')) === 'completed', 60_000);
    await fresh.ports.clock.run(3 * CONTINUATION_PERIOD_MS);
    expect(await fresh.ports.store.pendingContinuations(null, 10)).toEqual([]);
    expect(await opened()).toEqual(['w', 'w~2', 'w~3']);
    await fresh.close();
  });

  it('goes on as nothing that began by itself', async () => {
    await world.coordinator.start();
    await world.worker([turnsTo(2)]);
    // Anybody could once choose such ids.
    await openWorkflow(world.ports, turnsTo(2), 'w~2', { turn: 2 });
    await world.until(workflowId('w~2'), 'completed');
    await world.start(turnsTo(2), { turn: 1 });
    const isReported = (): boolean =>
      world.errors.some(({ error }) => (error as { code?: string }).code === 'continuation-taken');
    await world.ports.clock.runUntil(isReported, 10_000);
    expect(await opened()).toEqual(['w', 'w~2']);
    // Nor does it receive signals in its place.
    expect(await currentOf(world.ports.store, workflowId('w'))).toBeUndefined();
  });

  it('is refused where what it holds is sealed for itself, and where its id would be too long', () => {
    const state = { workflow: 'w', frontier: { tasks: [] } } as unknown as StreamState;
    const draw = (definition: Definition, of: StreamState) => drawUpNext(definition, { turn: 2 }, of, world.ports);
    const sealed = { ...turnsTo(2), hasSecrets: true };
    expect(() => draw(sealed, state)).toThrow(expect.objectContaining({ code: 'continue-secret' }));
    const long = { ...state, workflow: workflowId('w'.repeat(199)) };
    expect(() => draw(turnsTo(2), long)).toThrow(expect.objectContaining({ code: 'continue-id-too-long' }));
    expect(draw(turnsTo(2), state)).toMatchObject({ as: 'w~2', opening: { input: { turn: 2 }, mode: 'exclusive' } });
  });

  it('is told apart: the last of many is found by few looks', async () => {
    const seen: string[] = [];
    const row = (id: WorkflowId, last: string) => ({
      ...{ workflow: id, tenant: 't', definition: 'turns' },
      status: 'completed' as const,
      reason: id === last ? null : 'continued',
    });
    for (const last of ['w', 'w~2', 'w~3', 'w~999', 'w~1000', 'w~1001']) {
      const n = Number(last.split('~')[1] ?? 1);
      const workflow = async (id: WorkflowId) => {
        seen.push(id);
        return Number(id.split('~')[1] ?? 1) > n ? undefined : row(id, last);
      };
      const store = { workflow, loadStreams: async () => [] } as unknown as Parameters<typeof lastOf>[0];
      expect((await lastOf(store, row(workflowId('w'), last) as never)).workflow).toBe(last);
    }
    expect(seen.length).toBeLessThan(80);
  });

  it('is paid for by one budget', () => {
    const state = { tokens: 5, costMicros: 7, frontier: { tasks: [] }, spentBefore: { tokens: 100, costMicros: 30 } };
    expect(spentByWorkflow(state as never)).toEqual({ tokens: 105, costMicros: 37 });
  });

  it('needs the rules that know of it', async () => {
    await world.coordinator.start();
    await world.worker([turnsTo(2)]);
    await world.start(turnsTo(2), { turn: 1 });
    await world.until(workflowId('w~2'), 'completed');
    for (const id of ['w', 'w~2']) {
      const { state } = world.ports.store.rows.get(workflowId(id))!.stream;
      expect(JSON.parse(state)).toMatchObject({ rules: RULES_VERSION, stateVersion: STATE_VERSION });
    }
    expect(JSON.parse(world.ports.store.rows.get(workflowId('w~2'))!.stream.state)).toMatchObject({
      continues: 'w',
      spentBefore: { tokens: 10, costMicros: 0 },
    });
  });
});

describe('in the moment in which it closes', () => {
  it('a cancel comes first: it ends, and nothing goes on', async () => {
    await world.coordinator.start();
    await world.worker([turnsTo(2)]);
    beforeThe('WorkflowCompleted', async (workflow, append) => {
      const { stream } = world.ports.store.rows.get(workflow)!;
      const control = { code: 'cancelled', by: 'ana' };
      const value = inboxRecord(stream as never, 'cancel:1', 'CancelRequested', control, { why: 'enough' });
      await append(stream.partition, [{ value } as never]);
    });
    const w = await world.start(turnsTo(2), { turn: 1 });
    await world.until(w, 'failed');
    expect(world.ports.store.rows.get(w)!.stream).toMatchObject({ reason: 'cancelled', sequence: 1 });
    await world.ports.clock.run(3 * CONTINUATION_PERIOD_MS);
    expect(await opened()).toEqual(['w']);
  });

  it('a signal goes along that the worker had not seen', async () => {
    const hears: Definition = {
      ...definitionOf({
        steps: { turn: ({ cause }) => (cause === null ? { continueAsNew: { turn: 2 } } : { done: cause.value }) },
      }),
      begin: (input) => {
        const { turn } = input as { readonly turn: number };
        const when = turn === 1 ? {} : { when: { anyOf: [{ kind: 'signal' as const, name: 'word' }] } };
        return { belief: {}, next: [{ step: 'turn', input: null, ...when }] };
      },
    };
    await world.coordinator.start();
    await world.worker([hears]);
    beforeThe('WorkflowCompleted', async (workflow, append) => {
      const { stream } = world.ports.store.rows.get(workflow)!;
      const value = inboxRecord(stream as never, 'signal:1', 'SignalReceived', { name: 'word' }, { value: 'heard' });
      await append(stream.partition, [{ value } as never]);
    });
    await world.start(hears, { turn: 1 });
    await world.until(workflowId('w~2'), 'completed');
    expect(world.ports.store.rows.get(workflowId('w~2'))!.result).toBe('{"output":"heard"}');
  });

  it('one that takes its session first is waited for, and keeps no other from going on', async () => {
    const waits = definitionOf({
      name: 'other',
      next: [{ step: 'wait', input: null, when: { anyOf: [{ kind: 'signal', name: 'go' }] } }],
      steps: { wait: () => ({ done: null }) },
    });
    await world.coordinator.start();
    await world.worker([turnsTo(2), waits]);
    const { store, clock } = world.ports;
    let isKept = true;
    store.on('pendingContinuations', () => {
      if (isKept) throw new Error('kept');
    });
    const w = await world.start(turnsTo(2), { turn: 1 }, { id: 'w', session: 's' });
    await world.until(w, 'completed');
    const other = await world.start(waits, null, { id: 'o', session: 's' });
    await world.projected();
    isKept = false;
    await world.start(turnsTo(2), { turn: 1 }, { id: 'v' });
    await world.until(workflowId('v~2'), 'completed');
    expect(await currentOf(store, w)).toBeUndefined();
    expect(world.errors.some(({ error }) => (error as { code?: string }).code === 'session-busy')).toBe(true);
    await Promise.all([
      world.client.signal(other, 'go'),
      clock.runUntil(() => world.status(workflowId('w~2')) === 'completed', 120_000),
    ]);
    expect(await opened()).toEqual(['o', 'v', 'v~2', 'w', 'w~2']);
  });
});
