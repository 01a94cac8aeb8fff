/**
 * What a holder knows of payloads is the same from rows and tail as from the whole log: belief, inputs, journal and causes, wherever the
 * rows are.
 */

import { encodePayload, encodeRecord } from '@tidemark/codec';
import {
  diff,
  type EffectKey,
  type Envelope,
  type EventEntry,
  type EventType,
  emptyPartition,
  foldEntry,
  isClosed,
  type Json,
  type LogEntry,
  type Offset,
  type Partition,
  type Sequence,
  type StreamState,
  streamFromJson,
  type TaskId,
  type WorkflowId,
} from '@tidemark/core';
import type { EventLog, StreamSnapshot } from '@tidemark/ports';
import { logged } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedStore } from '@tidemark/testkit/engine/simulated-store';
import { type Act, type Choice, HISTORY_PARTITION, historyOf } from '@tidemark/testkit/naive/history';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProjectionBuilder } from '../projection/projection.ts';
import { StreamContent } from './content.ts';

/** Properties take seconds when other work has the machine; a hang is still found. */
const HERE = HISTORY_PARTITION as Partition;

/** The payload that the event's writer would have made, given the belief before it. */
function payloadOf(envelope: Envelope, belief: Json): { readonly payload: unknown; readonly belief: Json } {
  const { id } = envelope;
  switch (envelope.type) {
    case 'WorkflowOpened': {
      const first = { opened: id };
      return {
        payload: { input: `in ${id}`, belief: first, tasks: inputs(envelope.control.tasks, id) },
        belief: first,
      };
    }
    case 'CheckpointCommitted': {
      const { list = [] } = belief as { readonly list?: readonly string[] };
      // The list grows, so a change that is applied to a wrong belief is detected.
      const after = { ...(belief as object), [`b${envelope.control.sequence % 5}`]: id, list: [...list, id] };
      const change =
        envelope.control.belief === 'snapshot'
          ? { snapshot: after }
          : envelope.control.belief === 'delta'
            ? { delta: diff(belief, after) }
            : {};
      const payload = { output: null, tasks: inputs(envelope.control.tasks, id), ...change };
      return { payload, belief: envelope.control.belief === 'none' ? belief : after };
    }
    case 'EffectIntended':
      return { payload: { request: `ask ${id}` }, belief };
    case 'EffectResolved': {
      const done = envelope.control.outcome === 'done';
      return { payload: done ? { response: `got ${id}` } : { error: { name: 'E', message: id } }, belief };
    }
    case 'SignalReceived':
    case 'ApprovalGiven':
    case 'ChildClosed':
      return { payload: { value: `said ${id}` }, belief };
    default:
      return { payload: null, belief };
  }
}

const inputs = (tasks: readonly unknown[], id: string): string[] => tasks.map((_, index) => `${id} ${index}`);

/** The history with payloads, and which of its events were accepted. */
function withPayloads(entries: readonly LogEntry[]): { readonly entries: LogEntry[]; readonly accepted: boolean[] } {
  const beliefs = new Map<WorkflowId, Json>();
  const accepted: boolean[] = [];
  let state = emptyPartition(HERE, 0 as Offset);
  const written = entries.map((entry) => {
    const step = foldEntry(state, entry);
    state = step.state;
    accepted.push(step.verdict.kind === 'accepted');
    if (entry.kind !== 'event') return entry;
    const { envelope } = entry;
    const { payload, belief } = payloadOf(envelope, beliefs.get(envelope.workflow) ?? {});
    if (step.verdict.kind === 'accepted') beliefs.set(envelope.workflow, belief);
    return { ...entry, payload: encodePayload(envelope.type as EventType, payload as never) };
  });
  return { entries: written, accepted };
}

/** A log of one partition with these entries. */
const logOf = (entries: readonly LogEntry[]): Pick<EventLog, 'read'> => ({
  read: async (requests) =>
    requests.map(({ partition, from, to = entries.length }) => ({
      partition,
      end: entries.length as Offset,
      records: entries.slice(from, to).map((entry, index) => ({
        offset: (from + index) as Offset,
        value: entry.kind === 'event' ? encodeRecord(entry, 1_000_000) : new Uint8Array(),
      })),
    })),
});

/** Everything that a runner may read of the content, for what is pending. */
const view = (content: StreamContent, state: StreamState) => ({
  input: content.input,
  belief: content.belief,
  tasks: [...state.frontier.tasks].map((task) => ({
    task: task.id,
    input: content.inputOf(task.id),
    journal: task.effects.map((effect) => content.journalOf(effect.key)),
    cause: task.cause === null || task.cause.kind === 'timer' ? null : content.causeOf(task.cause.event),
  })),
});

const acts: Act[] = [
  'open',
  'claim',
  'commit',
  'commit',
  'commit',
  'intend',
  'resolve',
  'fail',
  'timer',
  'signal',
  'answer',
  'child-ends',
  'release',
];
const choices: fc.Arbitrary<Choice[]> = fc.array(
  fc.record({
    act: fc.constantFrom(...acts),
    who: fc.nat(2),
    pick: fc.nat(1_000_000),
    twist: fc.constant('none' as const),
  }),
  { maxLength: 80, size: 'max' },
);

