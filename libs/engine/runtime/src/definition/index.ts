/** The entry point of the room: what other rooms of the engine may use. */

export { BEGIN_STEP, beginStep, hasBegun } from './begin-step.ts';
export { type BulkFilter, checkMeant } from './bulk-filter.ts';
export {
  type CallLimit,
  type CallRateOption,
  callLimitProblems,
  callScopes,
  limitWords,
} from './call-limits.ts';
export { refuseSealed } from './caller-content.ts';
export {
  type Beginning,
  type Budget,
  type CompensatedDefinition,
  type ContextDefinition,
  type Definition,
  type EffectContext,
  type EffectDefinition,
  type FragmentDraft,
  type Journaled,
  type MemoryEntry,
  type MemoryQuery,
  type MemoryUpdate,
  type Parse,
  PendingResult,
  type PhaseMemory,
  type PreparedCall,
  type ProbeResult,
  type Progress,
  type RecalledMemories,
  type RecallOptions,
  type RecordedAsk,
  type RecordedPrompt,
  type RunOptions,
  type StepContext,
  type StepDefinition,
  type StepResult,
  type TaskRequest,
  type Upcaster,
  type WaitRequest,
} from './definition.ts';
export { checkedDispatch, dispatchOf } from './dispatch.ts';
export { causeOf, type Fault, faultOf } from './faults.ts';
export { ERROR_TEXT_MAX_CHARS, STAGED_DELAY_DEFAULT_MS, STAGED_STEPS_DEFAULT_COUNT } from './limits.ts';
export type { Model, ModelAnswer, ModelDelta, ModelPrompt, ModelRequest, Usage } from './model.ts';
export {
  type CallDelta,
  CallPieces,
  type CallStream,
  type ModelChunk,
  type PieceSink,
  ProgressGate,
} from './model-chunk.ts';
export { asIs, OWN_DEFINITION, ownStep, unchangedUpcasters } from './own-definition.ts';
export {
  definitionOfShadow,
  firstSteps,
  REPORT_STEP,
  requestOf,
  type ShadowDefinition,
  type ShadowOpening,
  type ShadowTask,
} from './shadow-definition.ts';
export { checkSignal, checkSignalName } from './signal-check.ts';
export { type DerivedStart, START_OPTIONS, type StartOptions } from './start-options.ts';
export {
  CallWaitError,
  CompensateError,
  ContendedError,
  EffectError,
  errorCode,
  errorNote,
  excerpt,
  FatalError,
  isFinalNote,
  NotDoneError,
  ParkError,
  ProbeError,
  SuspendedError,
} from './step-errors.ts';
export { ANY_STEP, stepNamed } from './steps.ts';
export { changedScope, emptyScope, outOfScope, type Scope, scopeChange } from './working-memory.ts';
