import { FORMAT, type RepoState, STAGE_STATUSES, type Stage, stateFrom } from './state-file.ts';

export interface Recovered {
  readonly state: RepoState;
  /** What was lost, for people. */
  readonly lost: readonly string[];
}

const OPTIONAL: readonly string[] = [
  ...['artifacts', 'artifact_names', 'notes', 'note_entries'],
  ...['conflicts', 'shared', 'completed_at', 'fallback_for'],
];

/** `changedMs`: when the file last changed, for times that it lost. `isCut`: its end is missing, and nobody knows how much. Undefined: it holds no state. */
export function recoverState(found: unknown, name: string, changedMs: number, isCut: boolean): Recovered | undefined {
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return undefined;
  const given = found as Record<string, unknown>;
  const { workflow, stages } = given;
  if (workflow === undefined && !Array.isArray(stages)) return undefined;
  const lost: string[] = [];
  const kept = Array.isArray(stages) ? stages.flatMap((each, at) => stageFrom(each, at, lost)) : [];
  if (!Array.isArray(stages)) lost.push('all stages');
  // The file names the stage under way: it exists, and is not done, though its own entry is gone.
  const { current_stage: current } = given;
  if (typeof current === 'string' && current !== '' && kept.every(({ id }) => id !== current)) {
    kept.push({ id: current, status: 'pending' });
    lost.push(`what was known of stage ${current}`);
  }
  if (isCut) lost.push(behindTheCut(given, kept));
  const plain: Record<string, unknown> = {
    ...given,
    format: given.format ?? FORMAT,
    workflow: workflow ?? name,
    version: given.version ?? 1,
    current_stage: null,
    stages: kept,
  };
  for (const optional of OPTIONAL) {
    if (plain[optional] !== undefined && !fitsWithout(plain, optional, name)) {
      delete plain[optional];
      lost.push(optional);
    }
  }
  return { state: stateFrom(plain, name, `${name}-state.json`, changedMs), lost };
}

function stageFrom(each: unknown, at: number, lost: string[]): readonly Stage[] {
  const { id, status } = (typeof each === 'object' && each !== null ? each : {}) as Partial<Stage>;
  if (typeof id !== 'string' || id === '') {
    lost.push(`stage ${at + 1}`);
    return [];
  }
  const isKnown = status !== undefined && STAGE_STATUSES.includes(status);
  if (!isKnown) lost.push(`the status of stage ${id}`);
  const stage: Stage = { ...(each as Stage), id, status: isKnown ? status : 'pending' };
  for (const optional of ['evidence', 'evidence_fields', 'check', 'agent', 'updated_at'] as const) {
    if (stage[optional] === undefined || stageFits({ id, status: stage.status, [optional]: stage[optional] })) continue;
    delete stage[optional];
    lost.push(`${optional} of stage ${id}`);
  }
  return [stage];
}

const stageFits = (stage: Stage): boolean => fits({ workflow: 'any', stages: [stage] }, 'any');

function behindTheCut(given: Record<string, unknown>, kept: readonly Stage[]): string {
  const last = Object.keys(given).at(-1);
  const stage = kept.at(-1)?.id;
  if (last === 'stages' && stage !== undefined) {
    return `what followed stage ${stage}, such as further stages, artifacts and notes`;
  }
  return last === undefined ? 'all of it' : `what followed ${last}`;
}

/** Whether the state fits with this field as it is and without the other optional ones. */
function fitsWithout(plain: Record<string, unknown>, field: string, name: string): boolean {
  const needed = Object.entries(plain).filter(([name]) => !OPTIONAL.includes(name));
  return fits({ ...Object.fromEntries(needed), [field]: plain[field] }, name);
}

function fits(state: unknown, name: string): boolean {
  try {
    // Missing times are added later.
    stateFrom(state, name, '', 0);
    return true;
  } catch {
    return false;
  }
}
