/** Owns the report of a resume: the stage at which work resumes, and the conflicts and warnings found while the state was read. Pure. */

import type { RepoState, ResolvedConflict, Stage } from './state-file.ts';

export interface ResumeReport {
  /** True: there is no state yet, so work begins at stage 1. */
  readonly fresh: boolean;
  readonly state?: RepoState | undefined;
  /** The first stage that isn't done, with its number from 1; null: all are done. */
  readonly stage: (Stage & { readonly number: number; readonly of: number }) | null;
  /** `Resuming from stage 3: build. Stages 1–2 already done.`, and the status of that stage if it was begun. */
  readonly line: string;
  /** Conflicts that were resolved since the state began, the newest last. */
  readonly conflicts: readonly ResolvedConflict[];
  /** The state's file as messages name it: its whole path if it is in the temporary folder. */
  readonly file: string;
  readonly warnings: readonly string[];
}

export const NO_STATE = 'No earlier state was found: work begins at stage 1.';

const SAID: Readonly<Record<Stage['status'], string>> = {
  pending: 'has not begun',
  in_progress: 'is in progress',
  done: 'is done',
  failed: 'failed',
};

export function reportOf(state: RepoState | undefined, file: string, warnings: readonly string[]): ResumeReport {
  if (state === undefined) {
    return {
      fresh: true,
      stage: null,
      line: NO_STATE,
      conflicts: [],
      file,
      warnings,
    };
  }
  const of = state.stages.length;
  const at = state.stages.findIndex(({ status }) => status !== 'done');
  const stage = state.stages[at];
  const reported = { fresh: false, state, conflicts: state.conflicts ?? [], file, warnings };
  if (stage === undefined) {
    const line = of === 0 ? 'there are no stages yet' : `all ${of} stages are done: nothing to resume`;
    return { ...reported, stage: null, line };
  }
  const who = stage.agent === undefined ? '' : ` with ${stage.agent}`;
  const done = at === 0 ? '' : ` ${at === 1 ? 'Stage 1' : `Stages 1–${at}`} already done.`;
  const line = `Resuming from stage ${at + 1}: ${stage.id}.${done}${stage.status === 'pending' ? '' : ` It ${SAID[stage.status]}${who}.`}`;
  return { ...reported, stage: { ...stage, number: at + 1, of }, line };
}
