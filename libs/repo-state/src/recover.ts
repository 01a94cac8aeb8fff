/**
 * Owns making a state of what a lenient parse found: what fits is taken, what does not is left out and told. A stage that
 * lost its status is pending, never done. Pure.
 */

import { currentStage, FORMAT, type RepoState, STAGE_STATUSES, type Stage, stateFrom } from './state-file.ts';
import { isoTime } from './times.ts';

export interface Recovered {
  readonly state: RepoState;
  /** What was lost, for people. */
  readonly lost: readonly string[];
}

/** `changedMs`: when the file was changed last, for times that it lost. Undefined: there is no state in it. */
export function recoverState(found: unknown, name: string, changedMs: number): Recovered | undefined {
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return undefined;
  const given = found as Record<string, unknown>;
  const { workflow, stages } = given;
  if (workflow === undefined && !Array.isArray(stages)) return undefined;
  const lost: string[] = [];
  const kept = Array.isArray(stages) ? stages.flatMap((each, at) => stageFrom(each, at, lost)) : [];
  if (!Array.isArray(stages)) lost.push('all stages');
  const changed = isoTime(changedMs);
  const plain: Record<string, unknown> = {
    ...given,
    format: given.format ?? FORMAT,
    workflow: workflow ?? name,
    version: given.version ?? 1,
    created_at: given.created_at ?? given.updated_at ?? changed,
    updated_at: given.updated_at ?? changed,
    current_stage: currentStage(kept),
    stages: kept,
  };
  for (const optional of ['artifacts', 'notes', 'conflicts', 'shared', 'completed_at']) {
    if (plain[optional] !== undefined && !fitsWithout(plain, optional, name)) {
      delete plain[optional];
      lost.push(optional);
    }
  }
  return { state: stateFrom(plain, name, `${name}-state.json`), lost };
}

function stageFrom(each: unknown, at: number, lost: string[]): readonly Stage[] {
  const { id, status } = (typeof each === 'object' && each !== null ? each : {}) as Partial<Stage>;
  if (typeof id !== 'string' || id === '') {
    lost.push(`stage ${at + 1}`);
    return [];
  }
  if (status !== undefined && STAGE_STATUSES.includes(status)) return [each as Stage];
  lost.push(`the status of stage ${id}`);
  return [{ ...(each as Stage), id, status: 'pending' }];
}

/** Whether the state fits with this field as it is, by leaving the other optional ones out. */
function fitsWithout(plain: Record<string, unknown>, field: string, name: string): boolean {
  const { artifacts, notes, conflicts, shared, completed_at, ...needed } = plain;
  try {
    stateFrom({ ...needed, [field]: plain[field] }, name, '');
    return true;
  } catch {
    return false;
  }
}
