/**
 * Owns the one mapping from a workflow's accepted events to its trace. Live export and every later one use it, so they can't differ: the
 * same events give the same spans, in the same order, wherever a reader begins to send them. Pure.
 *
 * workflow ┬ queue            from when something could be done to the claim
 *          ├ lease            a holder's time with it ─ step or plan ─ effect, chat, execute_tool, run
 *          ├ wait …           for signals, timers, another attempt, a confirmation, a person
 *          ├ recovery         from the loss of a holder to what became of what it left
 *          └ compensation     while its undo, which has a trace of its own, is under way
 */

import { type Envelope, isClosed, isUnblocked, type StreamState, type WorkflowId } from '@tidemark/core';
import {
  childSpan,
  compensationSpan,
  isRunnable,
  leaseSpan,
  queueSpan,
  recoverySpan,
  type SpanId,
  traceIdOf,
  workflowSpan,
} from '@tidemark/runtime';
import { invokeSpan, present, spendAttributes } from './gen-ai.ts';
import type { SpanAttributes, SpanLink, TraceSpan } from './span.ts';
import { type OpenSpan, SpanSheet } from './span-sheet.ts';
import { type LeaseEnd, StepSpans } from './step-spans.ts';
import type { DrawingOptions, TracedEvent } from './traced-event.ts';
import { WaitSpans } from './wait-spans.ts';

export class WorkflowTrace {
  readonly #options: DrawingOptions;
  #sheet: SpanSheet | undefined;
  #root: OpenSpan | undefined;
  #steps: StepSpans | undefined;
  #waits: WaitSpans | undefined;
  #lease: OpenSpan | undefined;
  #recovery: OpenSpan | undefined;
  #compensation: OpenSpan | undefined;
  #queuedSinceMs: number | undefined;
  #lastMs = 0;
  #isNotable = false;

  constructor(options: DrawingOptions = {}) {
    this.#options = options;
  }

  /** The workflow was recovered, failed, needs a person, or compensates another: its trace is kept, whatever the sampling. */
  get isNotable(): boolean {
    return this.#isNotable;
  }

  /** Takes the next event of the workflow; the first is its opening. Returns the spans that end with it. */
  add(event: TracedEvent): readonly TraceSpan[] {
    const { envelope, after } = event;
    if (envelope.type === 'WorkflowOpened') this.#open(envelope);
    const sheet = this.#sheet;
    const steps = this.#steps;
    const waits = this.#waits;
    if (sheet === undefined || steps === undefined || waits === undefined) return [];
    this.#lastMs = envelope.atMs;
    this.#isNotable ||= isNotable(envelope, after);
    if (envelope.type === 'LeaseClaimed') this.#claimed(sheet, envelope);
    steps.add(event);
    waits.add(event);
    this.#reported(sheet, envelope);
    if (event.before?.lease && after.lease === null) this.#leaseEnded(sheet, steps, event);
    this.#recover(sheet, envelope);
    this.#queued(event);
    if (envelope.type === 'CompensationStarted') this.#compensated(sheet, envelope);
    if (isClosed(after)) this.#close(sheet, waits, event);
    return sheet.take();
  }

