/**
 * Owns the tests of a record's bytes: every event type is encoded and decoded, no bytes make decoding throw, malformed differs from
 * unknown, limits hold, and everything that can be written can be read.
 */

import {
  ENVELOPE_VERSION,
  type Envelope,
  type EventType,
  InvalidError,
  LimitError,
  type LogEntry,
  RULES_READABLE,
  STORED_BOUNDS,
} from '@tidemark/core';
import { DEFAULT_CONTROLS, declared, holderEvent, inboxEvent } from '@tidemark/testkit/naive/events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodePayload, decodeRecord, encodePayload, encodeRecord, HEADER_MAX_BYTES, payloadText } from './record.ts';
import { NAME_MAX_CHARS, SEALED_VERSION } from './schema.ts';

/** Properties take seconds when other work has the machine; a hang is still found. */
const TYPES = Object.keys(DEFAULT_CONTROLS) as EventType[];
const ROOMY_BYTES = 8_388_608;

/** Names as people write them: any script, quotes, control characters, line feeds; no NUL, no lone surrogate. */
const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((text) => !text.includes('\0'));
const anyText = fc.string({ unit: 'grapheme', maxLength: 60 }).filter((text) => !text.includes('\0'));
const count = fc.nat();
const positive = fc.integer({ min: 1 });
const timeMs = fc.double({ min: 0, max: 1e15, noNaN: true }).map((value) => value + 0);
const digest = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'));
const task = fc.tuple(fc.nat(9_999_999), fc.nat(1_048_575)).map(([sequence, index]) => `${sequence}.${index}`);
const kind = fc.constantFrom('pure', 'idempotent', 'irreversible');
const timer = fc.record({ timer: name, anchorMs: timeMs, delayMs: timeMs });
const retry = fc.option(timer);
const condition = fc.oneof(
  fc.record({ kind: fc.constant('signal'), name }),
  fc.record({ kind: fc.constant('timer'), timer: name, anchorMs: timeMs, delayMs: timeMs }),
);
const tasks = fc.array(
  fc.record({
    step: name,
    after: fc.oneof(fc.constant('all' as const), fc.array(task, { maxLength: 3 })),
    when: fc.array(condition, { maxLength: 2 }),
  }),
  { maxLength: 3 },
);
const effect = { task, key: name, operation: name, kind, requestDigest: digest };

const spend = fc.record({ tokens: count, costMicros: count });
const hasContext = fc.constant(true);
const optional = (keys: readonly string[]) => ({ noNullPrototype: true, requiredKeys: keys }) as const;
const intended = { ...effect, timeoutMs: timeMs };
const resolved = { ...effect, outcome: fc.constantFrom('done', 'failed'), responseDigest: digest };

const opened = {
  definition: name,
  version: count,
  rules: positive,
  partition: count,
  placement: fc.constantFrom('exclusive', 'shared'),
  inputDigest: digest,
  tasks,
  pinned: fc.boolean(),
  shadow: fc.boolean(),
  compensates: fc.option(fc.record({ workflow: name, depth: positive })),
};

