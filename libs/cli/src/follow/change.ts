/** Owns what can be told of a workflow as it happens: from rows to changes. Pure. */

import { decodePayload } from '@tidemark/codec';
import type { Json } from '@tidemark/core';
import type { CheckpointRow, EventRow, WorkflowSummary } from '@tidemark/ports';
import type { UndoCounts } from '../views/undo.ts';

interface About {
  readonly workflow: string;
  readonly definition: string;
  readonly atMs: number;
}

export type Change = About &
  (
    | { readonly type: 'started'; readonly version: number }
    /** A worker goes on with it from this checkpoint, after another process had it. */
    | { readonly type: 'resumed'; readonly sequence: number }
    | {
        readonly type: 'checkpoint';
        readonly sequence: number;
        readonly checkpoint: string | null;
        readonly task: string | null;
        readonly step: string | null;
        readonly lastAction: string;
        readonly tokens: number;
        readonly costMicros: number;
        /** Since the checkpoint before, or the opening; null where that was not seen. */
        readonly tookMs: number | null;
      }
    /** More checkpoints landed at once than anybody could read. */
    | { readonly type: 'checkpoints'; readonly from: number; readonly to: number; readonly lastAction: string }
    | {
        readonly type: 'step_failed';
        readonly task: string;
        readonly attempt: number;
        readonly code: string;
        readonly message: string;
        /** Delay before the next attempt; null when there is none. */
        readonly retryMs: number | null;
      }
    | { readonly type: 'signal'; readonly name: string }
    | { readonly type: 'lease_lost'; readonly holder: string; readonly reason: string }
    /** No task can run: what the first ones wait for. */
    | { readonly type: 'waiting'; readonly tasks: readonly string[] }
    | { readonly type: 'parked'; readonly reason: string; readonly message: string }
    | { readonly type: 'decided'; readonly by: string; readonly resolution: string; readonly why: string }
    /** It is to end, to stand still, or to go on. */
    | { readonly type: 'cancelling' | 'paused' | 'resumed_by'; readonly by: string; readonly why: string }
    | { readonly type: 'confirmed'; readonly token: string; readonly outcome: string }
    /** What it did is undone by another workflow, and it stands still meanwhile. */
    | { readonly type: 'compensating'; readonly reason: string; readonly undo: string; readonly message: string }
    /** Its undo, or the undo of that, waits for a person. */
    | { readonly type: 'undo_parked'; readonly undo: string; readonly reason: string }
    | {
        readonly type: 'compensated';
        readonly undo: string;
        /** What the undo did and left; null where its rows don't tell. */
        readonly counts: UndoCounts | null;
        readonly tookMs: number;
      }
    /** `as`: another workflow goes on for it, and there is no output. */
    | { readonly type: 'completed'; readonly output: Json; readonly tookMs: number; readonly as?: string }
    | { readonly type: 'failed'; readonly reason: string; readonly message: string; readonly tookMs: number }
  );

/** More workflows moved at once than anybody could read. */
export interface Crowd {
  readonly type: 'crowd';
  readonly atMs: number;
  readonly workflowCount: number;
  readonly checkpointCount: number;
  readonly completedCount: number;
}

export function checkpointChange(
  row: WorkflowSummary,
  checkpoint: CheckpointRow,
  beforeMs: number | undefined,
): Change {
  const { workflow, definition } = row;
  const { sequence, atMs, task, step, lastAction, tokens, costMicros } = checkpoint;
  const tookMs = beforeMs === undefined ? null : Math.max(0, atMs - beforeMs);
  return {
    type: 'checkpoint',
    workflow,
    definition,
    atMs,
    sequence,
    checkpoint: checkpoint.checkpoint,
    task,
    step,
    lastAction,
    tokens,
    costMicros,
    tookMs,
  };
}

/** Undefined for events that say nothing to people. */
export function eventChange(row: WorkflowSummary, event: EventRow): Change | undefined {
  const { workflow, definition, openedAtMs } = row;
  const about = { workflow, definition, atMs: event.atMs };
  const tookMs = Math.max(0, event.atMs - openedAtMs);
  const control = JSON.parse(event.control) as Record<string, never>;
  switch (event.type) {
    case 'StepFailed': {
      const { task, attempt, code, retry } = control as unknown as FailedControl;
      const { message } = decodePayload(event.type, event.payload).error;
      return { ...about, type: 'step_failed', task, attempt, code, message, retryMs: retry?.delayMs ?? null };
    }
    case 'SignalReceived':
      return { ...about, type: 'signal', name: String(control.name) };
    case 'LeaseRevoked':
      return { ...about, type: 'lease_lost', holder: String(control.holder), reason: String(control.reason) };
    case 'WorkflowParked': {
      const { message } = decodePayload(event.type, event.payload).error;
      return { ...about, type: 'parked', reason: String(control.code), message };
    }
    case 'ApprovalDecided': {
      const { why } = decodePayload(event.type, event.payload);
      return { ...about, type: 'decided', by: String(control.by), resolution: String(control.resolution), why };
    }
    case 'CancelRequested':
    case 'PauseRequested':
    case 'ResumeRequested': {
      const { why } = decodePayload(event.type, event.payload);
      return { ...about, type: ASKED[event.type], by: String(control.by), why };
    }
    case 'ApprovalGiven': {
      const why = (decodePayload(event.type, event.payload).value as { readonly why?: string | null }).why ?? '';
      const resolution = control.approved === true ? 'approved' : 'rejected';
      return { ...about, type: 'decided', by: String(control.by), resolution: `${resolution} ${control.name}`, why };
    }
    case 'WorkflowTerminated': {
      const { message } = decodePayload(event.type, event.payload).error;
      return { ...about, type: 'failed', reason: String(control.code), message, tookMs };
    }
    case 'EffectConfirmed':
      return { ...about, type: 'confirmed', token: String(control.token), outcome: String(control.outcome) };
    case 'CompensationStarted': {
      const { message } = decodePayload(event.type, event.payload).error;
      const { code, undo } = control;
      return { ...about, type: 'compensating', reason: String(code), undo: String(undo), message };
    }
    case 'CompensationFinished': {
      const { error } = decodePayload(event.type, event.payload);
      if (control.outcome === 'compensated')
        return { ...about, type: 'compensated', undo: String(control.undo), counts: null, tookMs };
      return { ...about, type: 'failed', reason: 'compensation-failed', message: error?.message ?? '', tookMs };
    }
    case 'WorkflowCompleted': {
      const { output } = decodePayload(event.type, event.payload);
      const goesOn = control.continued === undefined ? {} : { as: String(control.continued) };
      return { ...about, type: 'completed', output, tookMs, ...goesOn };
    }
    case 'WorkflowFailed': {
      const { message } = decodePayload(event.type, event.payload).error;
      return { ...about, type: 'failed', reason: String(control.code), message, tookMs };
    }
    default:
      return undefined;
  }
}

const ASKED = { CancelRequested: 'cancelling', PauseRequested: 'paused', ResumeRequested: 'resumed_by' } as const;

interface FailedControl {
  readonly task: string;
  readonly attempt: number;
  readonly code: string;
  readonly retry: { readonly delayMs: number } | null;
}

export type End = Extract<Change, { type: 'completed' | 'failed' | 'compensated' | 'parked' | 'undo_parked' }>;

const ENDS: readonly Change['type'][] = [
  'completed',
  'failed',
  'compensated',
  'parked',
  'undo_parked',
] satisfies End['type'][];

/** A change that ends a run, or leaves it to a person. */
export const isEnd = (change: Change): change is End => ENDS.includes(change.type);
