/**
 * Owns what a new holder does before it runs anything. It carries out what a person decided, parks a workflow whose holders keep dying or
 * whose budget is used up, and after a crash checks the effects of the newest checkpoint against the outside. It runs no tasks: the effects
 * of pending ones are recovered when their step calls them again.
 */

import { decodePayload } from '@tidemark/codec';
import {
  crashVerdict,
  type EffectKey,
  firstUnblocked,
  isoTime,
  isReplay,
  type Json,
  type RecoveryPolicy,
  recoveryPolicy,
  type StreamState,
} from '@tidemark/core';
import type { EffectRow } from '@tidemark/ports';
import {
  CompensateError,
  type Definition,
  type EffectDefinition,
  errorNote,
  FatalError,
  ParkError,
} from '../definition/index.ts';
import { type EffectRun, recoverEffect } from '../effects/index.ts';
import type { StreamContent } from '../history/index.ts';
import { historyForgotten } from '../kernel/index.ts';
import { type Draft, parkDraft } from '../lease/index.ts';
import { cancelDraft, isUnwinding, ruledUndo, undoDraft } from './ending.ts';

/** The newest checkpoint: the step that committed it, and that step's effects. */
export interface HeadCheckpoint {
  /** Null for the opening. */
  readonly step: string | null;
  readonly effects: readonly EffectRow[];
}

export interface TakeOver {
  readonly definition: Definition;
  /** How the fleet's workflows are run again after crashes; their definition overrides it. */
  readonly recovery?: RecoveryPolicy | undefined;
  readonly content: Pick<StreamContent, 'isForgotten'>;
  readonly effects: EffectRun;
  readonly signal: AbortSignal;
  /** Reads the newest checkpoint, once rows have it. */
  readonly readHead: () => Promise<HeadCheckpoint>;
}

/**
 * The event that ends the run before it begins; undefined if the run may begin. `state`: the workflow's right after the claim. Throws
 * `ProbeError`.
 */
export async function takeOver(state: StreamState, given: TakeOver): Promise<Draft | undefined> {
  if (state.ruling === 'fail') return rejectedDraft();
  if (state.ruling === 'compensate') return ruledUndo(state);
  if (state.ruling === 'cancel' && !mayUnwind(state, given)) return cancelDraft(state, given.definition);
  if (given.content.isForgotten) return forgottenDraft(state);
  return (
    crashDraft(state, recoveryPolicy(given.definition.recovery, given.recovery)) ??
    budgetDraft(state, given.definition) ??
    phantomDraft(state, given)
  );
}

/** A cancelled run that a person would be asked about ends at once. */
const mayUnwind = (state: StreamState, { definition, recovery, content }: TakeOver): boolean =>
  isUnwinding(state, definition) &&
  !isOverBudget(state, definition) &&
  !content.isForgotten &&
  crashVerdict(state, recoveryPolicy(definition.recovery, recovery)) === null;

function rejectedDraft(): Draft {
  const error = new FatalError('A person decided that the workflow fails.');
  return { type: 'WorkflowFailed', control: { code: 'rejected', task: null }, payload: { error: errorNote(error) } };
}

/** Parks a workflow whose key was destroyed while it was open: only a person may know what it was about, and can end it. */
function forgottenDraft({ workflow }: StreamState): Draft {
  const { code, message } = historyForgotten(workflow);
  return parkDraft(
    new ParkError(code, `${message} The workflow can't continue from it: cancel it, or let it fail.`, null, null),
    null,
  );
}

/**
 * Parks a workflow whose holders keep dying before it reaches a checkpoint (requirement D5). The evidence names the step that ran alone
 * last.
 */
function crashDraft(state: StreamState, recovery: RecoveryPolicy): Draft | undefined {
  const { attempts, windowMs } = recovery;
  const code = crashVerdict(state, recovery);
  if (code === null) return undefined;
  const suspect = firstUnblocked(state.frontier);
  const times = state.crashTimesMs.map(isoTime);
  const message =
    code === 'recovery-limit'
      ? `More than ${attempts} workers crashed within ${Math.round(windowMs / 60_000)} minutes while they ran this workflow alone, without progress in between.`
      : `${state.crashCount} workers crashed while they ran this workflow alone, without progress in between.`;
  const evidence: Json = {
    limit: attempts,
    window_ms: windowMs,
    crash_count: state.crashCount,
    crashes: times,
    step: suspect?.step ?? null,
  };
  return parkDraft(
    new ParkError(
      code,
      `${message} ${suspect === undefined ? '' : `The last of them ran step ${suspect.step} alone. `}A person must decide.`,
      null,
      evidence,
    ),
    suspect?.id ?? null,
  );
}

