/**
 * Owns the judgement after a load run: the whole history, from segments and log, partition by partition, folded by the naive fold, beside
 * what was started and what the ledger outside was asked to do. Nothing is judged while the load runs: a third reader would be load.
 */

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { decodeRecord } from '@tidemark/codec';
import type { LogEntry, Offset, Partition, RejectReason, Verdict } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { EventLog } from '@tidemark/ports';
import { Archive, TieredLog } from '@tidemark/runtime';
import { checkChain, checkEffects, checkFencing, checkPositions } from '@tidemark/testkit/naive/checkers';
import { NaivePartition } from '@tidemark/testkit/naive/fold';
import { type Finding, falseCommits, wrongOutputs } from '../../chaos/checks.ts';
import { type Accepted, verdictOf } from '../../chaos/history.ts';
import type { LedgerEntry } from '../../chaos/ledger.ts';
import { FENCED, Openings } from '../../chaos/rejections.ts';
import { expectedOf } from './expected.ts';
import { JUDGE_READ_MAX_BYTES, STEPS_PER_EFFECT } from './limits.ts';

export interface StreamFacts {
  opened: number;
  completed: number;
  /** Accepted checkpoints, whose sequences the checkers hold to be 1, 2, 3 … */
  checkpoints: number;
  /** Leases that were claimed. */
  claims: number;
  /** Anything that ended it otherwise, or asked a person. */
  other: string[];
}

export interface History {
  readonly streams: ReadonlyMap<string, StreamFacts>;
  /** Invariants that don't hold, in words. */
  readonly broken: readonly string[];
  /** By the fold's reason. */
  readonly rejected: Readonly<Record<string, number>>;
  /** Of those, what fencing doesn't explain, in words, with how often. */
  readonly strange: ReadonlyMap<string, number>;
  /** Second of the wall clock → accepted checkpoints of that second, by the clocks of workers. */
  readonly checkpointsBySecond: ReadonlyMap<number, number>;
  /** From the last event of a holder that died to the next one's first checkpoint, by wall clocks of workers, in milliseconds. */
  readonly takeOversMs: readonly number[];
  /** Workflows that ended with another output than their start says, and effects that the log holds as done and the ledger doesn't know. */
  readonly wrongOutputs: readonly string[];
  readonly falseCommits: readonly string[];
  /** Workflows whose outputs and effects were compared so. */
  readonly outputCount: number;
  /** Accepted events of the sample. */
  readonly kept: ReadonlyMap<string, readonly Accepted[]>;
  readonly eventCount: number;
  readonly bytes: number;
}

/** By workflow: what was applied outside, in the order in which it was. */
export type Ledgers = ReadonlyMap<string, readonly LedgerEntry[]>;

export interface Known {
  /** Workflow → its number of steps. */
  readonly starts: ReadonlyMap<string, number>;
  readonly ledgers: Ledgers;
  /** Workflows whose accepted events are kept. */
  readonly sample: ReadonlySet<string>;
}

/** Folds all there is, through all tiers. `onPartition` is told of each that is done. */
export async function readHistory(
  host: Host,
  known: Known,
  onPartition: (done: number, of: number) => void,
): Promise<History> {
  const { hot, archive } = host.tiers!;
  const log = new TieredLog(hot, new Archive({ warm: archive.warm }));
  const partitions = [...(await hot.bounds()).keys()].sort((a, b) => a - b);
  const gathered = new Gathered(known);
  for (const [index, partition] of partitions.entries()) {
    gathered.add(partition, await entriesOf(log, partition, gathered));
    onPartition(index + 1, partitions.length);
  }
  return gathered;
}

async function entriesOf(log: EventLog, partition: Partition, gathered: Gathered): Promise<readonly LogEntry[]> {
  const entries: LogEntry[] = [];
  for (let from = 0; ; ) {
    const [result] = await log.read([{ partition, from: from as Offset }], { maxBytes: JUDGE_READ_MAX_BYTES });
    for (const { value } of result!.records) {
      gathered.bytes += value.byteLength;
      entries.push(decodeRecord(value));
    }
    if (result!.records.length === 0) return entries;
    from = result!.records.at(-1)!.offset + 1;
  }
}

