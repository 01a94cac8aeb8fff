/** The entry point of the room: what other rooms of the engine may use. */
export { Applied } from './applied.ts';
export { continuedAs, continuesFrom, currentOf, isContinued, lastOf, supersedes } from './chain.ts';
export {
  contentDraft,
  type JournalEntry,
  promptOf,
  StreamContent,
  type WorkflowContents,
  withContents,
} from './content.ts';
export { answerTexts, fragmentsIn, isRange, MEMORY_KINDS, memoriesIn, scopeIn, textsIn } from './context-shapes.ts';
export { ForkTaskMap } from './fork-task-map.ts';
export { type InheritedSignals, inheritedSignals } from './inherited-signals.ts';
export { HISTORY_READ_MAX_BYTES, OUTPUTS_PAGE_COUNT, SHARED_TEXT_MIN_CHARS } from './limits.ts';
export { journalOf, lineageReads, originOf, outputsOf, type PageOf, placeOf, readsOf, shiftOf } from './lineage.ts';
export { parkedQuestion } from './parked-question.ts';
export { foldNear, foldThrough, partitionsInRows } from './partition-tail.ts';
export { type Recorded, Replay, type ReplayOrigin } from './replay.ts';
export { RowChanges } from './row-changes.ts';
export { haveRows, ROWS_WAIT_MS, rowsCatchUp, whileRowsCatchUp } from './rows-catch-up.ts';
export {
  canRun,
  definitionFor,
  type ResolvedTask,
  resolveTask,
  routesOf,
  upcastBelief,
  upcastInput,
} from './versions.ts';
export { type PastWorkflow, workflowAt } from './workflow-at.ts';
export { type ContextReads, fragmentIn, WorkflowContext } from './workflow-context.ts';
export {
  type AcceptedEvent,
  archived,
  eventsThrough,
  isArchivedObject,
  logGap,
  openingOffset,
} from './workflow-events.ts';
