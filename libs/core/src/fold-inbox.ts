/**
 * Owns the acceptance of inbox events: what anyone authorised writes through a coordinator. They are rejected for no clock
 * and no token, only as repetitions (by id, within the dedupe window) or when they name what isn't there. Only holder
 * events change belief.
 */

import type { Envelope } from './event.ts';
import { fulfil } from './frontier.ts';
import type { EventId } from './ids.ts';
import { INBOX_DEDUPE_MAX, type StreamState } from './state.ts';
import type { RejectReason } from './verdict.ts';

export function foldInbox(
  stream: StreamState,
  envelope: Envelope<'SignalReceived' | 'TimerFired' | 'LeaseRevoked'>,
): StreamState | RejectReason {
  if (stream.inbox.includes(envelope.id)) return 'duplicate';
  const outcome = apply(stream, envelope);
  return typeof outcome === 'string' ? outcome : { ...outcome, inbox: remember(stream.inbox, envelope.id) };
}

const remember = (inbox: readonly EventId[], id: EventId): readonly EventId[] =>
  inbox.length < INBOX_DEDUPE_MAX ? [...inbox, id] : [...inbox.slice(1), id];

function apply(
  stream: StreamState,
  envelope: Envelope<'SignalReceived' | 'TimerFired' | 'LeaseRevoked'>,
): StreamState | RejectReason {
  switch (envelope.type) {
    case 'SignalReceived': {
      const { name } = envelope.control;
      const frontier = fulfil(stream.frontier, { kind: 'signal', name, event: envelope.id });
      return frontier === undefined
        ? { ...stream, signals: [...stream.signals, { name, event: envelope.id }] }
        : { ...stream, frontier };
    }
    case 'TimerFired': {
      const frontier = fulfil(stream.frontier, { kind: 'timer', name: envelope.control.timer, event: envelope.id });
      // Nobody waits for it any more: its task was fulfilled otherwise, or is done.
      return frontier === undefined ? 'unknown-task' : { ...stream, frontier };
    }
    case 'LeaseRevoked': {
      const { epoch, holder } = envelope.control;
      if (epoch > stream.epoch) return 'wrong-holder';
      if (stream.lease === null || epoch < stream.epoch) return 'stale-epoch';
      if (holder !== stream.lease.holder) return 'wrong-holder';
      return { ...stream, lease: null };
    }
  }
}
