/** The entry point of @tidemark/memory. */

export { type AiSdkEmbeddingModel, aiSdkEmbedder } from './ai-sdk-embedder.ts';
export { buildContinuationContext } from './continuation-context.ts';
export type { Embedder } from './embedder.ts';
export { type Fact, type Facts, factOf, factsAbout } from './facts.ts';
export { type Indexer, type IndexerOptions, type IndexReport, memoryIndexer } from './indexer.ts';
export { type InstallOptions, installEmbedder, installedModel } from './install-embedder.ts';
export { type LocalEmbedder, type LocalEmbedderOptions, localEmbedder } from './local-embedder.ts';
export { type MemoryWrite, type MemoryWriter, refuseSecrets } from './memory-writer.ts';
export { type ParsedSummary, parseSummary, summaryInstruction } from './model-summary.ts';
export {
  answerTo,
  domainSubject,
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
export { type SessionTrace, type SummaryFragment, summariseTraceByRule, type TraceStep } from './rule-summary.ts';
export { type SessionSummary, sessionSummarySchema, summaryWords } from './session-summary.ts';
export { buildUserContext } from './user-context.ts';
export { type StateEntry, type UserState, userState } from './user-state.ts';
