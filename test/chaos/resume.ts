/**
 * Owns how long workflows stood still after their worker went: from the end of a worker to the next checkpoint, and to the
 * next claim, of each workflow that it held. Counts only ends that came while nothing else was wrong. All times are those of
 * the events; every process of a run has the one clock of this machine.
 */

import { type FaultRecord, isKill } from './faults.ts';
import type { Accepted } from './history.ts';
import { SETTLED_MS, UNDISTURBED_MS } from './limits.ts';

/** How one workflow went on elsewhere. */
export interface TakeOver {
  readonly workflow: string;
  /** When its worker ended or was asked to. */
  readonly endMs: number;
  /** From then (or from what the holder did last: its last checkpoint, its release) to the next claim by another. */
  readonly claimMs: number;
  /** And to the next checkpoint; undefined when none followed. */
  readonly checkpointMs: number | undefined;
  /** Its steps are short, so that its next checkpoint shows the take-over and not the work. */
  readonly isPaced: boolean;
}

/** Take-overs after ends of this kind. `paced`: the workflows whose steps are short. */
export function takeOvers(
  kind: 'kill9_worker' | 'sigterm',
  faults: readonly FaultRecord[],
  streams: ReadonlyMap<string, readonly Accepted[]>,
  paced: ReadonlySet<string>,
): readonly TakeOver[] {
  const found: TakeOver[] = [];
  for (const fault of faults) {
    if (fault.kind !== kind || fault.holder === undefined || isDisturbed(fault, faults)) continue;
    for (const [workflow, events] of streams) {
      const taken = takenOver(events, fault.holder, fault.fromMs);
      if (taken !== undefined) found.push({ ...taken, workflow, endMs: fault.fromMs, isPaced: paced.has(workflow) });
    }
  }
  return found;
}

/** From the end of a worker to the next checkpoint of each paced workflow. */
export const checkpointTimes = (found: readonly TakeOver[]): readonly number[] =>
  found.flatMap(({ isPaced, checkpointMs }) => (isPaced && checkpointMs !== undefined ? [checkpointMs] : []));

/** True when anything else was wrong shortly before the end of this worker, or shortly after. */
export function isDisturbed(fault: FaultRecord, faults: readonly FaultRecord[]): boolean {
  return faults.some((other) => {
    if (other === fault) return false;
    // Of a process that was killed nothing is left but its next start; a server that was away is felt for a while.
    const isEnd = isKill(other.kind) || other.kind === 'sigterm';
    const overMs = isEnd ? other.fromMs + UNDISTURBED_MS : other.toMs + SETTLED_MS;
    return overMs > fault.fromMs && other.fromMs < fault.fromMs + UNDISTURBED_MS;
  });
}

/** Undefined when the holder did not hold it at that moment, or nobody took it. */
function takenOver(
  events: readonly Accepted[],
  holder: string,
  endMs: number,
): Pick<TakeOver, 'claimMs' | 'checkpointMs'> | undefined {
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
      if (type === 'CheckpointCommitted' || type === 'LeaseReleased') lastMs = Math.max(lastMs, atMs);
      // It ended its work itself, for example because it waits: whoever goes on later takes nothing over.
      if (type === 'LeaseReleased' && envelope.control.reason === 'idle') return undefined;
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
  'CompensationStarted',
]);
