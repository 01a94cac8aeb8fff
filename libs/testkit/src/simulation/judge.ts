/**
 * Owns the judgement of a run from outside: the log as the naive fold has it, the receivers' ledger, rows, and what clients and steps
 * received. Each finding names its invariant. Must not ask the fleet what it believes.
 */

import { isDeepStrictEqual } from 'node:util';
import { decodePayload } from '@tidemark/codec';
import { type Envelope, emptyPartition, type Offset, type Partition, type TaskId, taskOrder } from '@tidemark/core';
import { ProjectionBuilder } from '@tidemark/runtime/internals';
import { SimulatedStore } from '../engine/simulated-store.ts';
import { checkChain, checkEffects, checkFencing, checkPositions } from '../naive/checkers.ts';
import { naivePartitionView, partitionView } from '../naive/view.ts';
import type { Begun } from './effects.ts';
import { FUNCTIONS } from './functions.ts';
import { DYING } from './judge-deaths.ts';
import type { LedgerEntry } from './outside.ts';
import { dumpOf, type SeenCheckpoint } from './store.ts';
import type { Acknowledged, History, Witness } from './witness.ts';
import { COMPENSATED, expectedOutput, type Start } from './workloads.ts';

/** What the log says of one workflow at the end. */
export interface Ending {
  readonly workflow: string;
  readonly status: 'open' | 'completed' | 'failed' | 'parked' | 'compensating' | 'compensated';
  readonly code: string | null;
  readonly output: unknown;
  /** Checkpoints by sequence. */
  readonly chain: ReadonlyMap<number, string>;
  /** Codes of its questions. */
  readonly asked: readonly string[];
  /** A person decided that it fails. */
  readonly isRejected: boolean;
  /** A holder fell silent, and was not known to be gone. */
  readonly hadSilence?: boolean;
  /** A call of it was certainly not done, so that another may be made in its place. */
  readonly hadRefusal?: boolean;
  /** The workflow that continues it. */
  readonly continued?: string | null;
}

type Growing = { -readonly [K in keyof Ending]: Ending[K] } & { chain: Map<number, string>; asked: string[] };

/** All accepted events, by workflow; the newest stream of each. */
export function endingsOf(histories: Iterable<History>): ReadonlyMap<string, Ending> {
  const endings = new Map<string, Growing>();
  for (const { entries, verdicts } of histories) {
    for (const [at, entry] of entries.entries()) {
      if (entry.kind !== 'event' || verdicts[at]?.kind !== 'accepted') continue;
      const { envelope } = entry;
      const { workflow } = envelope;
      if (envelope.type === 'WorkflowOpened') {
        endings.set(workflow, {
          workflow,
          status: 'open',
          code: null,
          output: undefined,
          chain: new Map(),
          asked: [],
          isRejected: false,
        });
      }
      const ending = endings.get(workflow);
      if (ending !== undefined) follow(ending, envelope, entry.payload);
    }
  }
  return endings;
}

function follow(ending: Growing, envelope: Envelope, payload: Uint8Array): void {
  switch (envelope.type) {
    case 'CheckpointCommitted':
      ending.chain.set(envelope.control.sequence, envelope.control.checkpoint);
      break;
    case 'WorkflowCompleted':
      ending.status = 'completed';
      ending.continued = envelope.control.continued ?? null;
      ending.output = decodePayload('WorkflowCompleted', payload).output;
      break;
    case 'WorkflowFailed':
      Object.assign(ending, { status: 'failed', code: envelope.control.code });
      break;
    case 'WorkflowParked':
      Object.assign(ending, { status: 'parked', code: envelope.control.code });
      ending.asked.push(envelope.control.code);
      break;
    case 'ApprovalDecided':
      Object.assign(ending, { status: 'open', code: null, isRejected: envelope.control.resolution === 'fail' });
      break;
    case 'LeaseRevoked':
      if (envelope.control.isGone !== true) ending.hadSilence = true;
      break;
    case 'EffectResolved':
      if (envelope.control.outcome === 'failed') ending.hadRefusal = true;
      break;
    case 'CancelRequested':
      Object.assign(ending, { status: 'open', code: null });
      break;
    case 'WorkflowTerminated':
      Object.assign(ending, { status: 'failed', code: envelope.control.code });
      break;
    case 'CompensationStarted':
      Object.assign(ending, { status: 'compensating', code: envelope.control.code });
      break;
    case 'CompensationFinished':
      ending.status = envelope.control.outcome;
  }
}

