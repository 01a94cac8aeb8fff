/** The entry point of the room: what other rooms of the engine may use. */
export {
  crashRestDraft,
  failureDrafts,
  isOpenForGood,
  openCalls,
  openEffect,
  parkDraft,
  policyOf,
  verdictOf,
  waitDraft,
} from './attempt-failure.ts';
export { compensatedBy, compensationDraft, depthOf, mayUndo, queuedAs } from './compensation.ts';
export {
  type Confirmation,
  checkDecision,
  checkedDuration,
  checkFits,
  checkName,
  checkText,
  confirmationPayload,
  type Decision,
  fittingResolutions,
  parserOf,
  responseFor,
} from './decision-checks.ts';
export type { Draft } from './draft.ts';
export { Flushing } from './flushing.ts';
export { Inbox, inboxRecord, type Written } from './inbox.ts';
export { LeasedStream } from './leased-stream.ts';
export {
  COMPENSATION_ALERT_DEPTH,
  COMPENSATION_DEPTH_MAX,
  GAP_EMPTY_READS_MAX,
  TAIL_READ_MAX_BYTES,
} from './limits.ts';
export { checkedDerivedId, checkedTags, checkedWorkflowId, WORKFLOW_ID_MAX_CHARS } from './workflow-name.ts';
