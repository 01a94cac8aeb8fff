/**
 * Owns the history as seen from outside: the shared log, every record folded by the naive fold the moment it is stored, each
 * acknowledgement, and the state of each effect. The judge judges by it. Must not use core's fold.
 */

import { decodeRecord } from '@tidemark/codec';
import type { Envelope, LogEntry, Offset, Partition, Position, RejectReason, Verdict } from '@tidemark/core';
import type { LogRecord } from '@tidemark/ports';
import { NaivePartition } from '../naive/fold.ts';
import type { NaiveEffect, NaiveStream } from '../naive/stream.ts';
import type { SimulatedLog } from '../simulated-log.ts';
import type { Transcript } from './transcript.ts';

export interface History {
  readonly partition: Partition;
  readonly naive: NaivePartition;
  readonly entries: LogEntry[];
  readonly verdicts: Verdict[];
  /** Every record that was ever stored, by offset, trimmed ones included. */
  readonly values: Uint8Array[];
  /** Stretch and digest of each segment that was found right. */
  readonly rightSegments: Set<string>;
}

export interface Acknowledged {
  readonly to: string;
  readonly partition: Partition;
  readonly base: Offset;
  readonly records: readonly LogRecord[];
}

/** An effect as the fold has it. */
export interface WitnessedEffect {
  readonly workflow: string;
  readonly status: NaiveEffect['status'];
  readonly kind: string;
  readonly operation: string;
  /** Moments of its first intention and of its outcome, counted in accepted events of the whole log. */
  readonly intendedAt: number;
  readonly knownAt: number | undefined;
}

export class Witness {
  readonly log: SimulatedLog;
  readonly #transcript: Transcript;
  readonly histories = new Map<Partition, History>();
  readonly acknowledged: Acknowledged[] = [];
  /** Effects by key, as the fold has them. */
  readonly effects = new Map<string, WitnessedEffect>();
  /** Accepted confirmations by token, and accepted answers by question. */
  readonly confirmed = new Map<string, 'done' | 'failed'>();
  readonly decided = new Map<string, Envelope<'ApprovalDecided'>['control'] & { readonly workflow: string }>();
  #acceptedCount = 0;
  /** Called for every accepted event. */
  onAccepted: ((envelope: Envelope, partition: Partition) => void) | undefined;

  /** Called for every trimming, before it happens. */
  onTrim: ((history: History, before: Offset) => void) | undefined;

  constructor(log: SimulatedLog, transcript: Transcript) {
    this.log = log;
    this.#transcript = transcript;
  }

  history(partition: Partition): History {
    let history = this.histories.get(partition);
    if (history === undefined) {
      history = {
        partition,
        naive: new NaivePartition(partition, 0),
        entries: [],
        verdicts: [],
        values: [],
        rightSegments: new Set(),
      };
      this.histories.set(partition, history);
    }
    return history;
  }

  /** The newest stream of that workflow. */
  stream(workflow: string): NaiveStream | undefined {
    for (const { naive } of this.histories.values()) {
      const found = naive.streams.find((stream) => stream.workflow === workflow);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Stores records, and folds them. */
  store(partition: Partition, records: readonly LogRecord[], who: string): Offset {
    const base = this.log.store(partition, records);
    const history = this.history(partition);
    for (const { value } of records) {
      history.values.push(value);
      this.#follow(history, decodeRecord(value), who);
    }
    return base;
  }

  /** Trims, and calls the listener first: trimmed records must be in segments by then. */
  async trim(partition: Partition, before: Offset, who: string): Promise<void> {
    this.#transcript.add(who, `trim ${partition}:${before}`);
    this.onTrim?.(this.history(partition), before);
    await this.log.trim(partition, before);
  }

  acknowledge(to: string, partition: Partition, base: Offset, records: readonly LogRecord[]): void {
    this.acknowledged.push({ to, partition, base, records });
  }

  #follow(history: History, entry: LogEntry, who: string): void {
    const at = history.naive.next;
    const said = history.naive.fold(entry);
    history.entries.push(entry);
    const verdict = verdictOf(said);
    history.verdicts.push(verdict);
    this.#transcript.add(who, `log ${history.partition}:${at} ${describe(entry)} ${said}`);
    if (entry.kind !== 'event' || verdict.kind !== 'accepted') return;
    const { envelope } = entry;
    this.#acceptedCount++;
    this.#note(envelope, history.naive);
    this.onAccepted?.(envelope, history.partition);
  }

  #note(envelope: Envelope, { streams }: NaivePartition): void {
    const { workflow, type, control } = envelope;
    if (type === 'EffectConfirmed') this.confirmed.set(control.token, control.outcome);
    if (type === 'ApprovalDecided') this.decided.set(control.question, { ...control, workflow });
    if (!CHANGE_EFFECTS.has(type)) return;
    for (const { effects } of streams.find((stream) => stream.workflow === workflow)?.tasks ?? []) {
      for (const { key, status, kind, operation } of effects) {
        const known = this.effects.get(key);
        if (known?.status === status) continue;
        const isKnown = status === 'done' || status === 'failed';
        this.effects.set(key, {
          workflow,
          status,
          kind,
          operation,
          intendedAt: known?.intendedAt ?? this.#acceptedCount,
          knownAt: isKnown ? this.#acceptedCount : undefined,
        });
      }
    }
  }
}

const CHANGE_EFFECTS: ReadonlySet<string> = new Set<Envelope['type']>([
  'EffectIntended',
  'EffectPending',
  'EffectResolved',
  'EffectConfirmed',
  'ApprovalDecided',
]);

function verdictOf(said: string): Verdict {
  if (said.startsWith('accepted at ')) return { kind: 'accepted', position: Number(said.slice(12)) as Position };
  return said === 'unreadable' ? { kind: 'unreadable' } : { kind: 'rejected', reason: said as RejectReason };
}

function describe(entry: LogEntry): string {
  if (entry.kind !== 'event') return entry.kind;
  const { type, workflow, epoch, ordinal, control } = entry.envelope;
  const token = ordinal === 0 ? '' : ` ${epoch}:${ordinal}`;
  const words = [
    ...('task' in control && control.task !== null ? [control.task] : []),
    ...('key' in control && control.key !== null ? [control.key] : []),
    ...(type === 'CheckpointCommitted' ? [`#${control.sequence} ${control.step}`] : []),
    ...('outcome' in control ? [control.outcome] : []),
    ...('token' in control ? [control.token] : []),
    ...(type === 'ApprovalDecided' ? [control.resolution, control.by] : []),
    ...('reason' in control ? [control.reason] : []),
    ...('code' in control ? [control.code] : []),
    ...(type === 'LeaseRevoked' ? [`epoch ${control.epoch}`] : []),
  ];
  return [`${type} ${workflow}${token}`, ...words].join(' ');
}
