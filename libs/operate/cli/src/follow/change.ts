/** Owns what can be reported of a workflow as it happens, from its accepted events: each is an object, which programs get as it is. Pure. */

import type { Event } from '@tidemark/client';
import type { Json } from '@tidemark/core';
import { wordsIn } from '../views/history.ts';

interface About {
  readonly at: string;
  readonly workflow: string;
  readonly definition: string;
}

export type Change = About &
  (
    | { readonly type: 'started'; readonly definition_version: number }
    /** A worker resumes it from this checkpoint, after another process had it. */
    | { readonly type: 'resumed'; readonly sequence_number: number }
    | {
        readonly type: 'checkpoint';
        readonly sequence_number: number;
        readonly checkpoint_id: string | null;
        readonly task: string | null;
        readonly step: string | null;
        readonly last_action: string;
        readonly tokens: number;
        readonly cost_micros: number;
        /** Since the previous checkpoint, or the opening; null where that was not seen. */
        readonly took_ms: number | null;
      }
    /** More checkpoints landed at once than anybody could read. */
    | { readonly type: 'checkpoints'; readonly from: number; readonly to: number; readonly last_action: string }
    | {
        readonly type: 'step_failed';
        readonly task: string;
        readonly attempt: number;
        readonly code: string;
        readonly message: string;
        /** Delay before the next attempt; null when there is none. */
        readonly retry_ms: number | null;
      }
    | { readonly type: 'signal'; readonly name: string }
    | { readonly type: 'lease_lost'; readonly holder: string; readonly reason: string }
    /** No task can run: what the first ones wait for. */
    | { readonly type: 'waiting'; readonly tasks: readonly string[] }
    | { readonly type: 'parked'; readonly reason: string; readonly message: string }
    | { readonly type: 'decided'; readonly by: string; readonly resolution: string; readonly why: string }
    /** It is to end, to pause, or to resume. */
    | { readonly type: 'cancelling' | 'paused' | 'resumed_by'; readonly by: string; readonly why: string }
    | { readonly type: 'confirmed'; readonly token: string; readonly outcome: string }
    /** Another workflow compensates what it did, and it stands still meanwhile. */
    | { readonly type: 'compensating'; readonly reason: string; readonly undo: string; readonly message: string }
    /** Its undo, or the undo of that, waits for a person. */
    | { readonly type: 'undo_parked'; readonly undo: string; readonly reason: string }
    | {
        readonly type: 'compensated';
        readonly undo: string;
        /** What the undo compensated and left; null where that isn't known. */
        readonly undone_count: number | null;
        readonly left_count: number | null;
        readonly took_ms: number;
      }
    /** `continued_as`: it continues as another workflow, and there is no output. */
    | {
        readonly type: 'completed';
        readonly output: Json;
        readonly took_ms: number;
        readonly continued_as?: string;
      }
    | { readonly type: 'failed'; readonly reason: string; readonly message: string; readonly took_ms: number }
  );

/** More workflows moved at once than anybody could read. */
export interface Crowd {
  readonly type: 'crowd';
  readonly at: string;
  readonly workflow_count: number;
  readonly checkpoint_count: number;
  readonly completed_count: number;
}

/** The workflow of an event, and the times from which durations are computed. */
export interface Of {
  readonly workflow: string;
  readonly definition: string;
  readonly definition_version: number;
  readonly opened_at: string;
  /** Of the previous checkpoint, or the opening; undefined where that was not seen. */
  readonly before: string | undefined;
}

