/**
 * Owns the metrics of what becomes of workflows: started, interrupted, resumed, ended. The projector hands it accepted events once their
 * rows were written, so that each is counted once, by whichever coordinator projects its partition.
 */

import {
  type EventType,
  isClosed,
  type LogEntry,
  type PartitionState,
  type StreamState,
  type Verdict,
  type WorkflowId,
} from '@tidemark/core';
import type { Clock, Telemetry } from '@tidemark/ports';
import { RECOVERIES_TIMED_MAX } from './limits.ts';

/** An accepted event with which a workflow begins, ends, is interrupted, or is past an interruption. */
export interface LifecycleEvent {
  readonly type: EventType;
  /** Undefined: the workflow begins with it. */
  readonly before: StreamState | undefined;
  readonly after: StreamState;
}

/** Undefined: nothing is counted of it. */
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
  /** When the first interruption since its newest checkpoint was seen here, by workflow. */
  readonly #interruptedMs = new Map<WorkflowId, number>();

  constructor({ telemetry, clock }: { readonly telemetry: Telemetry; readonly clock: Pick<Clock, 'monotonicMs'> }) {
    this.#telemetry = telemetry;
    this.#clock = clock;
  }

  /** In the order of each partition's offsets. */
  accept(events: readonly LifecycleEvent[]): void {
    for (const { type, before, after } of events) {
      if (before === undefined) this.#telemetry.count('workflows_started_total', 1);
      else this.#changed(type, before, after);
    }
  }

  #changed(type: EventType, before: StreamState, after: StreamState): void {
    const { status } = after;
    if (type === 'LeaseRevoked') this.#interrupted(before);
    else if (before.isUnsettled) this.#recovering(type, before, after);
    if (isClosed(after) && !isClosed(before)) this.#telemetry.count('workflows_ended_total', 1, { status });
  }

  #interrupted({ workflow, isUnsettled }: StreamState): void {
    // Interrupted again before it was past the first, it resumes once.
    if (!isUnsettled) this.#telemetry.count('workflows_interrupted_total', 1);
    // One that was settled since may have been so where this coordinator did not see it.
    if (isUnsettled && this.#interruptedMs.has(workflow)) return;
    this.#interruptedMs.delete(workflow);
    this.#interruptedMs.set(workflow, this.#clock.monotonicMs());
    if (this.#interruptedMs.size <= RECOVERIES_TIMED_MAX) return;
    const [oldest] = this.#interruptedMs.keys();
    this.#interruptedMs.delete(oldest!);
  }

  #recovering(type: EventType, before: StreamState, after: StreamState): void {
    if (type === 'CheckpointCommitted') {
      this.#telemetry.count('checkpoint_resumes_total', 1, { outcome: 'resumed' });
      const sinceMs = this.#interruptedMs.get(after.workflow);
      if (sinceMs !== undefined)
        this.#telemetry.observe('recovery_duration_seconds', (this.#clock.monotonicMs() - sinceMs) / 1_000);
    }
    // What was parked was counted then, and a person's decision carries out what follows from it.
    const isStop = before.status === 'open' && after.status !== 'open';
    if (isStop && before.ruling !== 'fail' && before.ruling !== 'compensate')
      this.#telemetry.count('checkpoint_resumes_total', 1, { outcome: 'stopped' });
    // The new holder found nothing to do but to wait: how long that takes is no matter of recovery.
    if (isStop || !after.isUnsettled || type === 'LeaseReleased') this.#interruptedMs.delete(after.workflow);
  }
}
