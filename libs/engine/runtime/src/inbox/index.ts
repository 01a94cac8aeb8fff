/** The entry point of the room: what other rooms of the engine may use. */
export { type ApprovalAnswer, type ApprovalPage, Approvals, askingOf } from './approvals.ts';
export { type Decided, Decisions, type Pin, type SignalChange, type SignalOptions } from './decisions.ts';
export { Lifecycle, type LifecycleAsk, type LifecycleDone } from './lifecycle.ts';
export { DECISION_EVENTS_MAX_COUNT, FORK_DEPTH_MAX } from './limits.ts';
export type { Admission } from './placing.ts';
export { type Judgement, type RecordJudged, RecordJudgements } from './record-judgements.ts';
export { claimOf, idTaken, type OpenRequest, type Started, Starter } from './starter.ts';
export { WorkflowInbox } from './workflow-inbox.ts';