type Endings = ReadonlyMap<string, Ending>;

/** I1: an acknowledged record stands in the log as it was sent; everything that anybody could read or build on is in the chain. */
export function checkDurability(
  { histories }: Pick<Witness, 'histories'>,
  acknowledged: readonly Acknowledged[],
  seen: readonly SeenCheckpoint[],
  begun: readonly Begun[],
  endings: Endings,
): string[] {
  const violations: string[] = [];
  for (const { to, partition, base, records } of acknowledged) {
    const values = histories.get(partition)?.values ?? [];
    const isThere = records.every((record, at) => Buffer.compare(values[base + at] ?? NOTHING, record.value) === 0);
    if (!isThere) violations.push(`I1: what was acknowledged to ${to} at ${partition}:${base} is not in the log`);
  }
  for (const { workflow, sequence, checkpoint } of seen) {
    const standing = sequence === 0 ? null : endings.get(workflow)?.chain.get(sequence);
    if (standing !== checkpoint) {
      violations.push(`I1: checkpoint ${sequence} of ${workflow} was readable as ${checkpoint} and is ${standing}`);
    }
  }
  for (const { workflow, task, durable } of begun) {
    const [sequence] = taskOrder(task as TaskId);
    if (!durable || sequence === 0 || endings.get(workflow)?.chain.has(sequence) === true) continue;
    violations.push(`I1: task ${task} of ${workflow} began, and checkpoint ${sequence} is not in the log`);
  }
  return violations;
}

const NOTHING = new Uint8Array();

/** I4: at most one application of each irreversible key; calls that the log calls done were done. */
export function checkLedger(
  ledger: ReadonlyMap<string, LedgerEntry>,
  effects: ReadonlyMap<string, { readonly status: string; readonly kind: string; readonly operation?: string }>,
): string[] {
  const violations: string[] = [];
  for (const [key, { receiver, appliedCount }] of ledger) {
    if (appliedCount > 1) violations.push(`I4: ${key} was applied ${appliedCount} times (receiver ${receiver})`);
    if (!effects.has(key)) violations.push(`I4: ${key} was applied and never intended`);
  }
  for (const [key, { status, kind, operation }] of effects) {
    // What a function registered for a rollback is judged with functions: one that was cancelled first has nothing to call.
    if (kind === 'pure' || operation === 'step.onRollback~undo') continue;
    if (status === 'done' && !ledger.has(key)) {
      violations.push(`I4: ${key} is done in the log, and was never applied`);
    }
    if (status === 'failed' && ledger.has(key)) violations.push(`I4: ${key} is not done in the log, and was applied`);
  }
  return violations;
}

/** Of the chain that begins there; a missing next run counts as open. */
function lastOf(endings: Endings, id: string): Ending | undefined {
  let ending = endings.get(id);
  while (ending?.continued) ending = endings.get(ending.continued) ?? { ...ending, status: 'open', continued: null };
  return ending;
}

/** I6 and I10: every started workflow exists and has ended, with the output of a run without faults. */
export function checkEndings(starts: readonly Start[], endings: Endings): string[] {
  return starts.flatMap((start) => {
    const { id, workload, input, result } = start;
    const ending = lastOf(endings, id);
    if (ending === undefined)
      return [`I6: ${id} was ${start.isAcknowledged ? 'acknowledged' : 'asked for'} and isn't there`];
    const found = checkEnding(start, ending);
    if (result !== undefined && 'output' in result && !isDeepStrictEqual(result.output, ending.output)) {
      found.push(
        `I1: the client was told ${JSON.stringify(result.output)} as output of ${id}, which the log doesn't have`,
      );
    }
    const isOther = workload === 'fickle' && ending.hadRefusal === true;
    if (
      ending.status === 'completed' &&
      !isOther &&
      !isDeepStrictEqual(ending.output, expectedOutput(workload, input))
    ) {
      found.push(`I10: ${id} (${workload}) put out ${JSON.stringify(ending.output)}`);
    }
    return found;
  });
}

