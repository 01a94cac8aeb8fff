/**
 * Owns the judgement of what follows from holders' deaths, from the log and from probes: a workflow whose holders keep dying needs a person
 * (D5), and nobody else's does; and what a dead holder resolved is validated outside before its step counts (D1).
 */

import { DEFAULT_RECOVERY, type Envelope } from '@tidemark/core';
import type { NaiveStream } from '../naive/stream.ts';
import type { History } from './witness.ts';

/** What the deaths of its holders mean for a workflow. */
export interface DeathsFollowed {
  /** When holders were noticed to have died alone, or to have failed, since the last progress. */
  deathsMs: number[];
  /** Its live holder may do nothing but ask a person. */
  isBarred: boolean;
  isParked: boolean;
  /** A person has decided how it ends. */
  isRuled: boolean;
  /** A person has cancelled it: its holder may end it, and do nothing else. */
  isCancelled: boolean;
}

/** Codes of the questions about deaths. */
export const DYING: ReadonlySet<string | null> = new Set(['recovery-limit', 'poison-task']);
const ASKING: ReadonlySet<string> = new Set<Envelope['type']>(['LeaseClaimed', 'LeaseReleased', 'WorkflowParked']);

const ENDING: ReadonlySet<string> = new Set<Envelope['type']>(['CompensationStarted', 'WorkflowFailed']);
export const unhurt = (): DeathsFollowed => ({
  deathsMs: [],
  isBarred: false,
  isParked: false,
  isRuled: false,
  isCancelled: false,
});

/** D5: after too many deaths of its own, without progress between, nothing runs before a person has answered; and nobody is asked before. */
export function checkDeaths({ entries, verdicts }: Pick<History, 'entries' | 'verdicts'>): string[] {
  const violations: string[] = [];
  const followed = new Map<string, DeathsFollowed>();
  for (const [at, entry] of entries.entries()) {
    if (entry.kind !== 'event' || verdicts[at]?.kind !== 'accepted') continue;
    const { workflow, type, ordinal } = entry.envelope;
    const stream = followed.get(workflow) ?? unhurt();
    followed.set(workflow, stream);
    if (type === 'WorkflowParked' && DYING.has(entry.envelope.control.code) && !isTooMany(stream.deathsMs)) {
      violations.push(`D5: ${workflow} asks a person after ${stream.deathsMs.length} deaths of its own`);
    }
    const isEnd = stream.isCancelled && ENDING.has(type);
    if (ordinal > 0 && stream.isBarred && !ASKING.has(type) && !isEnd) {
      violations.push(`D5: ${type} of ${workflow} after ${stream.deathsMs.length} deaths, and nobody was asked`);
    }
    followDeaths(stream, entry.envelope);
  }
  return violations;
}

export function followDeaths(stream: DeathsFollowed, { type, control, atMs }: Envelope): void {
  switch (type) {
    case 'LeaseRevoked':
      stream.isBarred = false;
      if (control.reason === 'lease-not-listed' || (control.reason === 'holder-dead' && !control.beside)) {
        stream.deathsMs.push(atMs);
      }
      return;
    case 'CancelRequested':
      stream.isCancelled = true;
      return;
    case 'LeaseReleased':
      if (control.reason === 'fault') stream.deathsMs.push(atMs);
      return;
    case 'LeaseClaimed':
      stream.isBarred = !stream.isRuled && isTooMany(stream.deathsMs);
      return;
    case 'EffectResolved':
      if (control.outcome === 'done') stream.deathsMs = [];
      return;
    case 'CheckpointCommitted':
      stream.deathsMs = [];
      return;
    case 'WorkflowParked':
      stream.isParked = true;
      return;
    case 'ApprovalDecided':
      stream.isRuled = control.resolution === 'fail' || control.resolution === 'compensate';
      answered(stream);
      return;
    case 'RetryDecided':
      answered(stream);
      return;
    case 'EffectConfirmed':
      if (stream.isParked) answered(stream);
  }
}

function answered(stream: DeathsFollowed): void {
  stream.isParked = false;
  if (!stream.isRuled) stream.deathsMs = [];
}

function isTooMany(deathsMs: readonly number[]): boolean {
  const last = deathsMs.at(-1) ?? 0;
  const { attempts, windowMs } = DEFAULT_RECOVERY;
  const recentCount = deathsMs.filter((ms) => last - ms <= windowMs).length;
  return recentCount > attempts || deathsMs.length >= 2 * attempts;
}

/** D1: irreversible effects that were resolved before a death, until a probe was called for them. */
export class Suspects {
  readonly violations: string[] = [];
  readonly #keys = new Map<string, { readonly workflow: string; readonly task: string }>();

  /** Follows accepted events; the stream is as it is after each. */
  follow({ type, control, workflow }: Envelope, stream: NaiveStream | undefined): void {
    if (type === 'LeaseRevoked') {
      for (const { id, effects } of stream?.tasks ?? []) {
        for (const { key, status, kind } of effects) {
          if (status === 'done' && kind === 'irreversible') this.#keys.set(key, { workflow, task: id });
        }
      }
    }
    for (const [key, suspect] of this.#keys) {
      if (suspect.workflow !== workflow) continue;
      if (type === 'ApprovalDecided') this.#keys.delete(key);
      if (type !== 'CheckpointCommitted' || control.task !== suspect.task) continue;
      this.violations.push(
        `D1: task ${suspect.task} of ${workflow} counts, and after a death nobody asked about ${key}`,
      );
    }
  }

  /** A probe was called. */
  asked(key: string): void {
    this.#keys.delete(key);
  }
}
