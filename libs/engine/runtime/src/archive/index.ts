/** The door of the room: what other rooms of the engine use of it. */
export { Archive } from './archive.ts';
export { indexArchived, settleArchived } from './archived-rows.ts';
export { type Deletion, deletionWrite } from './deletions.ts';
export { expectedText, latestOf, type RecalledHistory, Recalls, recalledIn } from './recalls.ts';
export {
  certificatesOf,
  certificateWrite,
  holdWrite,
  type LegalHold,
  policyWrite,
  type RetentionPolicy,
  refuseElsewhere,
  refuseTaken,
  retentionOf,
} from './retention-policy.ts';
