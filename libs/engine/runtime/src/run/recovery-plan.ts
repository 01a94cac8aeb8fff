/**
 * Owns the prediction of what the next holder would do with a workflow, from the folded state, the effects' rows and the definition alone.
 * Pure: it probes nothing and changes nothing. For each answer that the outside could give about an effect, the recovery table
 * (core/recovery.ts) says what follows.
 */

import {
  crashVerdict,
  type EffectKey,
  type EffectKind,
  type EffectState,
  firstUnblocked,
  type HolderId,
  isClosed,
  isReplay,
  type Lease,
  type Offset,
  type ProbeAnswer,
  type Question,
  type RecoveryAction,
  type RecoveryPolicy,
  type Resolution,
  recoveryAction,
  recoveryPolicy,
  runsAlone,
  type Sequence,
  type StreamState,
  type TaskId,
  undoId,
  type WorkflowId,
} from '@tidemark/core';
import type { EffectRow } from '@tidemark/ports';
import type { Definition } from '../definition/index.ts';
import { CALL_WINDOW_MS, mayCompensate, mayStillCall } from '../effects/index.ts';
import { fittingResolutions } from '../lease/index.ts';
import { budgetDraft, unprobed } from './takeover.ts';

export interface RecoveryFacts {
  readonly state: StreamState;
  /** Effects of the newest checkpoint's task. */
  readonly headEffects: readonly EffectRow[];
  /** Undefined if this process doesn't know it. */
  readonly definition: Definition | undefined;
  /** The answers of those probes that were called for this plan. */
  readonly answers: ReadonlyMap<EffectKey, ProbeAnswer>;
  /** The fleet's; absent: the default. */
  readonly recovery?: RecoveryPolicy | undefined;
  readonly nowMs: number;
}

/** An answer that the probe gave or could give, and what follows from it. */
export interface PlannedOutcome {
  readonly answer: ProbeAnswer;
  readonly action: RecoveryAction;
}

export interface PlannedEffect {
  readonly key: EffectKey;
  readonly operation: string;
  readonly task: TaskId;
  readonly kind: EffectKind;
  readonly status: EffectState['status'];
  readonly of: 'newest-checkpoint' | 'pending-task';
  /** `unknown`: the definition isn't known here, or doesn't list the effect (then only its step knows its probe). */
  readonly probe: 'registered' | 'none' | 'unknown';
  /**
   * Whether the outside's answer matters. It does for an open effect, for one whose probe was called for this plan, and after a holder's
   * death for one that is done.
   */
  readonly external: boolean;
  /** The answer of the probe; null if it was not called. */
  readonly said: ProbeAnswer | null;
  /** One outcome if the answer is known, otherwise one for each possible answer. */
  readonly outcomes: readonly PlannedOutcome[];
  /** How long recovery waits before a `not-done` counts, so that no late call can arrive, in milliseconds; 0: not at all. */
  readonly waitMs: number;
}

/** What the next holder does once it has checked the effects of the newest checkpoint. */
export type PlannedNext =
  | { readonly kind: 'ended' }
  | { readonly kind: 'shadow' }
  | { readonly kind: 'unreadable'; readonly type: string; readonly v: number }
  /** A record can't be read, and a person decides about it. */
  | { readonly kind: 'stopped'; readonly type: string; readonly offset: Offset; readonly problem: string }
  | { readonly kind: 'compensating'; readonly undo: WorkflowId }
  | { readonly kind: 'needs-person'; readonly question: Question; readonly resolutions: readonly Resolution[] }
  /** The next holder carries out what a person decided. */
  | { readonly kind: 'ruled'; readonly ruling: NonNullable<StreamState['ruling']> }
  | { readonly kind: 'paused'; readonly by: string }
  /** The next holder parks the workflow instead of running anything. */
  | { readonly kind: 'will-park'; readonly code: string }
  /** Nothing can run now: all pending tasks are blocked. */
  | { readonly kind: 'blocked' }
  /**
   * The next holder resumes with this task; `alone`: no other task runs beside it, since it may have killed its holder. `besideMax`: how many other
   * workflows the holder may run then; null: any number.
   */
  | {
      readonly kind: 'runs';
      readonly task: TaskId;
      readonly step: string;
      readonly alone: boolean;
      readonly besideMax: number | null;
    };

export interface RecoveryPlan {
  readonly workflow: WorkflowId;
  readonly status: StreamState['status'];
  readonly lease: Pick<Lease, 'epoch' | 'holder'> | null;
  /** Crashes of holders since the newest checkpoint, and how many more within the hour the workflow survives without being parked. */
  readonly crashes: {
    readonly count: number;
    readonly lastHourCount: number;
    readonly attemptsLeftCount: number;
    readonly timesMs: readonly number[];
  };
  readonly checkpoint: Sequence;
  readonly effects: readonly PlannedEffect[];
  readonly next: PlannedNext;
}

/** The effects of the plan whose probe could be called. A fork that replays has none. */
export function askable(state: StreamState, headEffects: readonly EffectRow[], definition: Definition | undefined) {
  if (isReplay(state)) return [];
  const probed = new Map((definition?.effects ?? []).map((effect) => [effect.operation, effect]));
  return foundEffects(state, headEffects).flatMap(({ key, operation }) => {
    const effect = probed.get(operation);
    return effect?.probe === undefined ? [] : [{ key, effect }];
  });
}

