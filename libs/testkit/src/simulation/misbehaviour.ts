/**
 * Owns writers that misbehave on purpose: the next event of a live holder (or anyone), made wrong in one way. Only what the naive fold
 * rejects is written, so whatever the fleet accepts of it proves a missing guard.
 */

import { encodeRecord } from '@tidemark/codec';
import type { Envelope, EventType, Partition } from '@tidemark/core';
import { DEFAULT_CONTROLS, digestOf } from '../naive/events.ts';
import { NaivePartition } from '../naive/fold.ts';
import { type NaiveStream, type NaiveTask, outcomeIsOpen } from '../naive/stream.ts';
import { TWISTS, type Twist } from '../naive/twists.ts';
import type { SeededRandom } from './random.ts';
import type { History, Witness } from './witness.ts';

const MAX_BYTES = 1_048_576;
/** Some forgeries turn out to be right, since others write meanwhile; then another is tried. */
const TRIES_MAX = 12;

type Forgery = 'repeat-reservation' | 'repeat-inbox' | 'undo-while-open' | 'old-question' | Twist;
const FORGERIES = [
  'repeat-reservation',
  'repeat-inbox',
  'undo-while-open',
  'old-question',
  ...Object.keys(TWISTS),
].filter((name) => name !== 'none') as Forgery[];

/** Writes one event that must be rejected; nothing when there is no live stream to harm. */
export function misbehave(witness: Witness, random: SeededRandom, nowMs: number): void {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const histories = [...witness.histories.values()].filter(({ naive }) => naive.streams.length > 0);
    if (histories.length === 0) return;
    const history = random.pick(histories);
    const forged = forge(history, random, nowMs);
    // There is no generation 0: that would be malformed.
    if (forged === undefined || forged.generation < 1 || isAccepted(history, forged)) continue;
    const value = encodeRecord({ envelope: forged, payload: new TextEncoder().encode('null') }, MAX_BYTES);
    witness.store(history.partition as Partition, [{ value, type: forged.type }], 'misbehaving');
    return;
  }
}

/** Somebody sends a signal, as anybody may. */
export function signal(witness: Witness, random: SeededRandom, nowMs: number): void {
  const histories = [...witness.histories.values()].filter(({ naive }) => naive.streams.length > 0);
  if (histories.length === 0) return;
  const { naive, partition } = random.pick(histories);
  const stream = random.pick(naive.streams);
  const control = { name: random.pick(['go', 'stop']) };
  const sent = { ...draft(stream, 'SignalReceived', control, random, nowMs), epoch: 0, holder: '', ordinal: 0 };
  const payload = new TextEncoder().encode('{"value":null}');
  const value = encodeRecord({ envelope: sent as Envelope, payload }, MAX_BYTES);
  witness.store(partition, [{ value, type: sent.type }], 'somebody');
}

function isAccepted({ naive, partition }: History, envelope: Envelope): boolean {
  const copy = Object.assign(new NaivePartition(partition, naive.next), {
    generation: naive.generation,
    streams: structuredClone(naive.streams),
  });
  const said = copy.fold({ kind: 'event', envelope, payload: new Uint8Array() });
  return said.startsWith('accepted') || said === 'unreadable';
}

function forge(history: History, random: SeededRandom, nowMs: number): Envelope | undefined {
  const stream = random.pick(history.naive.streams);
  const forgery = random.pick(FORGERIES);
  const pick = random.int(97);
  if (forgery === 'repeat-inbox') return inboxAgain(history, stream, random);
  if (forgery === 'repeat-reservation') {
    const reserved = stream.tasks.find((task) => task.reserved !== null);
    if (reserved === undefined) return undefined;
    return draft(stream, 'CheckpointReserved', { checkpoint: `forged-${pick}`, task: reserved.id }, random, nowMs);
  }
  if (forgery === 'undo-while-open') {
    const isOpen = stream.lease !== null && stream.tasks.some(({ effects }) => effects.some(outcomeIsOpen));
    const undo = { undo: `${stream.workflow}~undo`, depth: 1, code: 'forged', key: null };
    return isOpen ? draft(stream, 'CompensationStarted', undo, random, nowMs) : undefined;
  }
  if (forgery === 'old-question') return answerAgain(history, stream, random, nowMs);
  const event = plausible(stream, random, nowMs);
  const twisted = TWISTS[forgery](event, { stream, pick });
  return twisted === event ? undefined : twisted;
}

