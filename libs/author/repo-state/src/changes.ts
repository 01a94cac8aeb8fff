/**
 * Owns the changes of a state: begin, checkpoint, migrate, complete. Data in, data out: `(state, change) → state`. A stage with a check is
 * never done without evidence that this check passed. Pure.
 */

import { isDeepStrictEqual } from 'node:util';
import { ConflictError, InvalidError, type Json, parseTime } from '@tidemark/core';
import {
  type CheckEvidence,
  currentStage,
  type Evidence,
  FORMAT,
  type Note,
  type RepoState,
  type Stage,
  type StageStatus,
} from './state-file.ts';

export interface StagePlan {
  readonly id: string;
  /** A command that must pass before the stage counts as done. */
  readonly check?: string | undefined;
}

export interface Beginning {
  /** Default 1. */
  readonly version?: number | undefined;
  readonly stages: readonly (string | StagePlan)[];
  /** Whether the state belongs in the repository. Default: git ignores it there. */
  readonly shared?: boolean | undefined;
  readonly note?: string | undefined;
  readonly agent?: string | undefined;
}

export interface Checkpoint {
  /** Stages to change; none: only notes and artifacts. */
  readonly stages?: readonly string[] | undefined;
  /** Their new status. */
  readonly status?: StageStatus | undefined;
  /** Sets a check for these stages. */
  readonly check?: string | undefined;
  /** Merged into the existing evidence; null removes a field. `check` is the product's own. */
  readonly evidence?: Readonly<Record<string, Json>> | undefined;
  /** Merged into the existing artifacts; null removes one. */
  readonly artifacts?: Readonly<Record<string, Json>> | undefined;
  readonly note?: string | undefined;
  readonly agent?: string | undefined;
  /** Appends stages that the state doesn't have. Default: they are refused. */
  readonly add?: boolean | undefined;
  /** Takes over a stage that another agent has in progress. Default: it is refused. */
  readonly take?: boolean | undefined;
}

/** Evidence of checks that ran just now, by stage. */
export type Checked = ReadonlyMap<string, CheckEvidence>;

export function begin(workflow: string, given: Beginning, at: string): RepoState {
  const stages = given.stages.map((each): Stage => {
    const { id, check } = typeof each === 'string' ? { id: each, check: undefined } : each;
    return { id, status: 'pending', ...(check === undefined ? {} : { check }) };
  });
  return {
    format: FORMAT,
    workflow,
    version: given.version ?? 1,
    created_at: at,
    updated_at: at,
    current_stage: currentStage(stages),
    stages,
    artifacts: {},
    notes: noteOf(given.note, given.agent, at),
    ...(given.shared === true ? { shared: true } : {}),
  };
}

/**
 * Throws `InvalidError` (`stage-unknown`, `check-missing`) and `ConflictError` (`stage-taken`). `checked` must have the
 * evidence of each stage that has a check and becomes done. `byBoth`: stages that another program has finished meanwhile.
 */
export function checkpointed(
  state: RepoState,
  change: Checkpoint,
  checked: Checked,
  at: string,
  byBoth: ReadonlySet<string> = new Set(),
): RepoState {
  const stages = [...state.stages];
  for (const id of change.stages ?? []) {
    const index = stages.findIndex((stage) => stage.id === id);
    if (index === -1 && change.add !== true) throw unknownStage(state, id);
    const before: Stage = stages[index] ?? { id, status: 'pending' };
    refuseTaken(before, change);
    const changed = changedStage(before, change, checked.get(id), at);
    stages[index === -1 ? stages.length : index] = byBoth.has(id) ? joinedStage(before, changed) : changed;
  }
  const next: RepoState = {
    ...state,
    stages,
    artifacts: joined(state.artifacts, change.artifacts) as RepoState['artifacts'],
    notes: [...state.notes, ...noteOf(change.note, change.agent, at)],
  };
  requireChecks(state, next);
  return next;
}

/** Any other change. It keeps what the product owns, and checks must have passed. */
export function updated(state: RepoState, change: (state: RepoState) => RepoState): RepoState {
  const next = {
    ...change(structuredClone(state)),
    format: FORMAT,
    workflow: state.workflow,
    created_at: state.created_at,
  };
  requireChecks(state, next);
  return next;
}