const CONTROLS: { readonly [T in EventType]: fc.Arbitrary<object> } = {
  WorkflowOpened: fc.record(
    {
      ...opened,
      session: name,
      user: name,
      fork: fc.record({ workflow: name, sequence: count, effects: fc.constantFrom('replay', 'live', 'keep', 'ask') }),
      timeoutMs: positive,
      parent: fc.record({ workflow: name, task, onClose: fc.constantFrom('cancel', 'terminate', 'abandon') }),
      hasContext,
    },
    optional(Object.keys(opened)) as never,
  ),
  PartitionFenced: fc.record({ partition: count }),
  SignalReceived: fc.record({ name, replaces: name, by: name }, { requiredKeys: ['name'] }),
  SignalDiscarded: fc.record({ signal: name, by: name }),
  WorkflowReset: fc.record({ as: name, at: count, by: name }),
  TimerFired: fc.record({ timer: name }),
  LeaseRevoked: fc.record({
    epoch: positive,
    holder: name,
    reason: fc.constantFrom('holder-dead', 'lease-not-listed', 'asked'),
    isGone: fc.boolean(),
  }),
  EffectConfirmed: fc.record({ token: name, outcome: fc.constantFrom('done', 'failed'), responseDigest: digest }),
  ApprovalDecided: fc.record({
    question: name,
    resolution: fc.constantFrom('retry', 'done', 'not-done', 'compensate', 'fail'),
    by: name,
    responseDigest: fc.option(digest),
  }),
  RetryDecided: fc.record({ question: name, build: name }),
  CompensationFinished: fc.record({ undo: name, outcome: fc.constantFrom('compensated', 'failed') }),
  VersionPinned: fc.record({ pinned: fc.boolean(), by: name }),
  MemoryWritten: fc.record({ count: positive }),
  BudgetRaised: fc.record({ tokens: count, costMicros: count, by: name }),
  CancelRequested: fc.record({ code: name, by: name }),
  WorkflowTerminated: fc.record({ code: name, by: name }),
  PauseRequested: fc.record({ by: name }),
  ResumeRequested: fc.record({ by: name }),
  ChildClosed: fc.record({ task, child: name, outcome: fc.constantFrom('completed', 'failed', 'compensated') }),
  RecordJudged: fc.record({ offset: count, judgement: fc.constantFrom('skip', 'take'), by: name }),
  ApprovalGiven: fc.record({ task, name, approved: fc.boolean(), by: name }),
  LeaseClaimed: fc.constant({}),
  RulesRaised: fc.record({ rules: fc.integer({ min: RULES_READABLE.min, max: RULES_READABLE.max }) }),
  LeaseReleased: fc.record({ reason: fc.constantFrom('idle', 'drain', 'fault') }),
  CheckpointReserved: fc.record({ checkpoint: name, task }),
  EffectIntended: fc.record(
    {
      ...intended,
      model: fc.record({ bundle: fc.option(digest), reserved: spend }),
      question: digest,
      hasContext,
    },
    optional(Object.keys(intended)) as never,
  ),
  EffectPending: fc.record({ task, key: name, token: name, probe: retry, deadline: timer }),
  EffectResolved: fc.record({ ...resolved, spent: spend, hasContext }, optional(Object.keys(resolved)) as never),
  CheckpointCommitted: fc.record({
    checkpoint: name,
    sequence: positive,
    parent: fc.option(name),
    task,
    step: name,
    stepVersion: count,
    inputDigest: digest,
    tasks,
    drops: fc.option(fc.array(task, { maxLength: 3 }), { nil: undefined }),
    belief: fc.constantFrom('none', 'delta', 'snapshot'),
    tokens: count,
    costMicros: timeMs,
    lastAction: fc.oneof(anyText, fc.constant('x'.repeat(5_000))),
    supersedes: fc.option(positive),
  }),
  StepFailed: fc.record(
    {
      ...{ task, attempt: positive, code: name, retry },
      outage: fc.record({ of: name, why: name, sinceMs: timeMs, count: positive }),
    },
    { requiredKeys: ['task', 'attempt', 'code', 'retry'] },
  ),
  WorkflowCompleted: fc.record(
    { outputDigest: digest, dropped: fc.record({ count: positive, tasks: fc.array(task, { maxLength: 3 }) }) },
    { requiredKeys: ['outputDigest'] },
  ),
  WorkflowFailed: fc.record({ code: name, task: fc.option(task) }),
  WorkflowParked: fc.record({ code: name, task: fc.option(task), key: fc.option(name) }),
  CompensationStarted: fc.record({ undo: name, depth: positive, code: name, key: fc.option(name) }),
};

const envelopeOf = (type: EventType): fc.Arbitrary<Envelope> =>
  fc
    .record({
      v: fc.constant(ENVELOPE_VERSION),
      id: name,
      tenant: name,
      workflow: name,
      generation: positive,
      lamport: count,
      epoch: count,
      holder: anyText,
      ordinal: count,
      atMs: timeMs,
      type: fc.constant(type),
      control: CONTROLS[type],
    })
    .map((envelope) => envelope as unknown as Envelope);
const anyEnvelope = fc.constantFrom(...TYPES).chain(envelopeOf);
const payload = fc.jsonValue({ maxDepth: 3 }).map((value) => Buffer.from(JSON.stringify(value)));

