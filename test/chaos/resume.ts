/**
 * Owns how long workflows stood still after their worker went: from the end of a worker to the next checkpoint, and to the
 * next claim, of each workflow that it held. Counts only ends that came while nothing else was wrong. All times are those of
 * the events; every process of a run has the one clock of this machine.
 */

import type { Accepted } from './history.ts';
import { SETTLED_MS, UNDISTURBED_MS } from './limits.ts';
import { type FaultRecord, isKill } from './faults.ts';

export interface ResumeTimes {
  /** From the end (or the holder's last checkpoint, if that is later) to the next checkpoint on another. */
  readonly checkpointMs: readonly number[];
  /** From the end to the next claim by another. */
  readonly claimMs: readonly number[];
}

/** `paced`: the workflows whose steps are short, so that their next checkpoint shows the take-over and not the work. */
export function resumeTimes(
  kind: 'kill9_worker' | 'sigterm',
  faults: readonly FaultRecord[],
  streams: ReadonlyMap<string, readonly Accepted[]>,
  paced: ReadonlySet<string>,
): ResumeTimes {
  const checkpointMs: number[] = [];
  const claimMs: number[] = [];
  for (const fault of faults) {
    if (fault.kind !== kind || fault.holder === undefined || isDisturbed(fault, faults)) continue;
    for (const [workflow, events] of streams) {
      const taken = takenOver(events, fault.holder, fault.fromMs);
      if (taken === undefined) continue;
      claimMs.push(taken.claimMs);
      if (paced.has(workflow) && taken.checkpointMs !== undefined) checkpointMs.push(taken.checkpointMs);
    }
  }
  return { checkpointMs, claimMs };
}

/** True when anything else was wrong shortly before the end of this worker, or shortly after. */
export function isDisturbed(fault: FaultRecord, faults: readonly FaultRecord[]): boolean {
  return faults.some((other) => {
    if (other === fault) return false;
    // A process that was killed and is back leaves nothing behind; a server that was away does for a while.
    const settledMs = isKill(other.kind) || other.kind === 'sigterm' ? 0 : SETTLED_MS;
    return other.toMs + settledMs > fault.fromMs && other.fromMs < fault.fromMs + UNDISTURBED_MS;
  });
}

interface TakeOver {
  readonly claimMs: number;
  /** Undefined when no checkpoint followed. */
  readonly checkpointMs: number | undefined;
}

/** How the workflow went on elsewhere; undefined when the holder did not hold it at that moment, or nobody took it. */
function takenOver(events: readonly Accepted[], holder: string, endMs: number): TakeOver | undefined {
  let isHeld = false;
  let lastMs = endMs;
  let claimedMs: number | undefined;
  for (const { envelope } of events) {
    const { type, atMs } = envelope;
    if (atMs <= endMs) {
      if (type === 'LeaseClaimed') isHeld = envelope.holder === holder;
      else if (ENDS_LEASE.has(type)) isHeld = false;
      continue;
    }
    if (!isHeld) return undefined;
    if (envelope.holder === holder) {
      if (type === 'CheckpointCommitted') lastMs = Math.max(lastMs, atMs);
    } else if (type === 'LeaseClaimed') {
      claimedMs ??= atMs;
    } else if (type === 'CheckpointCommitted' && claimedMs !== undefined) {
      return { claimMs: claimedMs - lastMs, checkpointMs: atMs - lastMs };
    }
  }
  return claimedMs === undefined ? undefined : { claimMs: claimedMs - lastMs, checkpointMs: undefined };
}

const ENDS_LEASE: ReadonlySet<string> = new Set([
  'LeaseReleased',
  'LeaseRevoked',
  'WorkflowCompleted',
  'WorkflowFailed',
  'WorkflowParked',
]);