/** Fields that checkpoints, migrations and the store write. */
const OWNED: ReadonlySet<string> = new Set([
  'format',
  'workflow',
  'version',
  'created_at',
  'updated_at',
  'current_stage',
  'stages',
  'conflicts',
  'completed_at',
  'artifact_names',
  'note_entries',
  'fallback_for',
]);

/** Throws `InvalidError` (`patch-field-owned`). */
export function patched(state: RepoState, change: Readonly<Record<string, Json>>): RepoState {
  const owned = Object.keys(change).find((field) => OWNED.has(field));
  if (owned !== undefined) {
    throw new InvalidError(
      'patch-field-owned',
      `${owned} can't be changed this way: change stages by checkpoint and versions by migrate; Tidemark sets the rest itself.`,
      { field: owned },
    );
  }
  return merged(state as unknown as Json, change) as unknown as RepoState;
}

/** RFC 7396; both are bounded in depth. */
function merged(before: Json, change: Json): Json {
  if (!isObject(change)) return change;
  const next = new Map(Object.entries(isObject(before) ? before : {}));
  for (const [field, value] of Object.entries(change)) {
    if (value === null) next.delete(field);
    else next.set(field, merged(next.get(field) ?? null, value));
  }
  return Object.fromEntries(next);
}

const isObject = (value: Json): value is { readonly [field: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function changedStage(before: Stage, change: Checkpoint, checked: CheckEvidence | undefined, at: string): Stage {
  const { check: _own, ...given } = change.evidence ?? {};
  const evidence = joined({ ...before.evidence, ...(checked && { check: checked }) }, given) as Evidence;
  // A failed check decides, whatever the request was.
  const status = checked?.passed === false ? 'failed' : (change.status ?? before.status);
  return {
    ...before,
    status,
    ...(change.check === undefined ? {} : { check: change.check }),
    ...(Object.keys(evidence).length === 0 ? {} : { evidence }),
    ...(change.agent === undefined ? {} : { agent: change.agent }),
    updated_at: at,
  };
}

/**
 * Whether another program has said something else of a stage since it was `before` than this change at its time. It hasn't where it says the
 * same, changed only what stands beside the status, or dates its word before ours.
 */
export function isContradicted(
  before: Stage | undefined,
  now: Stage | undefined,
  ours: { readonly status: StageStatus; readonly at: string },
): boolean {
  if (isDeepStrictEqual(before, now) || now?.status === ours.status) return false;
  if (now === undefined) return true;
  // A time that it hasn't touched is of an earlier word, and one without a zone can't be compared.
  const isDated = HAS_ZONE.test(now.updated_at ?? '') && now.updated_at !== before?.updated_at;
  return isDated ? parseTime(now.updated_at!) >= parseTime(ours.at) : now.status !== before?.status;
}

const HAS_ZONE = /(?:Z|[+-]\d{2}:?\d{2})$/;

/** Both have finished it: the other's word stays, what it lacks of ours is added, and evidence of ours that differs is kept in `also`. */
function joinedStage(theirs: Stage, ours: Stage): Stage {
  const evidence: Readonly<Record<string, unknown>> = { ...ours.evidence, ...theirs.evidence };
  const before = isObject(evidence.also as Json) ? (evidence.also as object) : {};
  const differing = Object.entries(ours.evidence ?? {}).filter(
    ([name, value]) => !isDeepStrictEqual(evidence[name], value),
  );
  const also = differing.length === 0 ? {} : { also: { ...before, ...Object.fromEntries(differing) } };
  return {
    ...ours,
    ...theirs,
    ...(Object.keys(evidence).length > 0 && { evidence: { ...evidence, ...also } }),
  } as Stage;
}

function joined(
  before: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, unknown>> | undefined,
): object {
  return Object.fromEntries(Object.entries({ ...before, ...given }).filter(([, value]) => value !== null));
}

const noteOf = (text: string | undefined, agent: string | undefined, at: string): Note[] =>
  text === undefined ? [] : [{ at, ...(agent === undefined ? {} : { agent }), text }];

function refuseTaken(stage: Stage, { status, agent, take }: Checkpoint): void {
  const other = stage.agent;
  if (stage.status !== 'in_progress' || status !== 'in_progress' || take === true) return;
  if (other === undefined || agent === undefined || other === agent) return;
  throw new ConflictError(
    'stage-taken',
    `Stage '${stage.id}' is in progress with ${other}${stage.updated_at ? ` since ${stage.updated_at}` : ''}. Choose another, or take it over with --take.`,
    { stage: stage.id, agent: other },
  );
}

function requireChecks(before: RepoState, after: RepoState): void {
  for (const stage of after.stages) {
    const was = before.stages.find(({ id }) => id === stage.id);
    if (stage.status !== 'done' || stage.check === undefined) continue;
    if (was?.status === 'done' && was.check === stage.check) continue;
    const { check } = stage.evidence ?? {};
    if (check?.passed === true && check.command === stage.check) continue;
    throw new InvalidError(
      'check-missing',
      `Stage '${stage.id}' counts as done only after its check passed: ${stage.check}`,
      { stage: stage.id },
    );
  }
}

function unknownStage(state: RepoState, id: string): InvalidError {
  const known = state.stages.map((stage) => stage.id).join(', ');
  return new InvalidError(
    'stage-unknown',
    `'${state.workflow}' has no stage '${id}'${known === '' ? '' : ` (it has ${known})`}. Correct it, or add it with --add.`,
    { stage: id },
  );
}

/** Brings a state from one version to the next: its result has version `from + 1`. */
export type Migration = (state: RepoState) => RepoState;

export interface MigrationPlan {
  readonly to: number;
  /** By the version from which they start. A version without one keeps its shape. */
  readonly migrations?: Readonly<Record<number, Migration>> | undefined;
  /** Stages of the new version, in order. Existing ones keep their data; new ones are pending. */
  readonly stages?: readonly (string | StagePlan)[] | undefined;
  /** New ids of stages by old ones, applied first. */
  readonly rename?: Readonly<Record<string, string>> | undefined;
}

/** Restores stages of its plan that a state lost, in the plan's order; the data of the others stays. */
export function withStagesOf(state: RepoState, plan: RepoState): RepoState {
  const known = new Map(state.stages.map((stage) => [stage.id, stage]));
  const planned = plan.stages.map((stage) => known.get(stage.id) ?? stage);
  const others = state.stages.filter(({ id }) => planned.every((stage) => stage.id !== id));
  const stages = [...planned, ...others];
  return { ...state, stages, current_stage: currentStage(stages) };
}

/** Throws `InvalidError` (`version-invalid`, `stage-unknown`). */
export function migrated(state: RepoState, plan: MigrationPlan): RepoState {
  if (!Number.isSafeInteger(plan.to) || plan.to <= state.version) {
    throw new InvalidError('version-invalid', `'${state.workflow}' has version ${state.version}: give a greater one.`);
  }
  let next = structuredClone(state);
  for (let from = state.version; from < plan.to; from += 1) next = plan.migrations?.[from]?.(next) ?? next;
  for (const id of Object.keys(plan.rename ?? {})) {
    if (!next.stages.some((stage) => stage.id === id)) throw unknownStage(state, id);
  }
  const renamed = next.stages.map((stage) => ({ ...stage, id: plan.rename?.[stage.id] ?? stage.id }));
  const stages = plan.stages === undefined ? renamed : plan.stages.map((each) => planned(each, renamed));
  return { ...next, workflow: state.workflow, format: FORMAT, version: plan.to, created_at: state.created_at, stages };
}

/** The check differs from the one that passed: the stage has yet to pass it. */
function planned(each: string | StagePlan, before: readonly Stage[]): Stage {
  const { id, check } = typeof each === 'string' ? { id: each, check: undefined } : each;
  const was = before.find((stage) => stage.id === id) ?? { id, status: 'pending' as const };
  if (check === undefined || check === was.check) return was;
  return { ...was, check, status: was.status === 'done' ? 'in_progress' : was.status };
}

/** Throws `ConflictError` (`stages-open`) when stages aren't done, unless they may stay so. */
export function completed(state: RepoState, at: string, open: boolean): RepoState {
  const left = state.stages.filter(({ status }) => status !== 'done').map(({ id, status }) => `${id} (${status})`);
  if (left.length > 0 && !open) {
    throw new ConflictError(
      'stages-open',
      `'${state.workflow}' is not finished: ${left.join(', ')}. Finish these, or archive it as it is with --open.`,
    );
  }
  return { ...state, completed_at: at };
}