  /** Spans that have begun and not ended, as far as they are known, with the time of the last event as their end. */
  open(): readonly TraceSpan[] {
    const sheet = this.#sheet;
    if (sheet === undefined) return [];
    const own = [this.#root, this.#lease, this.#recovery, this.#compensation];
    const all = [...own, ...(this.#steps?.open() ?? []), ...(this.#waits?.open() ?? [])];
    return all.flatMap((span) => (span === undefined ? [] : [sheet.asOpen(span, this.#lastMs)]));
  }

  #open({ workflow, tenant, control, atMs }: Envelope<'WorkflowOpened'>): void {
    const { definition, version, trace, session, shadow } = control;
    const sheet = new SpanSheet(workflow);
    const invoke = invokeSpan(definition, trace?.agent === true, session);
    this.#sheet = sheet;
    this.#steps = new StepSpans(sheet, { definition, plans: new Set(trace?.plans) }, this.#options);
    this.#waits = new WaitSpans(sheet);
    this.#root = sheet.begin({
      spanId: workflowSpan(workflow),
      parentSpanId: null,
      name: invoke.name,
      startMs: atMs,
      links: linksOf(control),
      attributes: {
        ...invoke.attributes,
        ...present({ 'tidemark.workflow': workflow, 'tidemark.tenant': tenant, 'tidemark.version': version }),
        ...(shadow && { 'tidemark.shadow': true }),
      },
    });
  }

  #claimed(sheet: SpanSheet, { workflow, epoch, holder, atMs }: Envelope): void {
    if (this.#queuedSinceMs !== undefined) {
      const startMs = this.#queuedSinceMs;
      const queue = sheet.begin({ spanId: queueSpan(workflow, epoch), name: 'queue', startMs });
      sheet.end(queue, atMs, { 'tidemark.epoch': epoch });
    }
    this.#queuedSinceMs = undefined;
    const attributes = { 'tidemark.epoch': epoch, 'tidemark.holder': holder };
    this.#lease = sheet.begin({
      spanId: leaseSpan(workflow, epoch),
      name: `lease ${epoch}`,
      startMs: atMs,
      links: this.#recovery === undefined ? [] : [linkWithin(workflow, this.#recovery.spanId, 'recovers')],
      attributes,
    });
  }

  #leaseEnded(sheet: SpanSheet, steps: StepSpans, event: TracedEvent): void {
    const { envelope } = event;
    const [end, how] = [leaseEnd(envelope), howItEnded(envelope)];
    const openCount = steps.leaseEnded(event, end);
    if (this.#lease === undefined) return;
    sheet.end(this.#lease, envelope.atMs, { 'tidemark.lease.end': how }, end.error);
    this.#lease = undefined;
    if (end.error === undefined) return;
    // What another holder was recovering is lost again.
    this.#recovered(sheet, envelope.atMs, 'interrupted');
    const { workflow, lease } = event.before!;
    this.#recovery = sheet.begin({
      spanId: recoverySpan(workflow, lease!.epoch),
      name: 'recovery',
      startMs: envelope.atMs,
      links: [linkWithin(workflow, leaseSpan(workflow, lease!.epoch), 'lost')],
      attributes: {
        'tidemark.recovery.reason': how,
        'tidemark.recovery.lost_epoch': lease!.epoch,
        'tidemark.recovery.lost_holder': lease!.holder,
        'tidemark.recovery.open_effects': openCount,
      },
    });
  }