export function recoveryPlan(facts: RecoveryFacts): RecoveryPlan {
  const { state, nowMs } = facts;
  const { attempts, windowMs } = policyOf(facts);
  const lastHourCount = state.crashTimesMs.filter((atMs) => nowMs - atMs <= windowMs).length;
  // In these cases no holder checks effects. Those of a fork that replays are answered by what its base recorded.
  const isStopped = isClosed(state) || state.status === 'compensating' || state.shadow || state.ruling !== null;
  const isOver = isStopped || isReplay(state);
  return {
    workflow: state.workflow,
    status: state.status,
    lease: state.lease === null ? null : { epoch: state.lease.epoch, holder: state.lease.holder },
    crashes: {
      count: state.crashCount,
      lastHourCount,
      attemptsLeftCount: Math.max(attempts - lastHourCount, 0),
      timesMs: state.crashTimesMs,
    },
    checkpoint: state.head.sequence,
    effects: isOver ? [] : foundEffects(state, facts.headEffects).map((found) => planned(found, facts)),
    next: nextOf(facts),
  };
}

type Found = Pick<PlannedEffect, 'key' | 'operation' | 'task' | 'kind' | 'status' | 'of'> & {
  readonly timeoutMs: number;
  readonly isSuspect: boolean;
  readonly silentHolders?: readonly HolderId[] | undefined;
};

/**
 * The effects that left the process: first those of the newest checkpoint, then those of pending tasks in the order in which they would
 * come up again.
 */
function foundEffects({ frontier, isUnsettled }: StreamState, headEffects: readonly EffectRow[]): readonly Found[] {
  const ofHead = headEffects.map(
    (row): Found => ({ ...row, of: 'newest-checkpoint', timeoutMs: 0, isSuspect: isUnsettled }),
  );
  const ofTasks = [...frontier.tasks].flatMap(({ id, effects }) =>
    effects.map((effect): Found => ({ ...effect, task: id, of: 'pending-task' })),
  );
  return [...ofHead, ...ofTasks].filter(({ kind }) => kind !== 'pure');
}

function planned(found: Found, { state, headEffects, definition, answers }: RecoveryFacts): PlannedEffect {
  const { key, operation, task, kind, status, of, timeoutMs, isSuspect } = found;
  const effect = definition?.effects.find((listed) => listed.operation === operation);
  const probe = effect === undefined ? 'unknown' : effect.probe === undefined ? 'none' : 'registered';
  const said = answers.get(key) ?? null;
  const may = effect !== undefined && mayCompensate(state, [effect], effect, status === 'done' ? 'done' : 'unknown');
  const isHead = of === 'newest-checkpoint';
  const afterDeath = state.lease !== null || isSuspect;
  const isUnprobed =
    isHead &&
    afterDeath &&
    definition !== undefined &&
    unprobed(definition, headEffects).some((row) => row.key === key);
  const external =
    said !== null ||
    status === 'intended' ||
    status === 'pending' ||
    isUnprobed ||
    (status === 'done' && afterDeath && !(isHead && probe === 'none'));
  const possible = external && !isUnprobed ? POSSIBLE[probe] : (['none'] as const);
  const outcomes = (said === null ? possible : [said]).map((answer) => ({
    answer,
    // A committed effect is checked only if it has a probe; a person decides about an irreversible one without.
    action: isUnprobed
      ? 'ask-person'
      : status === 'done' && answer === 'none' && (isHead || !external)
        ? 'go-on'
        : recoveryAction({
            ...{ status, kind, answer, mayCompensate: may },
            mayStillCall: mayStillCall({ effect, left: found }, answer),
          }),
  }));
  const waits = probe !== 'none' && status === 'intended' && kind === 'irreversible' && effect?.probeFences !== true;
  const waitMs = waits ? CALL_WINDOW_MS + Math.max(timeoutMs, effect?.timeoutMs ?? 0) : 0;
  return { key, operation, task, kind, status, of, probe, external, said, outcomes, waitMs };
}

const POSSIBLE: Readonly<Record<PlannedEffect['probe'], readonly ProbeAnswer[]>> = {
  registered: ['done', 'not-done', 'unknown'],
  none: ['none'],
  unknown: ['done', 'not-done', 'unknown', 'none'],
};

const policyOf = ({ definition, recovery }: RecoveryFacts): RecoveryPolicy =>
  recoveryPolicy(definition?.recovery, recovery);

function nextOf(facts: RecoveryFacts): PlannedNext {
  const { state, definition } = facts;
  if (isClosed(state)) return { kind: 'ended' };
  if (state.shadow) return { kind: 'shadow' };
  if (state.unreadable !== null) {
    const { type, v, offset, problem } = state.unreadable;
    return problem === undefined ? { kind: 'unreadable', type, v } : { kind: 'stopped', type, offset, problem };
  }
  if (state.status === 'compensating') return { kind: 'compensating', undo: state.undo ?? undoId(state.workflow) };
  if (state.question !== null) {
    return { kind: 'needs-person', question: state.question, resolutions: fittingResolutions(state, state.question) };
  }
  if (state.paused !== undefined) return { kind: 'paused', by: state.paused.by };
  if (state.ruling !== null) return { kind: 'ruled', ruling: state.ruling };
  const code = crashVerdict(state, policyOf(facts));
  if (code !== null) return { kind: 'will-park', code };
  if (definition !== undefined && budgetDraft(state, definition) !== undefined)
    return { kind: 'will-park', code: 'step-budget' };
  const first = firstUnblocked(state.frontier);
  if (first === undefined) return { kind: 'blocked' };
  return {
    kind: 'runs',
    task: first.id,
    step: first.step,
    alone: runsAlone(state),
    besideMax: state.besideMax ?? null,
  };
}
