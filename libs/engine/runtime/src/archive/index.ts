/** The entry point of the room: what other rooms of the engine may use. */
export { Archive } from './archive.ts';
export { indexArchived, settleArchived } from './archived-rows.ts';
export { ColdReads, expectedText, latestOf, type RecalledHistory, recalledIn } from './cold-reads.ts';
export { type Deletion, deletionWrite } from './deletions.ts';
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
  retentionSubject,
} from './retention-policy.ts';
