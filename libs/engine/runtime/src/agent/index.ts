/** The entry point of the room: what other rooms of the engine may use. */
export { BudgetRoom, roomEvent } from './budget-room.ts';
export {
  anyWrite,
  bringsContext,
  type CommitContext,
  checkedFragments,
  commitContext,
  NO_CONTEXT,
} from './commit-context.ts';
export {
  checkedMemories,
  isMemoryStream,
  MEMORY_DEFINITION,
  memoryDefinition,
  memoryEvent,
  memoryWorkflow,
} from './memory-streams.ts';
export { parseBudget, type SharedBudget, spentByTask } from './model-budgets.ts';
export { MODEL_OPERATION, ModelCalls } from './model-calls.ts';
export { sessionFor } from './session-context.ts';
export { HAND_OVER_PREFIX, type SessionHandOver } from './session-memory.ts';
export {
  endsHistory,
  failureSummary,
  mayBringSummaries,
  sessionSubject,
  withFailureSummary,
  withSummaries,
} from './summaries.ts';
