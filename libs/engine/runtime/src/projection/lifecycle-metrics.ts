/**
 * Owns the metrics of workflows that start, are interrupted, resume and end. The projector passes it accepted events once their rows are
 * written, so the one coordinator that projects a partition counts each event once.
 */

import {
  type EventType,
  isClosed,
  keepLast,
  type LogEntry,
  type PartitionState,
  recallArmOf,
  type StreamState,
  type Verdict,
  type WorkflowId,
} from '@tidemark/core';
import type { Clock, Telemetry } from '@tidemark/ports';

/** Interrupted workflows whose recovery a projector times at once; beyond them, the oldest is dropped. */
const RECOVERIES_TIMED_MAX = 10_000;

/** An accepted event that opens, closes or interrupts a workflow, or that ends an interruption. */
export interface LifecycleEvent {
  readonly type: EventType;
  /** Undefined: this event opens the workflow. */
  readonly before: StreamState | undefined;
  readonly after: StreamState;
}

/** Undefined: no metric counts the event. */
export function lifecycleEvent(
  before: PartitionState,
  after: PartitionState,
  entry: LogEntry,
  verdict: Verdict,
): LifecycleEvent | undefined {
  if (verdict.kind !== 'accepted' || entry.kind !== 'event') return undefined;
  const { type, workflow } = entry.envelope;
  const now = after.streams.get(workflow);
  if (now === undefined) return undefined;
  if (type === 'WorkflowOpened') return { type, before: undefined, after: now };
  const earlier = before.streams.get(workflow);
  if (earlier === undefined) return undefined;
  const isCounted = type === 'LeaseRevoked' || earlier.status !== now.status || earlier.isUnsettled;
  return isCounted ? { type, before: earlier, after: now } : undefined;
}

export class LifecycleMetrics {
  readonly #telemetry: Telemetry;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** When this process saw the first interruption since the workflow's newest checkpoint. */
  readonly #interruptedMs = new Map<WorkflowId, number>();

  constructor({ telemetry, clock }: { readonly telemetry: Telemetry; readonly clock: Pick<Clock, 'monotonicMs'> }) {
    this.#telemetry = telemetry;
    this.#clock = clock;
  }

  /** In the order of offsets in each partition. */
  accept(events: readonly LifecycleEvent[]): void {
    for (const { type, before, after } of events) {
      if (before === undefined) this.#telemetry.count('workflows_started_total', 1);
      else this.#changed(type, before, after);
    }
  }

  #changed(type: EventType, before: StreamState, after: StreamState): void {
    const { status, definition, tenant } = after;
    if (type === 'LeaseRevoked') this.#interrupted(before);
    else if (before.isUnsettled) this.#recovering(type, before, after);
    if (!isClosed(after) || isClosed(before)) return;
    this.#telemetry.count('workflows_ended_total', 1, {
      ...{ status, resumed: String(after.resumed === true), definition, tenant },
    });
    const arm = recallArmOf(after.tags);
    // A fork is of no session.
    if (arm === undefined || after.fork !== undefined) return;
    this.#telemetry.count('recall_arm_steps_total', after.head.sequence, { arm });
    this.#telemetry.count('recall_arm_tokens_total', after.tokens, { arm });
    // A child's work is its session's; its end and its time are within its parent's.
    if (after.parent !== undefined) return;
    this.#telemetry.count('recall_arm_workflows_total', 1, { arm, status });
    this.#telemetry.count('recall_arm_seconds_total', Math.max(0, after.updatedAtMs - after.openedAtMs) / 1_000, {
      arm,
    });
  }

  #interrupted({ workflow, isUnsettled }: StreamState): void {
    // A second interruption before the recovery from the first counts as one, because the workflow resumes once.
    if (!isUnsettled) this.#telemetry.count('workflows_interrupted_total', 1);
    // An earlier time may be out of date: another coordinator may have projected the recovery.
    if (isUnsettled && this.#interruptedMs.has(workflow)) return;
    keepLast(this.#interruptedMs, workflow, this.#clock.monotonicMs(), RECOVERIES_TIMED_MAX);
  }

  #recovering(type: EventType, before: StreamState, after: StreamState): void {
    if (type === 'CheckpointCommitted') {
      this.#telemetry.count('checkpoint_resumes_total', 1, { outcome: 'resumed' });
      const sinceMs = this.#interruptedMs.get(after.workflow);
      if (sinceMs !== undefined)
        this.#telemetry.observe('recovery_duration_seconds', (this.#clock.monotonicMs() - sinceMs) / 1_000);
    }
    // A parked workflow was counted when it was parked; a person's decision only carries out what follows.
    const isStop = before.status === 'open' && after.status !== 'open';
    if (isStop && before.ruling !== 'fail' && before.ruling !== 'compensate')
      this.#telemetry.count('checkpoint_resumes_total', 1, { outcome: 'stopped' });
    // A new holder that only has to wait has recovered the workflow: the wait is no part of the recovery.
    if (isStop || !after.isUnsettled || type === 'LeaseReleased') this.#interruptedMs.delete(after.workflow);
  }
}