/** Whether the workflow has committed as many checkpoints as its budget allows before a person decides. */
export const isOverBudget = (state: StreamState, { stepBudget }: Definition): boolean =>
  state.head.sequence - state.budgetFrom >= stepBudget;

export function budgetDraft(state: StreamState, definition: Definition): Draft | undefined {
  if (!isOverBudget(state, definition)) return undefined;
  const message = `It has committed ${state.head.sequence - state.budgetFrom} checkpoints, and its budget is ${definition.stepBudget}. A person must decide whether it continues.`;
  return parkDraft(new ParkError('step-budget', message, null, { sequence: state.head.sequence }), null);
}

/**
 * After a crash, finds a committed checkpoint whose effect never arrived, or whose irreversible effect no probe can check (requirements
 * D1-D3).
 */
async function phantomDraft(state: StreamState, given: TakeOver): Promise<Draft | undefined> {
  // The effects of a fork that replays never left this process, so nobody outside knows of them.
  if (!state.isUnsettled || state.head.sequence === 0 || isReplay(state)) return undefined;
  const { definition } = given;
  const head = await given.readHead();
  const probed = new Map(definition.effects.flatMap((effect) => (effect.probe ? [[effect.operation, effect]] : [])));
  for (const row of head.effects) {
    const effect = probed.get(row.operation);
    if (effect === undefined || row.status !== 'done' || row.kind === 'pure') continue;
    const draft = await validated(state, given, effect, row);
    if (draft !== undefined) return draft;
  }
  const [first] = unprobed(definition, head.effects);
  if (first === undefined) return undefined;
  given.effects.ports.telemetry.count('effect_validation_failures_total', 1, { operation: first.operation });
  return unprobedDraft(state, definition, head.step, first);
}

/**
 * The irreversible effects of a checkpoint for which the definition lists no probe: after a crash nothing can tell whether they took place.
 * The probe of one effect says nothing of another, since their receivers differ.
 */
export function unprobed<Row extends Pick<EffectRow, 'operation' | 'status' | 'kind'>>(
  { effects }: Pick<Definition, 'effects'>,
  rows: readonly Row[],
): readonly Row[] {
  const done = rows.filter(({ status, kind }) => status === 'done' && kind === 'irreversible');
  const hasProbe = ({ operation }: Row): boolean =>
    effects.some((effect) => effect.operation === operation && effect.probe !== undefined);
  return done.filter((row) => !hasProbe(row));
}

/**
 * The error of the park for such an effect, which the table treats as invalid. It is compensated only when a person decides so, who can
 * look whether it took place.
 */
function unprobedDraft(
  { head }: StreamState,
  { name, version, effects }: Definition,
  step: string | null,
  { key, operation }: EffectRow,
): Draft {
  const isListed = effects.some((effect) => effect.operation === operation);
  const lack = isListed ? 'has no probe' : 'is not listed in effects, with a probe';
  const message = `The newest checkpoint (${head.sequence}): step ${step} committed effect ${key}, which is irreversible, and its worker lost the lease. ${operation} ${lack} in ${name} v${version}, so whether it took place is unknown. Check where it was made: if it took place, answer with retry; if not, compensate, or let it fail. With a probe, no person is needed the next time.`;
  const evidence = { step, operation, key, sequence: head.sequence, probe: 'none' };
  return parkDraft(new ParkError('validator-missing', message, key, evidence), null);
}

/**
 * Probes the effect. Returns the event that ends the run if the effect is invalid; undefined if it is valid. Throws `ProbeError` if the
 * probe fails: the caller then tries again later, as after a failed step.
 */
async function validated(
  state: StreamState,
  { effects, signal }: TakeOver,
  effect: EffectDefinition,
  row: EffectRow,
): Promise<Draft | undefined> {
  const left = { ...row, timeoutMs: effect.timeoutMs, isUntold: false, isSuspect: true, pending: null };
  try {
    await recoverEffect(effects, signal, { effect, key: row.key, request: requestOf(row), left });
    return undefined;
  } catch (error) {
    if (error instanceof CompensateError) return undoDraft(state, null, error);
    if (error instanceof ParkError) return phantomPark(row.key, error, error.evidence);
    throw error;
  }
}

const phantomPark = (key: EffectKey, { message }: Error, evidence: Json): Draft =>
  parkDraft(new ParkError('phantom-checkpoint', `The newest checkpoint: ${message}`, key, evidence), null);

const requestOf = ({ request }: EffectRow): Json =>
  request === null ? null : decodePayload('EffectIntended', request).request;