/** A signal or a timer that was accepted before, under its old id; a signal would be consumed twice. */
function inboxAgain({ entries }: History, stream: NaiveStream, random: SeededRandom): Envelope | undefined {
  const sent = entries.flatMap((entry) =>
    entry.kind === 'event' && entry.envelope.type === 'SignalReceived' && entry.envelope.workflow === stream.workflow
      ? [entry.envelope]
      : [],
  );
  return sent.length === 0 ? undefined : random.pick(sent);
}

/** An answer to a question that the workflow asked before, while it asks another. */
function answerAgain(
  { entries }: History,
  stream: NaiveStream,
  random: SeededRandom,
  nowMs: number,
): Envelope | undefined {
  if (stream.question === null) return undefined;
  const asked = entries.flatMap((entry) =>
    entry.kind === 'event' && entry.envelope.type === 'WorkflowParked' && entry.envelope.id !== stream.question?.id
      ? [entry.envelope.id as string]
      : [],
  );
  const control = {
    question: random.pick([...asked, 'another']),
    resolution: 'retry',
    by: 'forger',
    responseDigest: null,
  };
  const answer = draft(stream, 'ApprovalDecided', control, random, nowMs);
  return { ...answer, epoch: 0, holder: '', ordinal: 0 } as Envelope;
}

/** An event that the stream's holder could write now. */
function plausible(stream: NaiveStream, random: SeededRandom, nowMs: number): Envelope {
  const task = stream.tasks.length === 0 ? undefined : random.pick(stream.tasks);
  const make = (type: EventType, control: object): Envelope => draft(stream, type, control, random, nowMs);
  if (stream.lease === null || task === undefined) return make('LeaseClaimed', {});
  const acts: (() => Envelope)[] = [
    () => make('CheckpointCommitted', checkpoint(stream, task)),
    () => make('CheckpointCommitted', checkpoint(stream, task)),
    () => make('LeaseReleased', { reason: 'idle' }),
    () => make('StepFailed', { task: task.id, attempt: task.failureCount + 1, code: 'forged', retry: null }),
    () => make('WorkflowFailed', { code: 'forged', task: null }),
    () => make('WorkflowParked', { code: 'forged', task: null, key: null }),
    () => effect(stream, task, make),
  ];
  return random.pick(acts)();
}

const checkpoint = (stream: NaiveStream, task: NaiveTask): object => ({
  ...DEFAULT_CONTROLS.CheckpointCommitted,
  checkpoint: task.reserved ?? `forged-${stream.position}`,
  sequence: stream.head.sequence + 1,
  parent: stream.head.checkpoint,
  task: task.id,
  step: task.step,
  stepVersion: stream.version,
});

/** Resolves what is open, or intends again what is known. */
function effect(stream: NaiveStream, task: NaiveTask, make: (type: EventType, control: object) => Envelope): Envelope {
  const known = task.effects.at(-1);
  const fields = {
    task: task.id,
    key: known?.key ?? `${stream.workflow}:${task.id}:forged:0`,
    operation: known?.operation ?? 'forged',
    kind: known?.kind ?? 'irreversible',
    requestDigest: known?.requestDigest ?? digestOf('request'),
  };
  return known?.status === 'intended'
    ? make('EffectResolved', { ...fields, outcome: 'done', responseDigest: digestOf('response') })
    : make('EffectIntended', fields);
}

function draft(stream: NaiveStream, type: EventType, control: object, random: SeededRandom, nowMs: number): Envelope {
  const { lease } = stream;
  const claims = type === 'LeaseClaimed';
  return {
    v: 1,
    id: `forged-${random.int(1e9)}`,
    tenant: stream.tenant,
    workflow: stream.workflow,
    generation: stream.generation,
    lamport: stream.lamport + 1,
    epoch: claims ? stream.epoch + 1 : (lease?.epoch ?? stream.epoch),
    holder: claims ? 'forger' : (lease?.holder ?? 'forger'),
    ordinal: claims ? 1 : (lease?.ordinal ?? 0) + 1,
    atMs: Math.max(nowMs, stream.head.atMs),
    type,
    control: { ...DEFAULT_CONTROLS[type], ...control },
  } as unknown as Envelope;
}