/** Undefined for events that say nothing to people. */
export function changeOf(of: Of, event: Event): Change | undefined {
  const { workflow, definition, definition_version } = of;
  const as = <T extends Change['type']>(type: T) => ({ type, at: event.at, workflow, definition });
  const took_ms = msBetween(of.opened_at, event.at);
  const control = event.control as Readonly<Record<string, never>>;
  const message = wordsIn(event);
  switch (event.type) {
    case 'WorkflowOpened':
      return { ...as('started'), definition_version };
    case 'CheckpointCommitted': {
      const { sequence, checkpoint, task, step, lastAction, tokens, costMicros } =
        control as unknown as CommittedControl;
      const place = { sequence_number: sequence, checkpoint_id: checkpoint, task, step, last_action: lastAction };
      const took = of.before === undefined ? null : msBetween(of.before, event.at);
      return { ...as('checkpoint'), ...place, tokens, cost_micros: costMicros, took_ms: took };
    }
    case 'StepFailed': {
      const { task, attempt, code, retry } = control as unknown as FailedControl;
      return { ...as('step_failed'), task, attempt, code, message, retry_ms: retry?.delayMs ?? null };
    }
    case 'SignalReceived':
      return { ...as('signal'), name: String(control.name) };
    case 'LeaseRevoked':
      return { ...as('lease_lost'), holder: String(control.holder), reason: String(control.reason) };
    case 'WorkflowParked':
      return { ...as('parked'), reason: String(control.code), message };
    case 'ApprovalDecided':
      return {
        ...as('decided'),
        by: String(control.by),
        resolution: String(control.resolution),
        why: message,
      };
    case 'RetryDecided': {
      const why = `the build ${control.build} announced itself`;
      return { ...as('decided'), by: 'new-build', resolution: 'retry', why };
    }
    case 'CancelRequested':
    case 'PauseRequested':
    case 'ResumeRequested':
      return { ...as(ASKED[event.type]), by: String(control.by), why: message };
    case 'ApprovalGiven': {
      const resolution = `${control.approved === true ? 'approved' : 'rejected'} ${control.name}`;
      return { ...as('decided'), by: String(control.by), resolution, why: message };
    }
    case 'EffectConfirmed':
      return { ...as('confirmed'), token: String(control.token ?? ''), outcome: String(control.outcome) };
    case 'CompensationStarted':
      return { ...as('compensating'), reason: String(control.code), undo: String(control.undo), message };
    case 'CompensationFinished':
      return control.outcome === 'compensated'
        ? { ...as('compensated'), undo: String(control.undo), undone_count: null, left_count: null, took_ms }
        : { ...as('failed'), reason: 'compensation-failed', message, took_ms };
    case 'WorkflowCompleted': {
      const continuedAs = control.continued === undefined ? {} : { continued_as: String(control.continued) };
      return { ...as('completed'), output: outputIn(event), took_ms, ...continuedAs };
    }
    case 'WorkflowFailed':
    case 'WorkflowTerminated':
      return { ...as('failed'), reason: String(control.code), message, took_ms };
    default:
      return undefined;
  }
}

const ASKED = { CancelRequested: 'cancelling', PauseRequested: 'paused', ResumeRequested: 'resumed_by' } as const;

interface CommittedControl {
  readonly sequence: number;
  readonly checkpoint: string;
  readonly task: string;
  readonly step: string;
  readonly lastAction: string;
  readonly tokens: number;
  readonly costMicros: number;
}

interface FailedControl {
  readonly task: string;
  readonly attempt: number;
  readonly code: string;
  readonly retry: { readonly delayMs: number } | null;
}

const outputIn = ({ payload }: Event): Json => (payload as { readonly output?: Json } | undefined)?.output ?? null;

const msBetween = (from: string, to: string): number => Math.max(0, Date.parse(to) - Date.parse(from));

export type End = Extract<Change, { type: 'completed' | 'failed' | 'compensated' | 'parked' | 'undo_parked' }>;

const ENDS: readonly Change['type'][] = [
  'completed',
  'failed',
  'compensated',
  'parked',
  'undo_parked',
] satisfies End['type'][];

/** A change that ends a run, or leaves it to a person. */
export const isEnd = (change: Change | Crowd): change is End => ENDS.includes(change.type as Change['type']);
