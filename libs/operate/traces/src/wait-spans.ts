/**
 * Owns the spans of waits: of tasks for signals, timers, approvals and children; of failed tasks for another attempt; of effects for their
 * confirmation; of the workflow for a person.
 *
 * W1 The cost of an event grows with the number of waits that it ends, never with that of all waits, which may be of thousands of children.
 */

import { type Condition, type Envelope, type TaskId, taskId, type WorkflowId } from '@tidemark/core';
import { childSpan, traceIdOf, waitSpan, workflowSpan } from '@tidemark/runtime';
import { present } from './gen-ai.ts';
import type { SpanAttributes, SpanLink } from './span.ts';
import type { OpenSpan, SpanSheet } from './span-sheet.ts';
import type { TracedEvent } from './traced-event.ts';

/** What ends the wait for the condition. None for approvals and children: their answers name the task. */
const conditionKeys = (condition: Condition): readonly string[] =>
  condition.kind === 'timer'
    ? [`timer ${condition.timer}`]
    : condition.kind === 'signal'
      ? [`signal ${condition.name}`]
      : [];
const nameOf = (condition: Condition): string =>
  'name' in condition ? condition.name : condition.kind === 'child' ? condition.child : condition.kind;
/** The condition in a span's name. Many spans share a name, so it has no id of a child. */
const wordsOf = (condition: Condition): string =>
  'name' in condition ? `${condition.kind} ${condition.name}` : condition.kind;

export class WaitSpans {
  readonly #sheet: SpanSheet;
  readonly #tasks = new Map<TaskId, { readonly span: OpenSpan; readonly keys: readonly string[] }>();
  /** Waiting tasks by what they wait for. */
  readonly #byCondition = new Map<string, Set<TaskId>>();
  /** Waiting tasks by the timer that ends the wait. */
  readonly #retries = new Map<string, OpenSpan>();
  /** Confirmations by token, with the effect's key. */
  readonly #confirmations = new Map<string, { readonly key: string; readonly span: OpenSpan }>();
  /** Their tokens, by the effect's key. */
  readonly #tokens = new Map<string, string>();
  #person: OpenSpan | undefined;
  #pause: OpenSpan | undefined;

  constructor(sheet: SpanSheet) {
    this.#sheet = sheet;
  }

