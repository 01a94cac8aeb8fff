/** Owns the tests of folded state as text. fold.properties.test.ts tests that a fold resumes from it exactly (I5). */

import { declared, entryOf, holderEvent, inboxEvent, signalNamed } from '@tidemark/testkit/naive/events';
import { streamView } from '@tidemark/testkit/naive/view';
import { describe, expect, test } from 'vitest';
import { CorruptError } from './errors.ts';
import { foldEntries } from './fold.ts';
import { offset, partition, type TaskId, workflowId } from './ids.ts';
import { STATE_VERSION, streamFromJson, streamToJson, taskToJson } from './serialise.ts';
import { emptyPartition, type StreamState, type TaskState } from './state.ts';

const tasks = [
  declared('scan'),
  declared('join', ['0.0']),
  declared('wait', [], [signalNamed('go')]),
  declared('report', 'all'),
];
const history = [
  inboxEvent('WorkflowOpened', { tasks }),
  inboxEvent('SignalReceived', { name: 'zürich \u0007 "quoted"' }),
  holderEvent('LeaseClaimed', { epoch: 1, holder: 'h1', ordinal: 1 }),
  holderEvent('EffectIntended', { epoch: 1, holder: 'h1', ordinal: 2 }),
];
const folded = foldEntries(emptyPartition(partition(0), offset(0)), history.map(entryOf));
const stream = folded.state.streams.get(workflowId('w')) as StreamState;
const texts = [...stream.frontier.tasks].map(taskToJson);

/** The members of the state and of its effects from last to first, as no fold sets them. */
function reversed<T extends object>(value: T): T {
  const turned = Object.entries(value).map(([name, member]) => {
    if (name === 'effects') return [name, (member as object[]).map(reversed)];
    return [
      name,
      name === 'failedOn' || name === 'failure' || name === 'unreadable' ? reversed(member as object) : member,
    ];
  });
  return Object.fromEntries(turned.reverse());
}

describe('a stream as texts', () => {
  test('comes back whole, from its tasks in any order', () => {
    expect(streamView(streamFromJson(streamToJson(stream), texts.toReversed()))).toEqual(streamView(stream));
  });

  test('keeps its tasks apart, so that its own text stays small', () => {
    expect(streamToJson(stream)).not.toContain('scan');
    expect(texts).toHaveLength(4);
    expect(JSON.parse(streamToJson(stream))).toMatchObject({ stateVersion: STATE_VERSION });
  });

  test('is written in one order, by its declaration, whatever order the fold set its members in', () => {
    const failedOn = { task: '0.0' as TaskId, builds: ['b1'], next: 'b2' };
    const failure = { fingerprint: 'f', code: 'c', step: 's', task: null };
    const unreadable = { offset: offset(3), type: 'T', v: 9, problem: 'p', judgement: 'take' } as const;
    const spend = { tokens: 1, costMicros: 2 };
    const task = [...stream.frontier.tasks].find(({ effects }) => effects.length > 0) as TaskState;
    const full: StreamState = {
      ...stream,
      failedOn,
      failure,
      unreadable,
      hasChildren: true,
      sealed: true,
      raised: spend,
    };
    const called = { ...task, effects: task.effects.map((effect) => ({ ...effect, spend, wasted: spend })) };
    expect(streamToJson(reversed(full))).toBe(streamToJson(full));
    expect(taskToJson(reversed(called))).toBe(taskToJson(called));
    // Cleared as the fold clears it, and set again.
    const { hasChildren: _, ...without } = full;
    expect(streamToJson({ ...without, failedOn: undefined, hasChildren: true })).toBe(
      streamToJson({ ...full, failedOn: undefined }),
    );
  });

  test('keeps what a later release added to it', () => {
    const later = { ...stream, later: { b: 1, a: 2 } };
    const read = streamFromJson(streamToJson(later), texts);
    expect(read).toMatchObject({ later: { b: 1, a: 2 } });
    expect(streamToJson(read)).toBe(streamToJson(later));
  });

  test('of another version is refused: it would be taken for something else', () => {
    const later = JSON.stringify({ ...JSON.parse(streamToJson(stream)), stateVersion: STATE_VERSION + 1 });
    expect(() => streamFromJson(later, texts)).toThrow(CorruptError);
    expect(() => streamFromJson('{}', [])).toThrow(`this process reads ${STATE_VERSION}`);
  });
});