describe('every event type', () => {
  test.each(TYPES)('%s comes back as it was written', (type) => {
    fc.assert(
      fc.property(envelopeOf(type), payload, (envelope, bytes) => {
        const entry = decodeRecord(encodeRecord({ envelope, payload: bytes }, ROOMY_BYTES));
        expect(entry.kind === 'malformed' ? entry.problem : entry.kind).toBe('event');
        if (entry.kind !== 'event') return;
        expect(entry.envelope).toEqual(envelope);
        expect(Buffer.compare(entry.payload, bytes)).toBe(0);
        expect(payloadText(entry.payload)).toBe(bytes.toString());
      }),
      { numRuns: 30 },
    );
  });

  test('a payload comes back as it was written; none is null', () => {
    expect(decodePayload('TimerFired', encodePayload('TimerFired', null))).toBeNull();
    const note = { input: { a: ['é', '\0', '\ud83d\ude00'] }, belief: null, tasks: [] };
    expect(decodePayload('WorkflowOpened', encodePayload('WorkflowOpened', note))).toEqual(note);
    expect(() => decodePayload('TimerFired', Uint8Array.of(0xff))).toThrow(InvalidError);
    expect(() => decodePayload('TimerFired', '{')).toThrow('payload of a TimerFired');
  });
});

const KINDS = new Set(['event', 'unknown', 'malformed']);

/** The entry for the bytes: one of three kinds, whatever they are. */
function judged(bytes: Uint8Array): LogEntry {
  const entry = decodeRecord(bytes);
  expect(KINDS.has(entry.kind)).toBe(true);
  // The judgement depends on the bytes alone.
  expect(decodeRecord(bytes.slice())).toEqual(entry);
  return entry;
}

describe('bytes of any kind are judged, never thrown at', () => {
  test('random bytes are malformed', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(judged(bytes).kind).toBe('malformed');
        expect(judged(Buffer.concat([Buffer.from('{"v":1}\n'), bytes])).kind).toBe('malformed');
      }),
    );
  });

  test('any JSON as a header line', () => {
    fc.assert(
      fc.property(fc.json(), (line) => {
        expect(judged(Buffer.from(`${line}\nnull`)).kind).toBe('malformed');
      }),
    );
  });

  test('a record with bytes changed, cut off or put in', () => {
    const change = fc.record({ at: fc.nat(), byte: fc.nat(255), deleteCount: fc.nat(3), insert: fc.boolean() });
    fc.assert(
      fc.property(anyEnvelope, fc.array(change, { minLength: 1, maxLength: 3 }), (envelope, changes) => {
        const bytes = [...encodeRecord({ envelope, payload: Buffer.from('null') }, ROOMY_BYTES)];
        for (const { at, byte, deleteCount, insert } of changes) {
          bytes.splice(at % bytes.length, deleteCount, ...(insert ? [byte] : []));
        }
        judged(Buffer.from(bytes));
      }),
      { numRuns: 300 },
    );
  });

  test('a record cut off within its header is malformed', () => {
    fc.assert(
      fc.property(anyEnvelope, fc.nat(), (envelope, at) => {
        const bytes = encodeRecord({ envelope, payload: Buffer.from('null') }, ROOMY_BYTES);
        expect(judged(bytes.subarray(0, at % bytes.indexOf(0x0a))).kind).toBe('malformed');
      }),
    );
  });

  test('a header with one of its members gone, or of another kind', () => {
    const wrong = fc.constantFrom(undefined, null, -1, 1.5, '', [], {}, true, 'x'.repeat(NAME_MAX_CHARS + 1));
    fc.assert(
      fc.property(anyEnvelope, fc.nat(), wrong, (envelope, pick, value) => {
        const header = { ...envelope, payload: 'json' };
        const keys = Object.keys(header).filter((key) => key !== 'control');
        judged(recordOf({ ...header, [keys[pick % keys.length]!]: value }));
      }),
    );
  });
});

const recordOf = (header: object, body = 'null'): Buffer => Buffer.from(`${JSON.stringify(header)}\n${body}`);
const committed = holderEvent(
  'CheckpointCommitted',
  { epoch: 1, holder: 'h1', ordinal: 2 },
  { tasks: [declared('a')] },
);
const header = { ...committed, payload: 'json' };
const withControl = (control: object): Buffer => recordOf({ ...header, control: { ...committed.control, ...control } });