/** Codes with which a workflow may need a person, and why. */
function mayAsk({ workload, input: { receivers } }: Start, { hadSilence }: Ending, code: string): boolean {
  // Judged with the deaths.
  if (DYING.has(code)) return true;
  if (workload === 'stray' && (code === 'function-changed' || code === 'request-changed')) return true;
  if (workload === 'fickle') return code === 'request-changed' || (code === 'caller-silent' && hadSilence === true);
  if (!CALLING.has(workload)) return false;
  switch (code) {
    // An irreversible effect at a receiver that neither deduplicates nor has a probe, or one that has not decided yet. Effects that are to
    // be compensated must be decided first.
    case 'effect-unknown':
      return COMPENSATED.has(workload) || receivers.includes('blind') || receivers.includes('announces');
    // A silent holder may still call a receiver that doesn't deduplicate.
    case 'caller-silent':
      return hadSilence === true && receivers.some((receiver) => ['probed', 'announces', 'blind'].includes(receiver));
    case 'effect-invalid':
    case 'validator-missing':
      return receivers.includes('blind');
    case 'confirmation-overdue':
      return receivers.some((receiver) => ['confirms', 'announces', 'silent'].includes(receiver));
    default:
      return false;
  }
}

const CALLING: ReadonlySet<string> = new Set([
  ...['pay', 'spread', 'await', 'gather', 'unroll', 'scatter', 'overlap'],
  ...FUNCTIONS,
]);

function checkEnding(start: Start, ending: Ending): string[] {
  const { id, workload } = start;
  const { status, code, asked, isRejected, chain } = ending;
  const needless = asked.filter((question) => !mayAsk(start, ending, question));
  const violations = needless.map(
    (question) => `progress: ${id} (${workload}) asked a person without need: ${question}`,
  );
  // One that is cancelled before it has done anything has nothing to compensate.
  const isCancelled = workload === 'retreat' && status === 'failed' && code === 'cancelled';
  if (isCancelled && chain.size === 0) return violations;
  const mustFail = workload === 'fickle' && !(status === 'completed' && ending.hadRefusal === true);
  const isRight =
    status === 'failed'
      ? isRejected && code === 'rejected'
      : status === (COMPENSATED.has(workload) ? 'compensated' : mustFail ? 'failed' : 'completed');
  if (isRight) return violations;
  return [...violations, `progress: ${id} (${workload}) is ${status}${code === null ? '' : ` (${code})`}`];
}

/** I2 and I3, and both folds agree on every verdict and every state. */
export function checkHistory({ partition, naive, entries, verdicts }: History): string[] {
  const violations = [checkChain, checkFencing, checkEffects, checkPositions].flatMap((check) =>
    check(entries, verdicts),
  );
  const { state, rejected } = freshFold(partition, { entries });
  if (!isDeepStrictEqual(naivePartitionView(naive), partitionView(state))) {
    violations.push(`I5: the fold of partition ${partition} has another state than the naive fold`);
  }
  const naiveRejected = verdicts.flatMap((verdict, at) =>
    verdict.kind === 'rejected' ? [`${at} ${verdict.reason}`] : [],
  );
  const difference = rejected.find((line, at) => line !== naiveRejected[at]) ?? naiveRejected[rejected.length];
  if (difference !== undefined) violations.push(`I2, I3: the folds of partition ${partition} differ at ${difference}`);
  return violations;
}

function freshFold(partition: Partition, { entries }: Pick<History, 'entries'>) {
  const builder = new ProjectionBuilder();
  const state = builder.fold(emptyPartition(partition, 0 as Offset), entries);
  const batch = builder.batch();
  return { state, batch, rejected: batch.rejected.map(({ offset, reason }) => `${offset} ${reason}`) };
}

/** I5: the rows equal those of a fresh fold of the whole log in one batch. */
export async function checkRows(store: SimulatedStore, histories: ReadonlyMap<Partition, History>): Promise<string[]> {
  const fresh = new SimulatedStore(Math.max(0, ...histories.keys()) + 1);
  for (const history of histories.values()) {
    // Entries that were rejected by all, in a partition without any others.
    if (history.entries.length > 0) await fresh.apply(freshFold(history.partition, history).batch);
  }
  return [...histories.keys()].flatMap((partition) => {
    const next = store.partitions.get(partition)?.next;
    if (next !== histories.get(partition)!.naive.next)
      return [`progress: rows of partition ${partition} stand at ${next}`];
    const same = isDeepStrictEqual(dumpOf(store, partition), dumpOf(fresh, partition));
    return same ? [] : [`I5: the rows of partition ${partition} differ from those of a fresh fold`];
  });
}