/** What partitions came to, one after the other. */
export class Gathered implements History {
  readonly streams = new Map<string, StreamFacts>();
  readonly broken: string[] = [];
  readonly rejected: Record<string, number> = {};
  readonly strange = new Map<string, number>();
  readonly checkpointsBySecond = new Map<number, number>();
  readonly takeOversMs: number[] = [];
  readonly wrongOutputs: string[] = [];
  readonly falseCommits: string[] = [];
  readonly kept = new Map<string, readonly Accepted[]>();
  outputCount = 0;
  eventCount = 0;
  bytes = 0;
  readonly #known: Known;

  constructor(known: Known) {
    this.#known = known;
  }

  /** All entries of the partition from its first on. */
  add(partition: Partition, entries: readonly LogEntry[]): void {
    const state = new NaivePartition(partition, 0);
    const verdicts: readonly Verdict[] = entries.map((entry) => verdictOf(state.fold(entry)));
    for (const check of [checkChain, checkFencing, checkEffects, checkPositions]) {
      this.broken.push(...check(entries, verdicts));
    }
    const lastMs = new Map<string, Last>();
    const openings = new Openings();
    const accepted = new Map<string, Accepted[]>();
    for (const [at, entry] of entries.entries()) {
      this.eventCount++;
      const verdict = verdicts[at]!;
      if (verdict.kind === 'rejected') this.#refused(entry, verdict.reason, openings);
      if (entry.kind !== 'event' || verdict.kind !== 'accepted') continue;
      openings.saw(entry.envelope);
      this.#see(entry, lastMs);
      const { envelope, payload } = entry;
      if (!accepted.has(envelope.workflow)) accepted.set(envelope.workflow, []);
      accepted.get(envelope.workflow)!.push({ envelope, payload, offset: at });
    }
    this.#compare(accepted);
  }

  /** A workflow is in one partition, so what is known of the others isn't needed for it. */
  #compare(accepted: ReadonlyMap<string, readonly Accepted[]>): void {
    const { starts, ledgers, sample } = this.#known;
    const started = [...accepted.keys()].filter((workflow) => starts.has(workflow));
    const expectations = new Map(started.map((workflow) => [workflow, expectedOf(workflow, starts.get(workflow)!)]));
    const ledger = started.flatMap((workflow) => ledgers.get(workflow) ?? []);
    const textOf = ({ workflow, what }: Finding): string => `${workflow}: ${what}`;
    this.wrongOutputs.push(...wrongOutputs(expectations, accepted, ledger).map(textOf));
    this.falseCommits.push(...falseCommits(expectations, accepted, ledger).map(textOf));
    this.outputCount += started.length;
    for (const [workflow, events] of accepted) {
      if (!sample.has(workflow)) continue;
      // Copies: a payload is a view of the whole read that it came with.
      const copies = events.map((event) => ({ ...event, payload: Uint8Array.from(event.payload) }));
      this.kept.set(workflow, copies);
    }
  }

  /** Fenced are events of a holder that was replaced, repetitions, and what was overtaken on its way. */
  #refused(entry: LogEntry, reason: RejectReason, openings: Openings): void {
    this.rejected[reason] = (this.rejected[reason] ?? 0) + 1;
    if (FENCED.has(reason)) return;
    if (entry.kind === 'event' && openings.isOvertaken(reason, entry.envelope)) return;
    const what = `${reason}: ${entry.kind === 'event' ? entry.envelope.type : entry.kind}`;
    this.strange.set(what, (this.strange.get(what) ?? 0) + 1);
  }

  #see({ envelope }: Extract<LogEntry, { kind: 'event' }>, lastMs: Map<string, Last>): void {
    const { workflow, type, epoch, atMs } = envelope;
    if (type === 'PartitionFenced') return;
    const facts = this.streams.get(workflow) ?? { opened: 0, completed: 0, checkpoints: 0, claims: 0, other: [] };
    this.streams.set(workflow, facts);
    const last = lastMs.get(workflow);
    if (type === 'WorkflowOpened') facts.opened++;
    else if (type === 'WorkflowCompleted') facts.completed++;
    else if (type === 'LeaseClaimed') facts.claims++;
    else if (type === 'LeaseRevoked' && last !== undefined) lastMs.set(workflow, { ...last, isRevoked: true });
    else if (type === 'CheckpointCommitted') {
      facts.checkpoints++;
      const second = Math.floor(atMs / 1_000);
      this.checkpointsBySecond.set(second, (this.checkpointsBySecond.get(second) ?? 0) + 1);
      if (last?.isRevoked && epoch > last.epoch) this.takeOversMs.push(atMs - last.atMs);
      lastMs.set(workflow, { epoch, atMs, isRevoked: false });
    } else if (ENDED_OTHERWISE.has(type)) facts.other.push(type);
  }
}