/** A text that no JSON writer would produce. */
const withText = (text: string): Buffer =>
  Buffer.from(`${JSON.stringify({ ...header, more: '?' }).replace('"?"', text)}\nnull`);

describe('malformed', () => {
  test.each<[string, Uint8Array, string]>([
    ['no line feed', Buffer.from(JSON.stringify(header)), 'no header line'],
    ['nothing', Buffer.of(), 'no header line'],
    ['a header that is too long', Buffer.alloc(HEADER_MAX_BYTES + 2, ' '), 'no header line'],
    ['bytes that are not UTF-8', Buffer.concat([Buffer.of(0xc3, 0x28), recordOf(header)]), 'not UTF-8'],
    ['text that is not JSON', Buffer.from('tidemark\nnull'), 'not JSON'],
    ['JSON that is no envelope', Buffer.from('[]\nnull'), 'envelope: '],
    ['an id that is missing', recordOf({ ...header, id: undefined }), 'id: '],
    ['a version before the first', recordOf({ ...header, v: 0 }), 'v: '],
    ['more values than are read', withControl({ more: Array(STORED_BOUNDS.valuesMaxCount).fill(0) }), 'has more than'],
    ['levels without end', withText(`${'['.repeat(5_000)}"\\u0000"${']'.repeat(5_000)}`), 'levels'],
    ['a payload in an unknown form', recordOf({ ...header, payload: 'gzip' }), 'payload: '],
    ['an epoch that is no whole number', recordOf({ ...header, epoch: 1.5 }), 'epoch: '],
    ['a name that is too long', recordOf({ ...header, tenant: 'x'.repeat(NAME_MAX_CHARS + 1) }), 'tenant: '],
    ['a wrong control', withControl({ belief: 'most' }), 'control of CheckpointCommitted: belief: '],
    ['a wrong task in a list', withControl({ tasks: [declared('a', ['first'])] }), 'tasks.0.after'],
    ['a task by another text than its own', withControl({ task: '0.00' }), 'task: '],
    ['a task index that no checkpoint can give', withControl({ task: '0.1048576' }), 'task: '],
    ['a NUL in a name', recordOf({ ...header, workflow: 'a\0b' }), 'envelope.workflow: holds a NUL'],
    ['half a surrogate pair', withControl({ lastAction: '\ud83d' }), 'envelope.control.lastAction: holds'],
    ['a NUL in the payload', recordOf(header, '"\0"'), 'payload holds a NUL'],
  ])('%s', (_, bytes, problem) => {
    const entry = judged(bytes);
    expect(entry).toMatchObject({ kind: 'malformed' });
    expect((entry as { problem: string }).problem).toContain(problem);
  });

  test('an escape of anything else is sound', () => {
    const escaped = JSON.stringify({ ...header, workflow: 'é' }).replace('é', String.raw`\u00e9`);
    expect(decodeRecord(Buffer.from(`${escaped}\nnull`))).toMatchObject({ envelope: { workflow: 'é' } });
  });
});

describe('unknown, and left for a newer process', () => {
  const place = { workflow: 'w', generation: 1 };

  test('a type of this version that this process doesn’t have', () => {
    const entry = judged(recordOf({ ...header, type: 'Dreamt', control: { of: 'sheep' } }));
    expect(entry).toEqual({ kind: 'unknown', ...place, type: 'Dreamt', v: ENVELOPE_VERSION });
  });

  test('rules that this process doesn’t have: what follows may mean something else', () => {
    const rules = RULES_READABLE.max + 1;
    const entry = judged(recordOf({ ...header, type: 'RulesRaised', control: { rules } }));
    expect(entry).toEqual({ kind: 'unknown', ...place, type: 'RulesRaised', v: rules });
  });

  test('a type that every object has a member of the name of', () => {
    expect(judged(recordOf({ ...header, type: 'constructor' })).kind).toBe('unknown');
  });

  test('the next version, also of a type that is known', () => {
    const entry = judged(recordOf({ ...header, v: SEALED_VERSION + 1 }));
    expect(entry).toEqual({ kind: 'unknown', ...place, type: 'CheckpointCommitted', v: SEALED_VERSION + 1 });
  });

  test('the next version, whatever it makes of the rest of the envelope', () => {
    const later = {
      v: SEALED_VERSION + 1,
      ...place,
      type: 'CheckpointCommitted',
      payload: 'zstd',
      holder: { pod: 'p' },
    };
    expect(judged(recordOf(later, '\0\u0001')).kind).toBe('unknown');
    expect(judged(recordOf({ ...later, generation: undefined })).kind).toBe('malformed');
    expect(judged(recordOf({ ...later, workflow: '\0' })).kind).toBe('malformed');
  });
});

