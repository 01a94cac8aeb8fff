/**
 * Owns the spans of attempts at steps: those that became checkpoints, those that failed, and those that ended with their holder. Of
 * attempts that left nothing in the log before their worker died, only the first is known: a worker begins with the first unblocked task.
 */

import { type Envelope, type Epoch, firstUnblocked, type TaskId, type TaskState } from '@tidemark/core';
import { leaseSpan, type SpanId, stepSpan } from '@tidemark/runtime';
import { EffectSpans } from './effect-spans.ts';
import { planSpan, spendAttributes } from './gen-ai.ts';
import type { SpanAttributes } from './span.ts';
import type { OpenSpan, SpanSheet } from './span-sheet.ts';
import type { DrawingOptions, TracedEvent } from './traced-event.ts';

/** How a lease came to its end. */
export interface LeaseEnd {
  readonly atMs: number;
  /** Why open spans came to nothing; undefined: the lease was released in order. */
  readonly error: string | undefined;
  /** The task that ended it, with the code of its failure. */
  readonly cause: { readonly task: TaskId; readonly code: string } | undefined;
}

interface Declared {
  readonly definition: string;
  readonly plans: ReadonlySet<string>;
}

export class StepSpans {
  readonly #sheet: SpanSheet;
  readonly #declared: Declared;
  readonly #effects: EffectSpans;
  readonly #attempts = new Map<TaskId, OpenSpan>();
  #epoch = 0 as Epoch;
  /** The lease's own span. */
  #parentSpanId: SpanId = '';
  /** Earliest begin of the next attempt, for events that don't say it. */
  #idleSinceMs = 0;
  /** The task whose failure was the last event. */
  #justFailed: TaskId | undefined;

  constructor(sheet: SpanSheet, declared: Declared, options: DrawingOptions) {
    this.#sheet = sheet;
    this.#declared = declared;
    this.#effects = new EffectSpans(sheet, options);
  }

  add(event: TracedEvent): void {
    const { envelope } = event;
    const wasFailed = this.#justFailed;
    this.#justFailed = undefined;
    switch (envelope.type) {
      case 'LeaseClaimed':
        this.#epoch = envelope.epoch;
        this.#parentSpanId = leaseSpan(this.#sheet.workflow, envelope.epoch);
        this.#idleSinceMs = envelope.atMs;
        this.#effects.claimed();
        return;
      case 'CheckpointReserved':
        this.#reserved(event, envelope);
        return;
      case 'EffectIntended':
        this.#effects.intended(event, this.#parent(event));
        return;
      case 'EffectPending':
        this.#effects.pending(event);
        return;
      case 'EffectResolved':
        this.#effects.resolved(event, this.#parent(event));
        return;
      case 'CheckpointCommitted':
        this.#committed(event, envelope);
        return;
      case 'StepFailed':
        this.#failed(event, envelope);
        return;
      default:
        this.#justFailed = wasFailed;
    }
  }

