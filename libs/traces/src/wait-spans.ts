/**
 * Owns the spans of waits: of tasks for signals, timers and what else their conditions name; of failed tasks for another attempt; of
 * effects for their confirmation; of the workflow for a person.
 */

import { type Condition, type Envelope, type TaskId, taskId } from '@tidemark/core';
import { waitSpan } from '@tidemark/runtime';
import { present } from './gen-ai.ts';
import type { SpanAttributes } from './span.ts';
import type { OpenSpan, SpanSheet } from './span-sheet.ts';
import type { TracedEvent } from './traced-event.ts';

const conditionKey = (condition: Condition): string =>
  condition.kind === 'timer' ? `timer ${condition.timer}` : `${condition.kind} ${nameOf(condition)}`;
const nameOf = (condition: Condition): string => ('name' in condition ? String(condition.name) : condition.kind);

export class WaitSpans {
  readonly #sheet: SpanSheet;
  readonly #tasks = new Map<TaskId, { readonly span: OpenSpan; readonly keys: readonly string[] }>();
  /** Waiting tasks by what they wait for. */
  readonly #byCondition = new Map<string, Set<TaskId>>();
  /** By the timer that ends them. */
  readonly #retries = new Map<string, OpenSpan>();
  /** By token, with the effect's key. */
  readonly #confirmations = new Map<string, { readonly key: string; readonly span: OpenSpan }>();
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
        this.#told(envelope.control.key, envelope.atMs, envelope.control.outcome);
        break;
      case 'WorkflowParked':
        this.#parked(event, envelope);
        break;
      case 'ApprovalGiven':
        this.#look(event, envelope.control.task);
        break;
      case 'PauseRequested':
        this.#pause ??= this.#begin('wait resume', 'resume', after.position, envelope.atMs, {});
        break;
      case 'ResumeRequested':
        this.#resumed(envelope.atMs);
        break;
      default:
        // What else may fulfil a condition names no task: each that waits is looked at.
        if (envelope.ordinal === 0) for (const task of [...this.#tasks.keys()]) this.#look(event, task);
    }
    if (before?.status === 'parked' && after.status !== 'parked') this.#answered(envelope);
  }

  /** Nothing waits any more. */
  closed(atMs: number): void {
    for (const span of this.open()) this.#sheet.end(span, atMs, { 'tidemark.wait.outcome': 'closed' });
    this.#tasks.clear();
    this.#byCondition.clear();
    this.#retries.clear();
    this.#confirmations.clear();
    this.#person = undefined;
    this.#pause = undefined;
  }

  open(): readonly OpenSpan[] {
    const waits = [...this.#tasks.values(), ...this.#confirmations.values()].map(({ span }) => span);
    return [...waits, ...this.#retries.values(), ...[this.#person, this.#pause].filter((span) => span !== undefined)];
  }

  #declared({ envelope, after }: TracedEvent): void {
    const { control, atMs } = envelope as Envelope<'WorkflowOpened' | 'CheckpointCommitted'>;
    const sequence = 'sequence' in control ? control.sequence : 0;
    for (const [index, { when, step }] of control.tasks.entries()) {
      if (when.length === 0) continue;
      const task = taskId(sequence, index);
      // A signal that came earlier has fulfilled it at once.
      if ((after.frontier.tasks.get(task)?.when.length ?? 0) === 0) continue;
      const keys = when.map(conditionKey);
      const attributes = present({
        'tidemark.task': task,
        'tidemark.step': step,
        'tidemark.wait.for': when.map(({ kind }) => kind),
        'tidemark.wait.names': when.map(nameOf),
      });
      const what = [...new Set(when.map((one) => (one.kind === 'timer' ? 'timer' : `${one.kind} ${nameOf(one)}`)))];
      const span = this.#begin(`wait ${what.join(' or ')}`, `task ${task}`, after.position, atMs, attributes);
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

  #fulfilled(event: TracedEvent, key: string): void {
    for (const task of [...(this.#byCondition.get(key) ?? [])]) this.#look(event, task);
  }

  #look({ envelope, after }: TracedEvent, task: TaskId): void {
    const waiting = this.#tasks.get(task);
    const now = after.frontier.tasks.get(task);
    if (waiting === undefined || (now !== undefined && now.when.length > 0)) return;
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
    });
    this.#sheet.end(waiting.span, envelope.atMs, attributes);
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
    // It only goes on waiting.
    if (this.#confirmations.has(token)) return;
    const attributes = { 'tidemark.task': task, 'tidemark.effect.key': key };
    const span = this.#begin('wait confirmation', `confirmation ${key}`, after.position, atMs, attributes);
    this.#confirmations.set(token, { key, span });
  }

  #confirmed(token: string, atMs: number, outcome: string): void {
    const waiting = this.#confirmations.get(token);
    if (waiting === undefined) return;
    this.#confirmations.delete(token);
    this.#sheet.end(waiting.span, atMs, { 'tidemark.wait.outcome': outcome });
  }

  #told(key: string, atMs: number, outcome: string): void {
    for (const [token, waiting] of this.#confirmations) {
      if (waiting.key === key) this.#confirmed(token, atMs, outcome);
    }
  }

  #parked({ after }: TracedEvent, { control, atMs }: Envelope<'WorkflowParked'>): void {
    const attributes = present({
      'tidemark.question': control.code,
      'tidemark.task': control.task ?? undefined,
      'tidemark.effect.key': control.key ?? undefined,
    });
    this.#person = this.#begin('wait person', 'person', after.position, atMs, attributes);
  }

  #answered(envelope: Envelope): void {
    if (this.#person === undefined) return;
    const answer = envelope.type === 'ApprovalDecided' ? envelope.control.resolution : envelope.type;
    this.#sheet.end(this.#person, envelope.atMs, { 'tidemark.wait.outcome': answer });
    this.#person = undefined;
    if (envelope.type !== 'ApprovalDecided') return;
    // Answered by a person in place of its receiver.
    const { resolution } = envelope.control;
    if (resolution !== 'done' && resolution !== 'not-done') return;
    for (const token of [...this.#confirmations.keys()]) this.#confirmed(token, envelope.atMs, resolution);
  }

  #begin(name: string, what: string, position: number, startMs: number, attributes: SpanAttributes): OpenSpan {
    const spanId = waitSpan(this.#sheet.workflow, what, position);
    return this.#sheet.begin({ spanId, name, startMs, attributes });
  }
}