type Last = { readonly epoch: number; readonly atMs: number; readonly isRevoked: boolean };

const ENDED_OTHERWISE: ReadonlySet<string> = new Set([
  'WorkflowFailed',
  'WorkflowTerminated',
  'WorkflowParked',
  'CompensationStarted',
]);

/** Started workflows that the history has not exactly as their start says: opened once, each step a checkpoint, completed once. */
export function lostWorkflows(
  starts: ReadonlyMap<string, number>,
  streams: ReadonlyMap<string, StreamFacts>,
): readonly string[] {
  const findings: string[] = [];
  for (const [workflow, steps] of starts) {
    const facts = streams.get(workflow);
    if (facts === undefined) findings.push(`${workflow}: nothing of it is in the history`);
    else if (facts.opened !== 1) findings.push(`${workflow}: opened ${facts.opened} times`);
    else if (facts.other.length > 0) findings.push(`${workflow}: ${facts.other.join(', ')}`);
    else if (facts.completed !== 1) findings.push(`${workflow}: completed ${facts.completed} times`);
    else if (facts.checkpoints !== steps) {
      findings.push(`${workflow}: ${facts.checkpoints} checkpoints of ${steps}`);
    }
  }
  for (const [workflow, { opened }] of streams) {
    // The system's own records, such as workers' registrations, have no opening.
    if (!starts.has(workflow) && opened > 0) findings.push(`${workflow}: nobody started it`);
  }
  return findings;
}

export interface Effects {
  readonly count: number;
  /** Applied more often than once. */
  readonly doubled: readonly string[];
  /** Not applied although the workflow has ended, or applied although nobody asked. */
  readonly missing: readonly string[];
  readonly unasked: readonly string[];
}

/** What was applied outside, beside what each started workflow was to do. */
export function judgeEffects(starts: ReadonlyMap<string, number>, ledgers: Ledgers): Effects {
  const doubled: string[] = [];
  const missing: string[] = [];
  const unasked: string[] = [];
  let asked = 0;
  for (const [workflow, steps] of starts) {
    const times = timesOf(ledgers.get(workflow) ?? []);
    for (let n = STEPS_PER_EFFECT; n <= steps; n += STEPS_PER_EFFECT) {
      asked++;
      const action = `${workflow}/${n}`;
      const count = times.get(action) ?? 0;
      times.delete(action);
      if (count === 0) missing.push(`${action} was never applied`);
      if (count > 1) doubled.push(`${action} was applied ${count} times`);
    }
    for (const action of times.keys()) unasked.push(`${action}: nobody asked for it`);
  }
  for (const workflow of ledgers.keys()) {
    if (!starts.has(workflow)) unasked.push(`${workflow}: was not started, and has effects`);
  }
  return { count: asked, doubled, missing, unasked };
}

function timesOf(entries: readonly LedgerEntry[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { action } of entries) times.set(action, (times.get(action) ?? 0) + 1);
  return times;
}

/** From the file that the ledger wrote before each answer. */
export async function ledgersIn(file: string): Promise<Ledgers> {
  const ledgers = new Map<string, LedgerEntry[]>();
  for await (const line of createInterface({ input: createReadStream(file) })) {
    if (line === '') continue;
    const entry = JSON.parse(line) as LedgerEntry;
    const workflow = entry.action.slice(0, entry.action.lastIndexOf('/'));
    const entries = ledgers.get(workflow);
    if (entries === undefined) ledgers.set(workflow, [entry]);
    else entries.push(entry);
  }
  return ledgers;
}
