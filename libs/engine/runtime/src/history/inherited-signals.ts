/**
 * Owns which signals a reset inherits: those that no step had read at the checkpoint, and those that came later, whether or not a step read
 * them since, as they were amended. It reads the history that is superseded, and never writes.
 */

import { decodePayload } from '@tidemark/codec';
import type { Continues, EventId, Json, Position } from '@tidemark/core';
import type { EventLog, ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import { eventsUpTo, openingOffset } from './workflow-events.ts';

type UnconsumedSignal = NonNullable<Continues['signals']>[number];

export interface InheritedSignals {
  readonly signals: readonly UnconsumedSignal[];
  /** By event. */
  readonly values: Readonly<Record<string, Json>>;
}

/** `unread`: at the position. Throws as `eventsUpTo`. */
export async function inheritedSignals(
  { log, store }: { readonly log: EventLog; readonly store: Pick<ProjectionStore, 'checkpoints'> },
  row: WorkflowSummary,
  after: Position,
  unread: InheritedSignals,
): Promise<InheritedSignals> {
  let signals = [...unread.signals];
  const values = new Map<string, Json>(Object.entries(unread.values));
  const first = row.position === after ? undefined : await openingOffset(store, row.workflow);
  if (first === undefined) return unread;
  for await (const { position, envelope, payload } of eventsUpTo(log, row, first, row.position)) {
    if (position <= after) continue;
    if (envelope.type === 'SignalDiscarded') signals = without(signals, envelope.control.signal);
    if (envelope.type !== 'SignalReceived') continue;
    const { name, sizeBytes, replaces } = envelope.control;
    const signal = { name, event: envelope.id, ...(sizeBytes !== undefined && { sizeBytes }) };
    const at = replaces === undefined ? -1 : signals.findIndex(({ event }) => event === replaces);
    // What it amends may belong to a task that was pending at the checkpoint: that one has the earlier value.
    if (replaces !== undefined && at < 0) continue;
    signals = at < 0 ? [...signals, signal] : signals.with(at, signal);
    values.set(envelope.id, decodePayload('SignalReceived', payload).value);
  }
  return { signals, values: Object.fromEntries(signals.map(({ event }) => [event, values.get(event) ?? null])) };
}

const without = (signals: readonly UnconsumedSignal[], signal: EventId): UnconsumedSignal[] =>
  signals.filter(({ event }) => event !== signal);
