/**
 * Owns the writing of inbox events: what a coordinator, or whoever is authorised, adds to a stream that someone else holds.
 * Ids derive from their cause, so two coordinators that see the same cause write the same event, and the fold takes one.
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
import { EVENT_MAX_BYTES } from './limits.ts';
import type { LamportClock, Ports } from './ports.ts';

export interface InboxTarget {
  readonly tenant: TenantId;
  readonly workflow: WorkflowId;
  readonly partition: Partition;
  readonly generation: Generation;
}

export class Inbox {
  readonly #ports: Pick<Ports, 'log' | 'hints' | 'clock'>;
  readonly #lamport: LamportClock;

  constructor(ports: Pick<Ports, 'log' | 'hints' | 'clock'>, lamport: LamportClock) {
    this.#ports = ports;
    this.#lamport = lamport;
  }

  /** Resolves with its offset when the event is in the log; whether it is accepted, the fold says. */
  async write<T extends Exclude<InboxEventType, 'WorkflowOpened'>>(
    target: InboxTarget,
    id: EventId,
    type: T,
    control: Controls[T],
    payload: Payloads[T],
  ): Promise<Offset> {
    const { log, hints, clock } = this.#ports;
    const envelope = {
      v: 1,
      id,
      tenant: target.tenant,
      workflow: target.workflow,
      generation: target.generation,
      lamport: this.#lamport.stamp(),
      epoch: ZERO.epoch,
      holder: NO_HOLDER,
      ordinal: ZERO.ordinal,
      atMs: clock.nowMs(),
      type,
      control,
    } as Envelope<T>;
    const maxBytes = Math.min(EVENT_MAX_BYTES, log.recordMaxBytes);
    const value = encodeRecord({ envelope: envelope as Envelope, payload: encodePayload(type, payload) }, maxBytes);
    const offset = await log.append(target.partition, [{ value, type }]);
    hints.publish('appended', target.partition);
    return offset;
  }
}
