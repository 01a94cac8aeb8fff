/**
 * Owns the writing of inbox events, which a coordinator or an authorised caller appends to a stream that another process may have leased.
 * Callers derive an event's id from its cause, so two coordinators that see the same cause write the same event, and the fold accepts one.
 */

import { encodePayload, encodeRecord, type Payloads } from '@tidemark/codec';
import {
  type Controls,
  type Envelope,
  type EventId,
  type Generation,
  type InboxEventType,
  NO_HOLDER,
  type Offset,
  type Partition,
  type TenantId,
  type WorkflowId,
  ZERO,
} from '@tidemark/core';
import type { EventLog, LogRecord } from '@tidemark/ports';
import type { LamportClock, Ports } from '../kernel/index.ts';
import { eventLimits } from './event-limits.ts';

export interface InboxTarget {
  readonly tenant: TenantId;
  readonly workflow: WorkflowId;
  readonly partition: Partition;
  readonly generation: Generation;
}

type InboxEvent<T extends InboxEventType> = Pick<
  Envelope<T>,
  'id' | 'tenant' | 'workflow' | 'generation' | 'lamport' | 'atMs' | 'type' | 'control'
>;

/** Encodes an event that no holder writes. Throws `LimitError` when it is too large. */
export function inboxRecord<T extends InboxEventType>(
  log: Pick<EventLog, 'recordMaxBytes' | 'inlineMaxBytes'>,
  { id, tenant, workflow, generation, lamport, atMs, type, control }: InboxEvent<T>,
  payload: Payloads[T],
): LogRecord {
  const { epoch, ordinal } = ZERO;
  const placed = { v: 1, id, tenant, workflow, generation, lamport, epoch, holder: NO_HOLDER, ordinal, atMs };
  const envelope = { ...placed, type, control } as Envelope;
  const { maxBytes, headMaxBytes } = eventLimits(log);
  const value = encodeRecord({ envelope, payload: encodePayload(type, payload) }, maxBytes, headMaxBytes);
  const user = (control as { readonly user?: string }).user ?? null;
  return { value, type, owner: { tenant, workflow, user } };
}

/** An inbox event in the log. */
export interface Written {
  readonly offset: Offset;
  readonly value: Uint8Array;
}

export class Inbox {
  readonly #ports: Pick<Ports, 'log' | 'hints' | 'clock'>;
  readonly #lamport: LamportClock;

  constructor(ports: Pick<Ports, 'log' | 'hints' | 'clock'>, lamport: LamportClock) {
    this.#ports = ports;
    this.#lamport = lamport;
  }

  /** Appends the event, and resolves once it is in the log. The fold decides whether it is accepted. */
  async write<T extends Exclude<InboxEventType, 'WorkflowOpened'>>(
    target: InboxTarget,
    id: EventId,
    type: T,
    control: Controls[T],
    payload: Payloads[T],
  ): Promise<Written> {
    const { log, hints, clock } = this.#ports;
    const stamps = { id, lamport: this.#lamport.stamp(), atMs: clock.nowMs() };
    const record = inboxRecord(log, { ...target, ...stamps, type, control }, payload);
    const offset = await log.append(target.partition, [record]);
    hints.publish('appended', target.partition);
    return { offset, value: record.value };
  }
}
