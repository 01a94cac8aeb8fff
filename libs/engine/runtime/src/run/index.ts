/** The entry point of the room: what other rooms of the engine may use. */
export { commitDrafts } from './commit.ts';
export { completed, completedReset } from './continuing.ts';
export { releaseDraft } from './ending.ts';
export { childId, drawUpOpening, modeOf, type Opening, type StartRequest, traceHints } from './opening.ts';
export { outcomeOf } from './run-outcome.ts';
export type { HeadCheckpoint } from './takeover.ts';
export { type RunEnd, type RunnerOptions, WorkflowRunner } from './workflow-runner.ts';