  #reserved(event: TracedEvent, { control: { task, checkpoint }, atMs }: Envelope<'CheckpointReserved'>): void {
    const span = this.#attempt(event, task, atMs);
    const status = { 'tidemark.checkpoint.id': checkpoint, 'tidemark.checkpoint.status': 'reserved' };
    span.attributes = { ...span.attributes, ...status };
  }

  /** Call it before the lease's own span ends. Returns how many calls it left open. */
  leaseEnded(event: TracedEvent, { atMs, error, cause }: LeaseEnd): number {
    const openCount = this.#effects.leaseEnded(atMs, error ?? 'outcome-unknown');
    if (cause !== undefined && cause.task !== this.#justFailed) this.#attempt(event, cause.task, this.#idleSinceMs);
    if (error !== undefined && this.#attempts.size === 0) this.#lost(event);
    for (const [task, span] of this.#attempts) {
      const why = cause?.task === task ? cause.code : error;
      this.#sheet.end(span, atMs, { 'tidemark.step.outcome': why === undefined ? 'abandoned' : 'lost' }, why);
    }
    this.#attempts.clear();
    return openCount;
  }

  open(): readonly OpenSpan[] {
    return [...this.#attempts.values(), ...this.#effects.open()];
  }

  #parent(event: TracedEvent): (task: TaskId, sinceMs: number) => SpanId {
    return (task, sinceMs) => this.#attempt(event, task, sinceMs).spanId;
  }

  /** The attempt under way at the task; an unknown one begins here. */
  #attempt(event: TracedEvent, id: TaskId, sinceMs: number): OpenSpan {
    const span = this.#known(id, sinceMs) ?? this.#unknown(event, id, sinceMs);
    this.#attempts.set(id, span);
    return span;
  }

  /** The same for an attempt that ends with this event: most become known only by their end. */
  #ended(event: TracedEvent, id: TaskId, sinceMs: number): OpenSpan {
    const known = this.#known(id, sinceMs);
    if (known === undefined) return this.#unknown(event, id, sinceMs);
    this.#attempts.delete(id);
    return known;
  }

  #known(id: TaskId, sinceMs: number): OpenSpan | undefined {
    const span = this.#attempts.size === 0 ? undefined : this.#attempts.get(id);
    if (span !== undefined) span.startMs = Math.min(span.startMs, sinceMs);
    return span;
  }

  #unknown({ before }: TracedEvent, id: TaskId, sinceMs: number): OpenSpan {
    const task = before?.frontier.tasks.get(id);
    return this.#begin(id, task?.step ?? 'unknown', (task?.failureCount ?? 0) + 1, sinceMs);
  }

  #begin(task: TaskId, step: string, attempt: number, startMs: number): OpenSpan {
    const { workflow } = this.#sheet;
    const { definition, plans } = this.#declared;
    const plan = plans.has(step) ? planSpan(definition) : undefined;
    return this.#sheet.begin({
      spanId: stepSpan(workflow, task, this.#epoch, attempt),
      parentSpanId: this.#parentSpanId,
      name: plan?.name ?? `step ${step}`,
      startMs,
      attributes: stepAttributes(task, step, attempt, this.#epoch, plan?.attributes),
    });
  }

  #committed(event: TracedEvent, { control, atMs }: Envelope<'CheckpointCommitted'>): void {
    const { task, startedAtMs = this.#attempts.has(task) ? atMs : this.#idleSinceMs } = control;
    const span = this.#ended(event, task, Math.min(startedAtMs, atMs));
    this.#idleSinceMs = atMs;
    this.#sheet.end(span, atMs, {
      'tidemark.step.outcome': 'committed',
      'tidemark.checkpoint.id': control.checkpoint,
      'tidemark.checkpoint.status': 'committed',
      'tidemark.checkpoint.sequence': control.sequence,
      'tidemark.step.version': control.stepVersion,
      ...spendAttributes(control),
      'tidemark.tasks_added': control.tasks.length > 0 ? control.tasks.length : undefined,
      'tidemark.checkpoint.supersedes': control.supersedes ?? undefined,
    });
  }

  #failed(event: TracedEvent, { control, atMs }: Envelope<'StepFailed'>): void {
    const { task, code, retry, startedAtMs = this.#attempts.has(task) ? atMs : this.#idleSinceMs } = control;
    this.#effects.attemptEnded(task, atMs, 'outcome-unknown');
    const span = this.#ended(event, task, Math.min(startedAtMs, atMs));
    this.#idleSinceMs = atMs;
    this.#justFailed = task;
    this.#sheet.end(span, atMs, { 'tidemark.step.outcome': retry === null ? 'failed' : 'retried' }, code);
  }

  /** A worker begins with the first unblocked task: it died in that one, or before it. */
  #lost(event: TracedEvent): void {
    const first: TaskState | undefined = event.before && firstUnblocked(event.before.frontier);
    if (first !== undefined) this.#attempt(event, first.id, this.#idleSinceMs);
  }
}

function stepAttributes(task: TaskId, step: string, attempt: number, epoch: Epoch, more?: SpanAttributes) {
  const own = { 'tidemark.step': step, 'tidemark.task': task, 'tidemark.attempt': attempt, 'tidemark.epoch': epoch };
  return more === undefined ? own : { ...own, ...more };
}
