/**
 * Owns the ways in which a history's event is made wrong: each changes one thing and leaves the rest acceptable. A twist returns an event
 * unchanged that it doesn't apply to.
 */

import type { Envelope } from '@tidemark/core';
import { digestOf } from './events.ts';
import type { NaiveStream } from './stream.ts';

interface TwistContext {
  readonly stream: NaiveStream | undefined;
  readonly pick: number;
}

type Change = (event: Envelope, context: TwistContext) => Envelope;

/** Changes to the envelope and to the control, whatever the type: only tests may build such events. */
const changed = (event: Envelope, fields: object, control: object = {}): Envelope =>
  ({ ...event, ...fields, control: { ...event.control, ...control } }) as Envelope;

const onHolder =
  (change: Change): Change =>
  (event, context) =>
    event.ordinal === 0 ? event : change(event, context);

const onCheckpoint =
  (change: (event: Envelope<'CheckpointCommitted'>, context: TwistContext) => Envelope): Change =>
  (event, context) =>
    event.type === 'CheckpointCommitted' ? change(event, context) : event;

const onTask =
  (task: (context: TwistContext) => string): Change =>
  (event, context) =>
    'task' in event.control && event.control.task !== null ? changed(event, {}, { task: task(context) }) : event;

/** Back to an earlier epoch: as a holder does that doesn't know that its lease has ended. */
const staleEpoch: Change = (event, { pick }) =>
  event.type === 'LeaseRevoked'
    ? changed(event, {}, { epoch: Math.max(1, event.control.epoch - 1) })
    : event.ordinal === 0
      ? event
      : changed(event, { epoch: Math.max(1, event.epoch - 1 - (pick % 2)) });

const epochAhead: Change = (event, { pick }) =>
  event.type === 'LeaseRevoked'
    ? changed(event, {}, { epoch: event.control.epoch + 1 })
    : event.ordinal === 0
      ? event
      : changed(event, { epoch: event.epoch + 1 + (pick % 2) });

const otherHolder: Change = (event) =>
  event.type === 'LeaseRevoked'
    ? changed(event, {}, { holder: 'nobody' })
    : event.ordinal === 0
      ? event
      : changed(event, { holder: 'nobody' });

export const TWISTS = {
  none: (event) => event,
  'epoch-stale': staleEpoch,
  'epoch-ahead': epochAhead,
  'holder-other': otherHolder,
  'ordinal-repeated': onHolder((event) => changed(event, { ordinal: Math.max(1, event.ordinal - 1) })),
  'ordinal-ahead': onHolder((event, { pick }) => changed(event, { ordinal: event.ordinal + 1 + (pick % 3) })),
  'lamport-stale': (event, { stream }) => changed(event, { lamport: stream?.lease?.lamport ?? 0 }),
  'clock-late': (event, { pick }) => changed(event, { atMs: event.atMs - 900 - (pick % 300) }),
  'clock-behind': (event) => changed(event, { atMs: Math.max(0, event.atMs - 3_600_000) }),
  'clock-ahead': (event) => changed(event, { atMs: event.atMs + 1_500 }),
  generation: (event, { pick }) => changed(event, { generation: event.generation + (pick % 2 === 0 ? 1 : -1) }),
  tenant: (event) => changed(event, { tenant: 'other' }),
  stranger: (event) => changed(event, { workflow: 'stranger' }),
  reopened: (event, { stream }) =>
    event.type === 'WorkflowOpened' && stream !== undefined ? changed(event, { workflow: stream.workflow }) : event,
  partition: (event) => (event.type === 'WorkflowOpened' ? changed(event, {}, { partition: 9 }) : event),
  parent: onCheckpoint((event) => changed(event, {}, { parent: 'elsewhere' })),
  'parent-none': onCheckpoint((event) => changed(event, {}, { parent: null })),
  sequence: onCheckpoint((event, { pick }) =>
    changed(event, {}, { sequence: Math.max(1, event.control.sequence + (pick % 2 === 0 ? 1 : -1)) }),
  ),
  version: onCheckpoint((event, { pick }) =>
    changed(event, {}, { stepVersion: Math.max(0, event.control.stepVersion + (pick % 2 === 0 ? 1 : -1)) }),
  ),
  supersedes: onCheckpoint((event, { pick }) =>
    changed(event, {}, { supersedes: event.control.sequence + (pick % 2) }),
  ),
  drops: onCheckpoint((event, { stream, pick }) => {
    const tasks = stream?.tasks ?? [];
    const called = tasks.filter(({ effects }) => effects.length > 0);
    const pending = pick % 2 === 0 && called.length > 0 ? called : tasks;
    const { id = '9.9' } = pending[pick % Math.max(1, pending.length)] ?? {};
    return changed(event, {}, { drops: pick % 3 === 0 ? [id, id] : [id] });
  }),
  question: (event) => ('question' in event.control ? changed(event, {}, { question: 'another' }) : event),
  token: (event) => ('token' in event.control ? changed(event, {}, { token: 'another' }) : event),
  undo: (event) => ('undo' in event.control ? changed(event, {}, { undo: 'another' }) : event),
  response: (event) =>
    event.type === 'ApprovalDecided'
      ? changed(event, {}, { responseDigest: event.control.responseDigest === null ? digestOf('told') : null })
      : event,
  'task-done': onTask(() => '0.0'),
  'task-ahead': onTask(({ stream }) => `${(stream?.head.sequence ?? 0) + 1}.0`),
  request: (event) =>
    'requestDigest' in event.control ? changed(event, {}, { requestDigest: digestOf('other') }) : event,
  kind: (event) => ('kind' in event.control ? changed(event, {}, { kind: 'pure' }) : event),
  'id-repeated': (event, { stream, pick }) => {
    const seen = stream?.inbox ?? [];
    return event.ordinal === 0 && seen.length > 0 ? changed(event, { id: seen[pick % seen.length] }) : event;
  },
} satisfies Record<string, Change>;

export type Twist = keyof typeof TWISTS;
