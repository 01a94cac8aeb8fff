/**
 * Owns the door by which the testkit builds worlds of parts that are no API of the engine. It is not published.
 */
export { memoryDefinition } from './agent/memory-streams.ts';
export { ModelCalls } from './agent/model-calls.ts';
export { deletionsOf, deletionWrite } from './archive/deletions.ts';
export { PROJECTION_GATHERING } from './coordinator/limits.ts';
export { drawUpFork } from './forks/fork.ts';
export { StreamContent } from './history/content.ts';
export { Starter } from './inbox/starter.ts';
export { inboxRecord } from './lease/inbox.ts';
export { loggedReads, type Reads } from './projection/logged-store.ts';
export { ProjectionBuilder } from './projection/projection.ts';
export { Projector } from './projection/projector.ts';
export { type RunEnd, WorkflowRunner } from './run/workflow-runner.ts';
export { EVENT_MAX_BYTES } from './views/limits.ts';
