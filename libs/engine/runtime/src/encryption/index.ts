/** The entry point of the room: what other rooms of the engine may use. */
export { DataKeys } from './data-keys.ts';
export { PLAIN_REFUSED } from './sealed-log.ts';
export {
  checkSecrets,
  haveSecrets,
  ownerOf,
  sealedEffects,
  shownSecrets,
  withSealedFields,
  withSecrets,
} from './secrets.ts';
export { WorkflowKeys } from './workflow-keys.ts';