  #recover(sheet: SpanSheet, { type, atMs, control }: Envelope): void {
    switch (type) {
      case 'CheckpointCommitted':
        this.#recovered(sheet, atMs, 'replay');
        return;
      case 'CompensationStarted':
        this.#recovered(sheet, atMs, 'compensate', codeOf(control));
        return;
      case 'WorkflowParked':
      case 'WorkflowFailed':
        this.#recovered(sheet, atMs, 'fail', codeOf(control));
    }
  }

  #recovered(sheet: SpanSheet, atMs: number, action: string, code?: string): void {
    if (this.#recovery === undefined) return;
    const attributes = present({ 'tidemark.recovery.action': action, 'tidemark.recovery.code': code });
    sheet.end(this.#recovery, atMs, attributes, action === 'fail' ? (code ?? action) : undefined);
    this.#recovery = undefined;
  }

  /**
   * The workflow is runnable, and no worker holds it. Without a holder tasks are only unblocked, never blocked, so a task is checked once.
   */
  #queued({ envelope, after }: TracedEvent): void {
    if (after.lease !== null) return;
    const isLet = after.status === 'open' && after.paused === undefined && after.unreadable === null;
    if (!isLet) this.#queuedSinceMs = undefined;
    else if (this.#queuedSinceMs === undefined && mayFree(envelope, after) && isRunnable(after)) {
      this.#queuedSinceMs = envelope.atMs;
    }
  }

  #compensated(sheet: SpanSheet, { workflow, control, atMs }: Envelope<'CompensationStarted'>): void {
    const { undo, depth, code } = control;
    this.#compensation = sheet.begin({
      spanId: compensationSpan(workflow),
      name: 'compensation',
      startMs: atMs,
      links: [linkTo(undo, 'undo')],
      attributes: { 'tidemark.undo': undo, 'tidemark.compensation.depth': depth, 'tidemark.compensation.code': code },
    });
  }

  #reported(sheet: SpanSheet, { type, control, atMs, ordinal }: Envelope): void {
    if (ordinal !== 0 || this.#root === undefined || type === 'WorkflowOpened' || type === 'TimerFired') return;
    const { name, resolution, by, tokens, costMicros } = control as Readonly<Record<string, string | number>>;
    const attributes = present({
      'tidemark.signal': type === 'SignalReceived' ? name : undefined,
      'tidemark.resolution': resolution,
      'tidemark.by': by,
      ...(type === 'BudgetRaised' ? { 'tidemark.tokens': tokens, 'tidemark.cost_micros': costMicros } : {}),
    });
    sheet.report(this.#root, { name: type, atMs, attributes });
  }

  #close(sheet: SpanSheet, waits: WaitSpans, { envelope, after }: TracedEvent): void {
    const { atMs } = envelope;
    const { status, reason, head, epoch } = after;
    waits.closed(atMs);
    const isFailed = status !== 'completed';
    this.#recovered(sheet, atMs, isFailed ? 'fail' : 'replay');
    if (this.#compensation !== undefined) {
      sheet.end(this.#compensation, atMs, undefined, status === 'compensated' ? undefined : 'compensation-failed');
    }
    if (this.#root === undefined) return;
    const attributes = {
      'tidemark.status': status,
      'tidemark.checkpoints': head.sequence,
      'tidemark.epochs': epoch,
      ...spendAttributes(after),
    };
    sheet.end(this.#root, atMs, attributes, isFailed ? (reason ?? status) : undefined);
    this.#root = undefined;
    this.#compensation = undefined;
  }
}

/** Readers of single events see it too: such an event makes a trace worth keeping, whatever the sampling. */
export const isNotable = ({ type, control }: Envelope, after: StreamState): boolean =>
  type === 'LeaseRevoked' ||
  (type === 'LeaseReleased' && (control as { readonly reason: string }).reason === 'fault') ||
  after.compensates !== null ||
  (after.status !== 'open' && after.status !== 'completed');

/** The answer to one task unblocks no other task. */
function mayFree({ type, control }: Envelope, after: StreamState): boolean {
  if (after.ruling !== null || (type !== 'ChildClosed' && type !== 'ApprovalGiven')) return true;
  const task = after.frontier.tasks.get((control as Envelope<'ChildClosed' | 'ApprovalGiven'>['control']).task);
  return task !== undefined && isUnblocked(task);
}

const codeOf = (control: Envelope['control']): string | undefined => (control as { readonly code?: string }).code;

/** The end of a lease: released, taken, or over with the workflow. */
function howItEnded({ type, control }: Envelope): string {
  if (type === 'LeaseReleased' || type === 'LeaseRevoked') return (control as { readonly reason: string }).reason;
  return type;
}

function leaseEnd({ type, control, atMs }: Envelope): LeaseEnd {
  const isLost = type === 'LeaseRevoked' || (type === 'LeaseReleased' && howOf(control) === 'fault');
  const { task, code } = control as { readonly task?: LeaseTask; readonly code?: string };
  const isBlamed = (type === 'WorkflowParked' || type === 'CompensationStarted') && task !== undefined && task !== null;
  return {
    atMs,
    error: isLost ? howOf(control) : undefined,
    cause: isBlamed ? { task, code: code ?? type } : undefined,
  };
}

type LeaseTask = NonNullable<LeaseEnd['cause']>['task'];

const howOf = (control: Envelope['control']): string => (control as { readonly reason: string }).reason;

const linkTo = (workflow: WorkflowId, why: string, more: SpanAttributes = {}): SpanLink => ({
  traceId: traceIdOf(workflow),
  spanId: workflowSpan(workflow),
  attributes: { 'tidemark.link': why, ...more },
});

/** A link to another span of the same trace, beside its place in the tree. */
const linkWithin = (workflow: WorkflowId, spanId: SpanId, why: string): SpanLink => ({
  traceId: traceIdOf(workflow),
  spanId,
  attributes: { 'tidemark.link': why },
});

/** Links to the workflow's origin. */
function linksOf({ trace, compensates, fork, parent }: Envelope<'WorkflowOpened'>['control']): readonly SpanLink[] {
  const links: SpanLink[] = [];
  const [, , traceId, spanId] = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-/.exec(trace?.parent ?? '') ?? [];
  if (traceId && spanId) links.push({ traceId, spanId, attributes: { 'tidemark.link': 'caller' } });
  if (compensates !== null) {
    const { workflow } = compensates;
    const attributes = { 'tidemark.link': 'undoes', 'tidemark.workflow': workflow };
    links.push({ traceId: traceIdOf(workflow), spanId: compensationSpan(workflow), attributes });
  }
  if (parent !== undefined) {
    const { workflow, task } = parent;
    const attributes = { 'tidemark.link': 'parent', 'tidemark.workflow': workflow, 'tidemark.task': task };
    links.push({ traceId: traceIdOf(workflow), spanId: childSpan(workflow, task), attributes });
  }
  if (fork !== undefined) links.push(linkTo(fork.workflow, 'forked from', { 'tidemark.sequence': fork.sequence }));
  return links;
}
