/**
 * Owns the final history of a run: the log as it is in Kafka, decoded and folded by the naive fold, so that what judges the
 * engine is not the engine.
 */

import { decodeRecord } from '@tidemark/codec';
import type { Envelope, LogEntry, Position, RejectReason, Verdict } from '@tidemark/core';
import type { EventLog } from '@tidemark/ports';
import { NaivePartition } from '@tidemark/testkit/naive/fold';
import { LOG_READ_MAX_BYTES } from './limits.ts';

/** One entry of the log with what the fold says of it. */
export interface Judged {
  readonly partition: number;
  readonly offset: number;
  readonly entry: LogEntry;
  readonly verdict: Verdict;
}

/** By partition, in offset order. */
export type History = readonly (readonly Judged[])[];

/** An accepted event of a stream, with its payload. */
export interface Accepted {
  readonly envelope: Envelope;
  readonly payload: Uint8Array;
  readonly offset: number;
}

/** Folds each partition's entries from its beginning. */
export function judge(partitions: readonly (readonly LogEntry[])[]): History {
  return partitions.map((entries, partition) => {
    const state = new NaivePartition(partition, 0);
    return entries.map((entry, offset) => ({ partition, offset, entry, verdict: verdictOf(state.fold(entry)) }));
  });
}

/** What the naive fold said, as a verdict. */
export function verdictOf(said: string): Verdict {
  const position = /^accepted at (\d+)$/.exec(said)?.[1];
  if (position !== undefined) return { kind: 'accepted', position: Number(position) as Position };
  if (said === 'unreadable') return { kind: 'unreadable' };
  return { kind: 'rejected', reason: said as RejectReason };
}

/** Everything that the log holds now. */
export async function readLog(log: EventLog): Promise<readonly (readonly LogEntry[])[]> {
  const bounds = await log.bounds();
  const partitions = [...bounds.keys()].sort((a, b) => a - b);
  const found: LogEntry[][] = [];
  for (const partition of partitions) {
    const { start, end } = bounds.get(partition)!;
    const entries: LogEntry[] = [];
    for (let from = start; from < end; ) {
      const [result] = await log.read([{ partition, from }], { maxBytes: LOG_READ_MAX_BYTES });
      for (const record of result!.records) entries.push(decodeRecord(record.value));
      from = (start + entries.length) as typeof from;
    }
    found[partition] = entries;
  }
  return Array.from(found, (entries) => entries ?? []);
}

/** Accepted events by workflow, in order. */
export function acceptedOf(history: History): ReadonlyMap<string, readonly Accepted[]> {
  const found = new Map<string, Accepted[]>();
  for (const { entry, verdict, offset } of history.flat()) {
    if (entry.kind !== 'event' || verdict.kind !== 'accepted') continue;
    const { envelope, payload } = entry;
    const events = found.get(envelope.workflow) ?? [];
    found.set(envelope.workflow, events);
    events.push({ envelope, payload, offset });
  }
  return found;
}

/** The history of one workflow in words, accepted and rejected alike, for whoever must understand what went wrong. */
export function accountOf(workflow: string, history: History): string {
  const lines = history.flat().flatMap(({ partition, offset, entry, verdict }) => {
    if (entry.kind !== 'event' || !isOf(workflow, entry.envelope.workflow)) return [];
    const { type, epoch, holder, ordinal, atMs, control } = entry.envelope;
    const by = holder === '' ? '' : ` by ${holder}@${epoch}:${ordinal}`;
    const said = verdict.kind === 'accepted' ? '' : `  ${verdict.kind === 'rejected' ? verdict.reason : 'unreadable'}`;
    const place = `${partition}/${offset}`.padEnd(9);
    return [`    ${place} ${new Date(atMs).toISOString().slice(11)} ${type}${by} ${JSON.stringify(control)}${said}`];
  });
  return [`  ${workflow}:`, ...lines].join('\n');
}

/** The workflow itself, or one that undoes it. */
const isOf = (workflow: string, other: string): boolean => other === workflow || other.startsWith(`${workflow}~`);
