/** The entry point of @tidemark/memory. */

export { type AiSdkEmbeddingModel, aiSdkEmbedder } from './ai-sdk-embedder.ts';
export { buildContinuationContext } from './continuation-context.ts';
export type { Embedder } from './embedder.ts';
export { type Facts, factOf, factsAbout } from './facts.ts';
export { memoryIndexer } from './indexer.ts';
export { installEmbedder, installedModel } from './install-embedder.ts';
export { localEmbedder } from './local-embedder.ts';
export { type MemoryWriter, refuseSecrets } from './memory-writer.ts';
export { parseSummary, summaryInstruction } from './model-summary.ts';
export {
  answerTo,
  embedQuestion,
  type Recalled,
  type RecallOptions,
  type RecallQuery,
  rankFacts,
  recall,
  subjectsOf,
  tenantSubject,
  userSubject,
} from './recall.ts';
export { summariseTraceByRule, type TraceStep } from './rule-summary.ts';
export { type SessionSummary, sessionSummarySchema, summaryWords } from './session-summary.ts';
export { buildUserContext } from './user-context.ts';
export { type UserState, userState } from './user-state.ts';
