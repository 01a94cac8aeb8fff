/** Entry point of @tidemark/repo-state. */

export type { Beginning, Checkpoint, Migration, MigrationPlan, StagePlan } from './changes.ts';
export { type CheckOptions, checkDigest, runCheck } from './check.ts';
export type { FileKind, StateFiles } from './files.ts';
export { CHECK_TIMEOUT_MS, STAGES_MAX } from './limits.ts';
export { checkName, findRepository, STATE_FOLDER } from './place.ts';
export {
  type CheckpointResult,
  listStates,
  openRepoState,
  type RepoStateFile,
  type RepoStateOptions,
  type StateResult,
} from './repo-state.ts';
export type { ResumeReport } from './report.ts';
export {
  type CheckEvidence,
  type Evidence,
  FORMAT,
  type Note,
  type RepoState,
  type ResolvedConflict,
  STAGE_STATUSES,
  type Stage,
  type StageStatus,
} from './state-file.ts';
export type { Clock } from './times.ts';
