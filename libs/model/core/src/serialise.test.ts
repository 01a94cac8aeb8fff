/** Owns the tests of folded state as text. fold.properties.test.ts tests that a fold resumes from it exactly (I5). */

import { declared, entryOf, holderEvent, inboxEvent, signalNamed } from '@tidemark/testkit/naive/events';
import { streamView } from '@tidemark/testkit/naive/view';
import { describe, expect, test } from 'vitest';
import { CorruptError } from './errors.ts';
import { foldEntries } from './fold.ts';
import { offset, partition, workflowId } from './ids.ts';
import { STATE_VERSION, streamFromJson, streamToJson, taskToJson } from './serialise.ts';
import { emptyPartition, type StreamState } from './state.ts';

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

describe('a stream as texts', () => {
  test('comes back whole, from its tasks in any order', () => {
    expect(streamView(streamFromJson(streamToJson(stream), texts.toReversed()))).toEqual(streamView(stream));
  });

  test('keeps its tasks apart, so that its own text stays small', () => {
    expect(streamToJson(stream)).not.toContain('scan');
    expect(texts).toHaveLength(4);
    expect(JSON.parse(streamToJson(stream))).toMatchObject({ stateVersion: STATE_VERSION });
  });

  test('of another version is refused: it would be taken for something else', () => {
    const later = JSON.stringify({ ...JSON.parse(streamToJson(stream)), stateVersion: STATE_VERSION + 2 });
    expect(() => streamFromJson(later, texts)).toThrow(CorruptError);
    expect(() => streamFromJson('{}', [])).toThrow(`this process reads ${STATE_VERSION}`);
  });
});
