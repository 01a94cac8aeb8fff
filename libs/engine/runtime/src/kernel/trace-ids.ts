/**
 * Owns the identity of traces. The ids of a workflow's trace and spans derive from the workflow's id and from what each span stands for,
 * never from chance, so everything that draws a span draws the same one: a worker that passes its context on, a coordinator that exports
 * it, an export years later. Pure and final: a changed rule would break links to traces exported before.
 */

import { hash } from 'node:crypto';
import type { EffectKey, Epoch, TaskId, WorkflowId } from '@tidemark/core';

/** 32 lower-case hex digits, not all zero. */
export type TraceId = string;
/** 16 lower-case hex digits, not all zero. */
export type SpanId = string;

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;
const ZEROS = '0'.repeat(TRACE_DIGITS);
/** A separator that no id can contain. */
const BETWEEN = '\0';

/** An id of zeros alone would be invalid (W3C trace context, 3.2.2.3). */
const digits = (count: number, of: string): string => {
  const id = hash('sha256', of).slice(0, count);
  return ZEROS.startsWith(id) ? id.replace(/.$/, '1') : id;
};

/** A workflow, its undo, its forks and its children have a trace each, with links between them. */
export const traceIdOf = (workflow: WorkflowId): TraceId =>
  digits(TRACE_DIGITS, `tidemark trace 1${BETWEEN}${workflow}`);

const spanIdOf = (workflow: WorkflowId, kind: string, ...parts: readonly (string | number)[]): SpanId => {
  let of = `tidemark span 1${BETWEEN}${workflow}${BETWEEN}${kind}`;
  for (let at = 0; at < parts.length; at++) of += BETWEEN + parts[at];
  return digits(SPAN_DIGITS, of);
};

/** The whole workflow: the only span of its trace without a parent. */
export const workflowSpan = (workflow: WorkflowId): SpanId => spanIdOf(workflow, 'workflow');
/** The time for which one holder has the workflow. */
export const leaseSpan = (workflow: WorkflowId, epoch: Epoch): SpanId => spanIdOf(workflow, 'lease', epoch);
/** From when the workflow became runnable to the claim of this epoch. */
export const queueSpan = (workflow: WorkflowId, epoch: Epoch): SpanId => spanIdOf(workflow, 'queue', epoch);
/** The recovery of what the holder of this epoch left unfinished. */
export const recoverySpan = (workflow: WorkflowId, epoch: Epoch): SpanId => spanIdOf(workflow, 'recovery', epoch);
/** One attempt at a task under one lease; the last attempt is the checkpoint's span. */
export const stepSpan = (workflow: WorkflowId, task: TaskId, epoch: Epoch, attempt: number): SpanId =>
  spanIdOf(workflow, 'step', task, epoch, attempt);
/** The call of the `count`th intention of the key under one lease; 0: its outcome was recorded without an intention. */
export const effectSpan = (workflow: WorkflowId, key: EffectKey, epoch: Epoch, count: number): SpanId =>
  spanIdOf(workflow, 'effect', key, epoch, count);
/** A wait, named by what waits and by the position at which the wait began. */
export const waitSpan = (workflow: WorkflowId, what: string, position: number): SpanId =>
  spanIdOf(workflow, 'wait', what, position);
/**
 * The time for which a task waits for its child. The child knows the task but not when the wait began, so the position is no part of the
 * id.
 */
export const childSpan = (workflow: WorkflowId, task: TaskId): SpanId => spanIdOf(workflow, 'child', task);
export const compensationSpan = (workflow: WorkflowId): SpanId => spanIdOf(workflow, 'compensation');

const CERTAINTY_DIGITS = 8;

/** Whether the trace is among the share that is always kept. Every process decides alike. */
export const isInShare = (trace: TraceId, ratio: number): boolean =>
  Number.parseInt(trace.slice(-CERTAINTY_DIGITS), 16) / 16 ** CERTAINTY_DIGITS < ratio;

/**
 * W3C `traceparent`. The flag says whether the trace is in the share that is always kept; another trace may still be kept when the workflow
 * fails or is recovered.
 */
export const traceParentOf = (workflow: WorkflowId, span: SpanId, ratio = 1): string => {
  const trace = traceIdOf(workflow);
  return `00-${trace}-${span}-${isInShare(trace, ratio) ? '01' : '00'}`;
};
