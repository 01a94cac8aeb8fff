/** The entry point of the room: what other rooms of the engine may use. */
export { type AttemptEnds, Attempts, WorkflowCancelledError } from './attempts.ts';
export { REQUEST_CHANGED } from './changed-request.ts';
export { Drain, StepAbandonedError } from './drain.ts';
export { EffectJournal } from './effect-journal.ts';
export { CALLS_UNORDERED, mayStillCall, recoverEffect } from './effect-recovery.ts';
export {
  type CallEffect,
  callEffect,
  EffectRun,
  type EffectRunParts,
  hasOpen,
  isSuspended,
  mayCompensate,
  type RecordedCalls,
} from './effect-run.ts';
export { CALL_WINDOW_MS } from './limits.ts';
export { isIntended, RUN_AWAY_LOOP, refuseRepeats } from './repeats.ts';