describe('content', () => {
  it('is the same from rows and tail as from the start of the log', async () => {
    await fc.assert(
      fc.asyncProperty(choices, fc.nat(1_000), async (made, cutAt) => {
        const { entries, accepted } = withPayloads(historyOf(made));
        const cut = cutAt % (entries.length + 1);
        const builder = new ProjectionBuilder();
        builder.fold(emptyPartition(HERE, 0 as Offset), entries.slice(0, cut));
        const store = logged(new SimulatedStore(HERE + 1), logOf(entries));
        await store.apply(builder.batch());
        for (const snapshot of await store.loadStreams([...store.rows.keys()])) {
          compare(snapshot, entries, accepted, cut);
        }
      }),
      { numRuns: 150 },
    );
  });

  function compare(snapshot: StreamSnapshot, entries: LogEntry[], accepted: boolean[], cut: number): void {
    const { workflow } = snapshot;
    const state = streamFromJson(snapshot.state, snapshot.tasks);
    if (isClosed(state)) return;
    const mine = (at: number): boolean => {
      const entry = entries[at]!;
      return entry.kind === 'event' && entry.envelope.workflow === workflow && accepted[at]!;
    };
    const replay = (content: StreamContent, from: number, to: number): StreamContent => {
      for (let at = from; at < to; at++) {
        if (!mine(at)) continue;
        const { envelope, payload } = entries[at] as EventEntry;
        content.apply(envelope, payload);
      }
      return content;
    };
    const whole = replay(new StreamContent(), 0, cut);
    const resumed = StreamContent.from(snapshot, state);
    expect(view(resumed, state)).toEqual(view(whole, state));
    let partition = emptyPartition(HERE, 0 as Offset);
    for (const entry of entries) partition = foldEntry(partition, entry).state;
    const last = partition.streams.get(workflow);
    if (last === undefined || isClosed(last)) return;
    // Rows have the payloads of signals that a pending task received, but not of signals that nobody has taken.
    const untaken = state.signals.map((signal) => signal.event);
    if ([...last.frontier.tasks].some((task) => task.cause !== null && untaken.includes(task.cause.event))) return;
    expect(view(replay(resumed, cut, entries.length), last)).toEqual(view(replay(whole, cut, entries.length), last));
  }

  const opened = { input: 1, belief: { n: 0 }, tasks: ['first', 'second'] };
  const opening = { type: 'WorkflowOpened', control: { version: 1 } } as Envelope;
  const committed = (sequence: number, task: string, stepVersion = 1): Envelope =>
    ({
      type: 'CheckpointCommitted',
      control: { sequence: sequence as Sequence, task: task as TaskId, stepVersion },
    }) as Envelope;

  it('forgets the input of a done task, and keeps what its checkpoint adds', () => {
    const content = new StreamContent();
    content.apply(opening, encodePayload('WorkflowOpened', opened));
    content.apply(
      committed(1, '0.0'),
      encodePayload('CheckpointCommitted', { output: null, tasks: ['third'], delta: { o: { n: { v: 1 } } } }),
    );
    expect(['0.0', '0.1', '1.0'].map((id) => content.inputOf(id as TaskId))).toEqual([null, 'second', 'third']);
    expect(content.belief).toEqual({ n: 1 });
  });

  it('resumed from rows keeps no input of what is done', () => {
    const payload = JSON.stringify({ input: 1, belief: {}, tasks: ['first', 'second'] });
    const of = { workflow: 'w', checkpoints: [{ sequence: 0, payload }], effects: [], causes: [] };
    const tasks = { get: (id: string) => (id === '0.1' ? {} : undefined), *[Symbol.iterator]() {} };
    const state = { frontier: { tasks }, head: { sequence: 1 }, beliefSequence: 0 } as unknown as StreamState;
    const content = StreamContent.from(of as unknown as StreamSnapshot, state);
    expect(['0.0', '0.1'].map((id) => content.inputOf(id as TaskId))).toEqual([null, 'second']);
  });

  it('counts the bytes that decide when belief is stored whole', () => {
    const content = new StreamContent();
    content.apply(opening, encodePayload('WorkflowOpened', opened));
    const delta = { output: null, tasks: [], delta: { o: { n: { v: 1 } } } } as const;
    content.committed(committed(1, '0.0').control as never, delta, 100);
    content.committed(committed(2, '0.1').control as never, delta, 50);
    expect(content).toMatchObject({ deltaBytes: 150 });
    content.committed(committed(3, '1.0').control as never, { output: null, tasks: [], snapshot: { n: 9 } }, 30);
    expect(content).toMatchObject({ deltaBytes: 0, snapshotBytes: 30, belief: { n: 9 } });
  });

  it('says which rows are missing', () => {
    const store = { workflow: 'w', checkpoints: [{ sequence: 0, payload: JSON.stringify({ ...opened, tasks: [] }) }] };
    const state = { frontier: { tasks: [{ id: '0.0' }] }, head: { sequence: 0 } } as unknown as StreamState;
    expect(() => StreamContent.from({ ...store, effects: [], causes: [] } as unknown as StreamSnapshot, state)).toThrow(
      expect.objectContaining({ code: 'rows-incomplete', details: { workflow: 'w', task: '0.0' } }),
    );
  });

  it('keeps a journal by key, and forgets it when its task is done', () => {
    const content = new StreamContent();
    const key = 'w:0.0:pay:0' as EffectKey;
    content.apply(
      { type: 'EffectIntended', control: { key } } as Envelope,
      encodePayload('EffectIntended', { request: 1 }),
    );
    expect(content.journalOf(key)).toEqual({ status: 'intended', request: 1 });
    content.apply(
      { type: 'EffectResolved', control: { key, outcome: 'failed' } } as Envelope,
      encodePayload('EffectResolved', { error: { name: 'E', message: 'm' } }),
    );
    expect(content.journalOf(key)).toEqual({ status: 'failed', error: { name: 'E', message: 'm' } });
    content.forget([key]);
    expect(content.journalOf(key)).toBeUndefined();
    expect(content.causeOf('nothing' as never)).toBeNull();
    expect(content.inputOf('7.0' as TaskId)).toBeNull();
  });
});