describe('writing', () => {
  test('what is over the size is refused, with both sizes', () => {
    const event = { envelope: committed, payload: Buffer.alloc(1_000, 'x') };
    const sizeBytes = encodeRecord(event, ROOMY_BYTES).length;
    expect(encodeRecord(event, sizeBytes)).toHaveLength(sizeBytes);
    const refused = (): unknown => encodeRecord(event, sizeBytes - 1);
    expect(refused).toThrow(LimitError);
    expect(refused).toThrow(`${sizeBytes} bytes`);
    expect(refused).toThrow(`at most ${sizeBytes - 1} fit`);
  });

  test('what has too much control is refused, since no reader would take it', () => {
    const tasks = Array.from({ length: 140_000 }, () => declared('a'));
    const envelope = holderEvent('CheckpointCommitted', { epoch: 1, holder: 'h1', ordinal: 2 }, { tasks });
    expect(() => encodeRecord({ envelope, payload: Buffer.of() }, 2 * ROOMY_BYTES)).toThrow(LimitError);
  });

  test('what has too many values is refused, since no reader would take it', () => {
    const value = Array(STORED_BOUNDS.valuesMaxCount).fill(0);
    expect(() => encodePayload('SignalReceived', { value } as never)).toThrow(
      'The payload of a SignalReceived has more than',
    );
  });

  test.each<[string, Envelope, string]>([
    ['a name that is empty', inboxEvent('SignalReceived', { name: '' }), 'name: '],
    ['a name that is too long', inboxEvent('SignalReceived', { name: 'x'.repeat(NAME_MAX_CHARS + 1) }), 'name: '],
    [
      'a long name of quotes',
      holderEvent('EffectIntended', { epoch: 1, holder: 'h1', ordinal: 2 }, { key: '"'.repeat(NAME_MAX_CHARS + 1) }),
      'key: ',
    ],
    ['a NUL in a name', inboxEvent('SignalReceived', {}, { workflow: 'a\0b' }), 'envelope.workflow: holds a NUL'],
    ['half a surrogate pair', inboxEvent('SignalReceived', { name: '\udc00' }), 'control.name: holds a NUL, or half'],
    [
      'a number that is none',
      holderEvent('CheckpointCommitted', { epoch: 1, holder: 'h1', ordinal: 2 }, { tokens: Number.NaN }),
      'tokens: ',
    ],
    ['a number below zero', inboxEvent('SignalReceived', {}, { atMs: -1 }), 'atMs: '],
  ])('%s is refused by its place, since no reader would take it', (_, envelope, problem) => {
    const write = (): unknown => encodeRecord({ envelope, payload: Buffer.from('null') }, ROOMY_BYTES);
    expect(write).toThrow(InvalidError);
    expect(write).toThrow(problem);
  });

  test('what is written can be read: either it is refused, or it comes back', () => {
    const anything = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom('', '\0', '\ud800', 'x'.repeat(NAME_MAX_CHARS), 'x'.repeat(NAME_MAX_CHARS + 1)),
    );
    fc.assert(
      fc.property(anything, anything, anything, fc.double(), (workflow, key, lastAction, tokens) => {
        const token = { epoch: 1, holder: 'h1', ordinal: 2 };
        for (const envelope of [
          holderEvent('EffectIntended', token, { key }, { workflow }),
          holderEvent('CheckpointCommitted', token, { lastAction, tokens }, { workflow }),
        ]) {
          let bytes: Uint8Array;
          try {
            bytes = encodeRecord({ envelope, payload: Buffer.from('null') }, ROOMY_BYTES);
          } catch (error) {
            expect(error).toBeInstanceOf(InvalidError);
            continue;
          }
          expect(decodeRecord(bytes)).toMatchObject({ kind: 'event', envelope: { workflow } });
        }
      }),
      { numRuns: 300 },
    );
  });
});