  add(event: TracedEvent): void {
    const { envelope, before, after } = event;
    switch (envelope.type) {
      case 'WorkflowOpened':
      case 'CheckpointCommitted':
        this.#declared(event);
        break;
      case 'SignalReceived':
        this.#fulfilled(event, `signal ${envelope.control.name}`);
        break;
      case 'TimerFired':
        this.#fulfilled(event, `timer ${envelope.control.timer}`);
        this.#retried(envelope);
        break;
      case 'StepFailed':
        this.#failed(event, envelope);
        break;
      case 'EffectPending':
        this.#pending(event, envelope);
        break;
      case 'EffectConfirmed':
        this.#confirmed(envelope.control.token, envelope.atMs, envelope.control.outcome);
        break;
      case 'EffectResolved':
        this.#reported(envelope.control.key, envelope.atMs, envelope.control.outcome);
        break;
      case 'WorkflowParked':
        this.#parked(event, envelope);
        break;
      case 'ApprovalGiven':
        this.#poll(event, envelope.control.task, {
          'tidemark.approved': envelope.control.approved,
          'tidemark.by': envelope.control.by,
        });
        break;
      case 'ChildClosed':
        this.#poll(event, envelope.control.task, { 'tidemark.child.outcome': envelope.control.outcome });
        break;
      case 'PauseRequested':
        this.#pause ??= this.#begin('wait resume', 'resume', after.position, envelope.atMs, {});
        break;
      case 'ResumeRequested':
        this.#resumed(envelope.atMs);
        break;
      default:
    }
    if (before?.status === 'parked' && after.status !== 'parked')
      this.#answered(envelope, before.question?.key ?? null);
  }

  /** Ends all waits. */
  closed(atMs: number): void {
    for (const span of this.open()) this.#sheet.end(span, atMs, { 'tidemark.wait.outcome': 'closed' });
    this.#tasks.clear();
    this.#byCondition.clear();
    this.#retries.clear();
    this.#confirmations.clear();
    this.#tokens.clear();
    this.#person = undefined;
    this.#pause = undefined;
  }

  open(): readonly OpenSpan[] {
    const waits = [...this.#tasks.values(), ...this.#confirmations.values()].map(({ span }) => span);
    return [...waits, ...this.#retries.values(), ...[this.#person, this.#pause].filter((span) => span !== undefined)];
  }

  #declared({ envelope, after }: TracedEvent): void {
    const { control, atMs } = envelope as Envelope<'WorkflowOpened' | 'CheckpointCommitted'>;
    const { tasks } = control;
    const sequence = 'sequence' in control ? control.sequence : 0;
    for (let index = 0; index < tasks.length; index++) {
      const { when, step } = tasks[index]!;
      if (when.length === 0) continue;
      const task = taskId(sequence, index);
      // An earlier signal has fulfilled it at once.
      if ((after.frontier.tasks.get(task)?.when.length ?? 0) === 0) continue;
      const keys = when.flatMap(conditionKeys);
      const child = when.find((one) => one.kind === 'child')?.child;
      const assignee = when.find((one) => one.kind === 'approval')?.assignee;
      const attributes = present({
        'tidemark.task': task,
        'tidemark.step': step,
        'tidemark.wait.for': when.map(({ kind }) => kind),
        'tidemark.wait.names': when.map(nameOf),
        'tidemark.child': child,
        'tidemark.assignee': assignee,
      });
      const name = `wait ${[...new Set(when.map(wordsOf))].join(' or ')}`;
      const span =
        child === undefined
          ? this.#begin(name, `task ${task}`, after.position, atMs, attributes)
          : this.#sheet.begin({
              ...{ spanId: childSpan(this.#sheet.workflow, task), name, startMs: atMs, attributes },
              links: [linkToChild(child)],
            });
      this.#tasks.set(task, { span, keys });
      for (const key of keys) this.#waiting(key).add(task);
    }
  }

  #waiting(key: string): Set<TaskId> {
    const known = this.#byCondition.get(key);
    if (known !== undefined) return known;
    const made = new Set<TaskId>();
    this.#byCondition.set(key, made);
    return made;
  }

  /** One signal or timer ends one task's wait: the first that waits for it, as in the fold. */
  #fulfilled(event: TracedEvent, key: string): void {
    for (const task of this.#byCondition.get(key) ?? []) if (this.#poll(event, task)) return;
  }

  /** Whether the task's wait has ended. */
  #poll({ envelope, after }: TracedEvent, task: TaskId, reported: SpanAttributes = {}): boolean {
    const waiting = this.#tasks.get(task);
    const now = after.frontier.tasks.get(task);
    if (waiting === undefined || (now !== undefined && now.when.length > 0)) return false;
    this.#tasks.delete(task);
    for (const key of waiting.keys) {
      const tasks = this.#byCondition.get(key);
      tasks?.delete(task);
      if (tasks?.size === 0) this.#byCondition.delete(key);
    }
    const cause = now?.cause;
    const attributes = present({
      'tidemark.wait.outcome': cause === undefined || cause === null ? 'gone' : 'fulfilled',
      'tidemark.cause.kind': cause?.kind,
      'tidemark.cause.name': cause?.name,
      ...reported,
    });
    this.#sheet.end(waiting.span, envelope.atMs, attributes);
    return true;
  }

  #failed({ after }: TracedEvent, { control, atMs }: Envelope<'StepFailed'>): void {
    const { task, retry, attempt, code } = control;
    if (retry === null) return;
    const attributes = { 'tidemark.task': task, 'tidemark.attempt': attempt, 'tidemark.failure': code };
    this.#retries.set(retry.timer, this.#begin('wait retry', `retry ${task}`, after.position, atMs, attributes));
  }

  #retried({ control, atMs }: Envelope<'TimerFired'>): void {
    const span = this.#retries.get(control.timer);
    if (span === undefined) return;
    this.#retries.delete(control.timer);
    this.#sheet.end(span, atMs, { 'tidemark.wait.outcome': 'fulfilled' });
  }

  #resumed(atMs: number): void {
    if (this.#pause === undefined) return;
    this.#sheet.end(this.#pause, atMs, { 'tidemark.wait.outcome': 'fulfilled' });
    this.#pause = undefined;
  }

  #pending({ after }: TracedEvent, { control, atMs }: Envelope<'EffectPending'>): void {
    const { key, token, task } = control;
    // The wait continues.
    if (this.#confirmations.has(token)) return;
    const reserved = after.frontier.tasks.get(task)?.reserved;
    const attributes = present({
      'tidemark.task': task,
      'tidemark.effect.key': key,
      'tidemark.checkpoint.id': reserved ?? undefined,
      'tidemark.checkpoint.status': reserved == null ? undefined : 'reserved',
    });
    const span = this.#begin('wait confirmation', `confirmation ${key}`, after.position, atMs, attributes);
    this.#confirmations.set(token, { key, span });
    this.#tokens.set(key, token);
  }

  #confirmed(token: string, atMs: number, outcome: string): void {
    const waiting = this.#confirmations.get(token);
    if (waiting === undefined) return;
    this.#confirmations.delete(token);
    this.#tokens.delete(waiting.key);
    this.#sheet.end(waiting.span, atMs, { 'tidemark.wait.outcome': outcome });
  }

  #reported(key: string, atMs: number, outcome: string): void {
    const token = this.#tokens.get(key);
    if (token !== undefined) this.#confirmed(token, atMs, outcome);
  }

  #parked({ after }: TracedEvent, { control, atMs }: Envelope<'WorkflowParked'>): void {
    const attributes = present({
      'tidemark.question': control.code,
      'tidemark.task': control.task ?? undefined,
      'tidemark.effect.key': control.key ?? undefined,
    });
    this.#person = this.#begin('wait person', 'person', after.position, atMs, attributes);
  }

  /** `key`: the effect of the question. */
  #answered(envelope: Envelope, key: string | null): void {
    if (this.#person === undefined) return;
    const answer = envelope.type === 'ApprovalDecided' ? envelope.control.resolution : envelope.type;
    this.#sheet.end(this.#person, envelope.atMs, { 'tidemark.wait.outcome': answer });
    this.#person = undefined;
    if (envelope.type !== 'ApprovalDecided') return;
    // A person answered in place of the receiver.
    const { resolution } = envelope.control;
    if (key !== null && (resolution === 'done' || resolution === 'not-done'))
      this.#reported(key, envelope.atMs, resolution);
  }

  #begin(name: string, what: string, position: number, startMs: number, attributes: SpanAttributes): OpenSpan {
    const spanId = waitSpan(this.#sheet.workflow, what, position);
    return this.#sheet.begin({ spanId, name, startMs, attributes });
  }
}

/** Links the wait to the child, which links back: both ids derive from the task's, so either may be drawn first. The child may never begin. */
const linkToChild = (child: WorkflowId): SpanLink => ({
  traceId: traceIdOf(child),
  spanId: workflowSpan(child),
  attributes: { 'tidemark.link': 'child', 'tidemark.workflow': child },
});
