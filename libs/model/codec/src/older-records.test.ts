/**
 * Owns records in the bytes of the first release: they stay readable, and a field that it didn't write has the value that it implied. Never
 * edited: a record that becomes unreadable is lost history.
 */

import { emptyPartition, foldEntries, type LogEntry, offset, partition, workflowId } from '@tidemark/core';
import { expect, test } from 'vitest';
import { decodePayload, decodeRecord } from './record.ts';

const digest = 'ab'.repeat(32);
const inbox = '"lamport":3,"epoch":0,"holder":"","ordinal":0,"atMs":1700000000000';
const holder = (ordinal: number) =>
  `"lamport":${ordinal + 3},"epoch":1,"holder":"worker-1","ordinal":${ordinal},"atMs":1700000000100`;
const record = (id: string, clock: string, type: string, control: string, payload = 'null') =>
  `{"v":1,"id":"${id}","tenant":"acme","workflow":"invoice-7","generation":1,${clock},"type":"${type}","control":${control},"payload":"json"}\n${payload}`;

const OPENED = record(
  'e1',
  inbox,
  'WorkflowOpened',
  `{"definition":"invoice","version":2,"rules":1,"partition":5,"placement":"exclusive","inputDigest":"${digest}","tasks":[{"step":"pay","after":[],"when":[]}]}`,
  '{"input":{"amount":12},"belief":{},"tasks":[null]}',
);
const CLAIMED = record('e2', holder(1), 'LeaseClaimed', '{}');
const RESERVED = record('e3', holder(2), 'CheckpointReserved', '{"checkpoint":"c1","task":"0.0"}');
const EFFECT = `"task":"0.0","key":"invoice-7:0.0:charge:0","operation":"charge","kind":"irreversible"`;
const INTENDED = record(
  'e4',
  holder(3),
  'EffectIntended',
  `{${EFFECT},"requestDigest":"${digest}"}`,
  '{"request":{"amount":12}}',
);
const RESOLVED = record(
  'e5',
  holder(4),
  'EffectResolved',
  `{${EFFECT},"outcome":"done","requestDigest":"${digest}","responseDigest":"${digest}"}`,
  '{"response":"paid"}',
);
const COMMITTED = record(
  'e6',
  holder(5),
  'CheckpointCommitted',
  `{"checkpoint":"c1","sequence":1,"parent":null,"task":"0.0","step":"pay","stepVersion":2,"inputDigest":"${digest}","tasks":[],"belief":"none","tokens":0,"costMicros":0,"lastAction":"paid"}`,
  '{"output":null}',
);
const REVOKED = record('e7', inbox, 'LeaseRevoked', '{"epoch":1,"holder":"worker-1","reason":"holder-dead"}');

function read(text: string): Extract<LogEntry, { kind: 'event' }> {
  const entry = decodeRecord(Buffer.from(text));
  if (entry.kind !== 'event') throw new Error(JSON.stringify(entry));
  return entry;
}

test.each([
  [
    'an opening is not pinned, not shadowed, and undoes nothing',
    OPENED,
    { pinned: false, shadow: false, compensates: null },
  ],
  ['an intention has the time-out that was the default then', INTENDED, { timeoutMs: 30_000 }],
  ['a checkpoint corrects none', COMMITTED, { supersedes: null }],
  ['a revoke says what it said', REVOKED, { epoch: 1, holder: 'worker-1', reason: 'holder-dead' }],
  [
    'a ghost’s revoke says what it said',
    REVOKED.replace('holder-dead', 'lease-not-listed'),
    { reason: 'lease-not-listed' },
  ],
  ['a revoke for any other reason is no death', REVOKED.replace('holder-dead', 'by hand'), { reason: 'asked' }],
])('%s', (_, text, defaults) => {
  const { control } = read(text).envelope;
  const written = JSON.parse(text.slice(0, text.indexOf('\n'))) as { readonly control: object };
  expect(control).toEqual({ ...written.control, ...defaults });
});

test('their payloads are theirs', () => {
  expect(decodePayload('WorkflowOpened', read(OPENED).payload)).toMatchObject({ input: { amount: 12 } });
  expect(decodePayload('EffectResolved', read(RESOLVED).payload)).toEqual({ response: 'paid' });
});

test('folded, they give a stream of this release', () => {
  const entries = [OPENED, CLAIMED, RESERVED, INTENDED, RESOLVED, COMMITTED, REVOKED].map((text) => read(text));
  const { state, verdicts } = foldEntries(emptyPartition(partition(5), offset(0)), entries);
  expect(verdicts).toEqual(entries.map((_, at) => ({ kind: 'accepted', position: at + 1 })));
  expect(state.streams.get(workflowId('invoice-7'))).toMatchObject({
    status: 'open',
    version: 2,
    pinned: false,
    shadow: false,
    question: null,
    ruling: null,
    undo: null,
    isUnsettled: true,
    crashCount: 1,
    head: { sequence: 1, checkpoint: 'c1' },
  });
});
