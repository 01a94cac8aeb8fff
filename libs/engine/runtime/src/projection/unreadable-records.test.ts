/**
 * A record that can never be read stops its workflow and no other of its partition: projectors, holders and new processes agree on it (I5).
 * A record that may become readable stops nobody. A person judges it, and what came meanwhile counts.
 */

import { sealedWith } from '@tidemark/codec';
import {
  type Offset,
  type Partition,
  STORED_BOUNDS,
  UnavailableError,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import { type EventLog, forSecrets, type KeyStore, RANGE_COUNT } from '@tidemark/ports';
import { MemoryKeyIndex, MemoryKeyProvider, MemoryKeyTopic } from '@tidemark/testkit/contracts/memory-keys';
import { definitionOf, inboxRecord, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { quiet, SimulatedClock, type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataKeys } from '../encryption/data-keys.ts';
import { boundKeyId } from '../encryption/key-owner.ts';
import { ProjectedKeyStore } from '../encryption/projected-keys.ts';
import { KEYLESS, SealedRecords } from '../encryption/sealed-log.ts';
import { WorkflowKeys } from '../encryption/workflow-keys.ts';
import { Starter } from '../inbox/starter.ts';
import { LamportClock } from '../kernel/ports.ts';
import { systemPrng } from '../kernel/system.ts';
import { inboxRecord as recordOf } from '../lease/inbox.ts';
import { EncodedLog } from '../views/encoded-log.ts';
import { EVENT_MAX_BYTES } from '../views/limits.ts';
import { Projector } from './projector.ts';

const ALL = Array.from({ length: RANGE_COUNT }, (_, range) => range);
const P0 = 0 as Partition;
const definition = definitionOf({ steps: { a: () => ({}) } });

let inner: SimulatedLog;
let log: EventLog;
let ports: SimulatedPorts;
let errors: unknown[];
let topic: MemoryKeyTopic;
let index: MemoryKeyIndex;
let store: KeyStore;
let keys: WorkflowKeys;
let data: DataKeys;
let provider: MemoryKeyProvider;
const projectors: Projector[] = [];

/** The view of a new process; `refusesPlain`: new workflows must be sealed. */
function process(refusesPlain = false): EncodedLog {
  store = new ProjectedKeyStore(topic, index);
  data = new DataKeys({ provider, store, prng: systemPrng, clock: new SimulatedClock() });
  keys = new WorkflowKeys(data, store);
  return new EncodedLog(inner, new SealedRecords(keys, { refusesPlain }));
}

/** A new coordinator builds the rows. */
async function project(on: SimulatedPorts = ports, through: Pick<EventLog, 'read'> = log): Promise<void> {
  const projector = new Projector({
    ports: { ...on, log: through },
    lamport: new LamportClock(),
    onApplied: () => {},
    onError: (error) => errors.push(error),
  });
  projectors.push(projector);
  projector.own(ALL);
  projector.start();
  projector.hint([P0]);
  await quiet();
  await projector.stop();
}

const row = (workflow: string) => ports.store.rows.get(workflow as WorkflowId)?.stream;
const open = (id: string, on: EventLog = log) =>
  new Starter({ ports: { ...ports, log: on }, lamport: new LamportClock(), partitionsMax: 1 }).start({
    definition,
    input: `input of ${id}`,
    workflow: workflowId(id),
    tenant: TENANT,
  });
const owner = (workflow: string) => ({ tenant: TENANT, workflow: workflow as WorkflowId, user: null });
const to = (workflow: string) => ({ ...owner(workflow), generation: row(workflow)!.generation });
const signalTo = (workflow: string, id: string, value: unknown = `said ${id}`) =>
  inboxRecord(to(workflow), id, 'SignalReceived', { name: id }, { value } as never);
const judgement = (workflow: string, offset: number, judgement: 'skip' | 'take') => {
  const event = { ...to(workflow), id: `judged:${judgement}:${offset}` as never, lamport: 1 as never, atMs: 1_000_000 };
  const control = { offset: offset as Offset, judgement, by: 'ada' };
  return recordOf(
    { recordMaxBytes: EVENT_MAX_BYTES },
    { ...event, type: 'RecordJudged', control },
    { why: 'looked at it' },
  );
};
const append = (workflow: string, value: Uint8Array) => log.append(P0, [{ value, type: 'x', owner: owner(workflow) }]);
/** By an attacker who can write to the topic, and has no keys. */
const forge = (value: Uint8Array) => inner.append(P0, [{ value, type: 'x' }]);
const stored = () => inner.poll([{ partition: P0, from: 0 as Offset }])[0]!.records.map(({ value }) => value);

/** The rows by a coordinator that folds the log from its beginning. */
async function fromNothing() {
  const fresh = simulatedPorts(log, 1);
  await project(fresh);
  return fresh.store.rows;
}

beforeEach(async () => {
  inner = new SimulatedLog(1);
  topic = new MemoryKeyTopic();
  index = new MemoryKeyIndex();
  provider = new MemoryKeyProvider();
  log = process();
  ports = simulatedPorts(log, 1);
  errors = [];
  await open('a');
  await open('b');
  await project();
});
afterEach(async () => {
  for (const projector of projectors.splice(0)) await projector.stop();
});

describe('a record', () => {
  /** A sealed record as an attacker without keys would make it. */
  const remade = (from: number, ...changes: readonly (readonly [RegExp, string])[]): Uint8Array => {
    const asSignal = [
      [/"id":"[^"]*"/, '"id":"forged"'],
      [/"type":"WorkflowOpened","control":.*,"payload"/, '"type":"SignalReceived","control":{"name":"x"},"payload"'],
    ] as const;
    let text = Buffer.from(stored()[from]!).toString('latin1');
    for (const [what, by] of [...asSignal, ...changes]) text = text.replace(what, by);
    return Buffer.from(text, 'latin1');
  };
  const UUID = '0190a0a0-0000-7000-8000-000000000000';
  const naming = (key: string) => remade(0, [/"key":"[^"]*"/, `"key":"${key}"`]);
  const unknownKey = () => naming(boundKeyId(UUID, 'a' as WorkflowId, 'sealing'));
  const keyOfAnother = async () => naming((await keys.find(owner('b'))).id);
  const secretsKey = async () => {
    const secret = forSecrets(provider.again());
    const secrets = new DataKeys({ provider: secret, store, prng: systemPrng, clock: new SimulatedClock() });
    return naming((await secrets.create(owner('a'))).id);
  };
  const destroyedKey = (id: string) => async () => {
    await store.destroy([id]);
    return naming(id);
  };
  const asWritten = /"payload":"sealed",("key":"[^"]*")\}\n[\s\S]*$/;
  const moved = () => remade(1, [/"workflow":"b"/, '"workflow":"a"'], [/"generation":2/, '"generation":1']);

  it.each([
    ['that is plain where its workflow has sealed ones', 'sealed-wrong', () => signalTo('a', 'forged')],
    ['that names a key which never was', 'key-missing', unknownKey],
    ['that names another workflow’s key', 'sealed-wrong', keyOfAnother],
    ['that names a key for secret fields', 'sealed-wrong', secretsKey],
    ['that names a destroyed key which says nobody’s', 'sealed-wrong', destroyedKey(UUID)],
    ['that was moved to another workflow', 'sealed-wrong', moved],
    ['whose key comes first', 'sealed-wrong', () => remade(0, [asWritten, '$1,"payload":"sealed"}\nnull'])],
    ['with a space behind its header', 'sealed-wrong', () => remade(0, [/\}\n[\s\S]*$/, '} \nnull'])],
    ['with nothing sealed in it', 'sealed-wrong', () => remade(0, [/\n[\s\S]*$/, '\nnull'])],
    ['in a blob that it doesn’t name', 'sealed-wrong', () => remade(0, [asWritten, '"payload":"blob"}\nnull'])],
    [
      'in a sealed blob that it doesn’t name',
      'sealed-wrong',
      () => remade(0, [asWritten, '"payload":"sealed-blob",$1}\nnull']),
    ],
  ])('%s stops it and no other; a person skips it, and what came meanwhile counts', async (_, problem, forged) => {
    const at = await forge(await forged());
    await append('a', signalTo('a', 's1'));
    await append('b', signalTo('b', 's2'));
    await project();
    expect(row('a')).toMatchObject({ position: 1, status: 'parked', reason: problem, runnable: false });
    expect(row('b')).toMatchObject({ position: 2, status: 'open', runnable: true });
    expect(ports.store.rejectedRows).toMatchObject([{ offset: at, workflow: 'a', reason: problem }]);
    // Neither another process nor a decision without a seal moves it.
    const decided = await forge(judgement('a', at, 'skip').value);
    log = process();
    await project();
    expect(row('a')).toMatchObject({ position: 1, status: 'parked', reason: problem });
    // Taken, it is what it was.
    await append('a', judgement('a', at, 'take').value);
    await project();
    expect(JSON.parse(row('a')!.state).unreadable).toMatchObject({ offset: at, problem });
    expect(JSON.parse(row('a')!.state).unreadable).not.toHaveProperty('judgement');
    await append('a', judgement('a', at, 'skip').value);
    await project();
    // That decision was plain as well.
    expect(row('a')).toMatchObject({ position: 2, status: 'parked', reason: 'sealed-wrong' });
    await append('a', judgement('a', decided, 'skip').value);
    await project();
    expect(row('a')).toMatchObject({ position: 5, status: 'open', reason: null, runnable: true });
    expect(ports.store.rows).toEqual(await fromNothing());
    expect(errors).toEqual([]);
  });

  it('that names a key which isn’t its workflow’s buys no call of the provider', async () => {
    await forge(await keyOfAnother());
    await forge(await secretsKey());
    log = process();
    provider.calls = [];
    await log.read([{ partition: P0, from: 2 as Offset }]);
    expect(provider.count('unwrap')).toBe(0);
    await log.read([{ partition: P0, from: 0 as Offset }]);
    expect(provider.count('unwrap')).toBe(2); // the control
  });

  it('whose own key the provider can’t unwrap is waited for', async () => {
    await append('a', signalTo('a', 's1'));
    const { id } = await keys.find(owner('a'));
    const kept = (await store.get([id])).get(id)!;
    await store.put([{ ...kept, provider: 'another' }]);
    log = process();
    await project();
    expect(errors).toMatchObject([{ code: 'key-wrong' }]);
    expect(row('a')).toMatchObject({ position: 1, status: 'open' });
    await store.put([kept]);
    log = process();
    await project();
    expect(row('a')).toMatchObject({ position: 2, status: 'open' });
  });

  it('with a null payload stops its workflow where others of its type say something', async () => {
    const { generation } = to('a');
    const control = { code: 'cancelled', by: 'nobody' };
    await forge(inboxRecord({ ...owner('a'), generation }, 'forged', 'CancelRequested', control, null as never));
    await project();
    expect(row('a')).toMatchObject({ status: 'parked', reason: 'sealed-wrong' });
  });

  it('with a null payload needs no seal where none of its type says anything: the control', async () => {
    const { generation } = to('a');
    await forge(inboxRecord({ ...owner('a'), generation }, 'timer', 'TimerFired', { timer: 'none' }, null));
    await append('a', signalTo('a', 's1'));
    await project();
    expect(row('a')).toMatchObject({ position: 2, status: 'open' });
  });

  it('under a destroyed key of its own workflow is forgotten, whatever it holds, and judges nothing', async () => {
    const at = await forge(signalTo('a', 'forged'));
    await data.destroy({ workflow: 'a' as WorkflowId });
    log = process();
    const id = sealedWith(stored()[0]!);
    const decided = Buffer.from(judgement('a', at, 'skip').value).toString();
    const head = decided.split('\n')[0]!.replace('"v":1', '"v":2');
    await forge(
      Buffer.from(`${head.replace('"payload":"json"', `"payload":"sealed","key":"${id}"`)}\n\u0000${'x'.repeat(40)}`),
    );
    await project();
    expect(row('a')).toMatchObject({ position: 1, status: 'parked', reason: 'sealed-wrong' });
    expect(JSON.parse(row('a')!.state).unreadable).not.toHaveProperty('judgement');
    // The control: a present key shows who decided.
    await append('a', judgement('a', at, 'skip').value);
    await project();
    expect(row('a')).toMatchObject({ status: 'open', reason: null });
    expect((await fromNothing()).get('a' as WorkflowId)?.stream).toEqual(row('a'));
  });

  it('that is rejected anyway stops nobody, sealed or not', async () => {
    await append('a', signalTo('a', 's1'));
    await forge(signalTo('a', 's1'));
    await project();
    expect(row('a')).toMatchObject({ position: 2, status: 'open' });
    expect(ports.store.rejectedRows).toMatchObject([{ workflow: 'a', reason: 'duplicate' }]);
  });

  it('whose key can’t be had just now stops nobody: it is waited for', async () => {
    await append('a', signalTo('a', 's1'));
    const away: Pick<EventLog, 'read'> = {
      read: async () => {
        throw new UnavailableError('keys-unavailable', 'The provider is away.');
      },
    };
    await project(ports, away);
    expect(errors).toMatchObject([{ code: 'keys-unavailable' }]);
    expect(row('a')).toMatchObject({ position: 1, status: 'open' });
    await project();
    expect(row('a')).toMatchObject({ position: 2, status: 'open' });
  });
});

it('where the store of keys was lost nothing is taken for forgotten, and put back it goes on as if nobody had stopped', async () => {
  await append('a', signalTo('a', 's1'));
  const before = await fromNothing();
  const [kept, keptIndex] = [topic, index];
  [topic, index] = [new MemoryKeyTopic(), new MemoryKeyIndex()];
  log = process();
  ports = simulatedPorts(log, 1);
  await project();
  for (const id of ['a', 'b']) {
    expect(row(id)).toMatchObject({ position: 1, status: 'parked', reason: 'key-missing', runnable: false });
    expect(ports.store.rows.get(id as WorkflowId)!.checkpoints).toHaveLength(0);
  }
  [topic, index] = [kept, keptIndex];
  log = process();
  await project();
  expect(ports.store.rows).toEqual(before);
});

it('of workflows that begin unencrypted a person takes those from before, where all are to be encrypted', async () => {
  inner = new SimulatedLog(1);
  log = inner;
  ports = simulatedPorts(inner, 1);
  await open('old', inner);
  await open('forged', inner);
  await project();
  await forge(signalTo('old', 's1'));
  await project();
  const before = ports.store.rows.get('old' as WorkflowId)!;
  log = process(true);
  ports = simulatedPorts(log, 1);
  await project();
  for (const id of ['old', 'forged']) {
    expect(row(id)).toMatchObject({ position: 1, status: 'parked', reason: 'plain-refused', runnable: false });
  }
  await keys.takePlain(owner('old'));
  const { offset } = JSON.parse(row('old')!.state).unreadable as { offset: number };
  await append('old', judgement('old', offset, 'take').value);
  await project();
  expect(row('old')).toMatchObject({ position: 3, status: 'open', runnable: true });
  expect(ports.store.rows.get('old' as WorkflowId)!.checkpoints).toEqual(before.checkpoints);
  expect(row('forged')).toMatchObject({ position: 1, reason: 'plain-refused' });
  // From here on it has sealed events.
  await forge(signalTo('old', 'forged'));
  await project();
  expect(row('old')).toMatchObject({ position: 3, status: 'parked', reason: 'sealed-wrong' });
});

it('in a log of which no key was ever made, what says that it is sealed stops its own workflow', async () => {
  const opening = Buffer.from(stored()[0]!).toString('latin1');
  const forged = opening.replace('"workflow":"a"', '"workflow":"c"').replace('"generation":1', '"generation":3');
  inner = new SimulatedLog(1);
  log = new EncodedLog(inner, KEYLESS);
  ports = simulatedPorts(log, 1);
  await open('a');
  await open('b');
  await project();
  const signal = Buffer.from(signalTo('a', 'x')).toString();
  const [head] = signal.split('\n');
  const tail = `"payload":"sealed","key":"${'0'.repeat(36)}"}`;
  const at = await forge(Buffer.from(`${head!.replace('"v":1', '"v":2').replace('"payload":"json"}', tail)}\n\u0000x`));
  await forge(Buffer.from(forged, 'latin1'));
  await append('b', signalTo('b', 's1'));
  await project();
  expect(errors).toEqual([]);
  for (const id of ['a', 'c']) expect(row(id)).toMatchObject({ status: 'parked', reason: 'key-missing' });
  expect(row('b')).toMatchObject({ position: 2, status: 'open' });
  await append('a', judgement('a', at, 'skip').value);
  await project();
  expect(row('a')).toMatchObject({ status: 'open' });
  expect(ports.store.rows).toEqual(await fromNothing());
  // The control: where keys are only unavailable, the read fails.
  await project(simulatedPorts(inner, 1), inner);
  expect(errors).toMatchObject([{ code: 'history-sealed' }]);
});

it('a payload over the bounds of JSON is never parsed: its workflow stops, with keys and without', async () => {
  inner = new SimulatedLog(1, 4_000_000);
  log = inner;
  ports = simulatedPorts(inner, 1);
  await open('a', inner);
  await open('b', inner);
  await project();
  const event = Buffer.from(signalTo('a', 'many', null)).toString();
  const values = `[${'{},'.repeat(STORED_BOUNDS.valuesMaxCount)}1]`;
  const at = await forge(Buffer.from(event.replace('"value":null', `"value":${values}`)));
  await forge(signalTo('b', 's1'));
  await project();
  expect(row('a')).toMatchObject({ position: 1, status: 'parked', reason: 'json-too-many-values' });
  expect(row('b')).toMatchObject({ position: 2, status: 'open' });
  await forge(judgement('a', at, 'skip').value);
  await forge(signalTo('a', 's2'));
  await project();
  expect(row('a')).toMatchObject({ position: 3, status: 'open' });
  expect(ports.store.rows).toEqual(await fromNothing());
});
