export { canonicalJson } from '@tidemark/core';
export {
  BLOB_HEADER_MAX_BYTES,
  type RecordBlob,
  recordBlob,
  referringRecord,
  type SplitRecord,
  splitRecord,
  withPayload,
} from './blob-records.ts';
export { toJson } from './canonical.ts';
export { ObjectBlobs } from './object-blobs.ts';
export { PACKING_BASE_MAX_BYTES, type Packing, pack, unpack } from './packing.ts';
export type {
  ApprovalAsk,
  Asks,
  BundleOrigin,
  ChildOpening,
  Children,
  ErrorNote,
  ForkOrigin,
  LogNote,
  MemoryWrite,
  NextOpening,
  Payloads,
  ResetOrigin,
  ScopeChange,
  ScopeSize,
  SentPrompt,
  StoredFragment,
} from './payloads.ts';
export { portablePattern } from './portable-pattern.ts';
export { type PortableSchema, portableSchema } from './portable-schema.ts';
export { publishedSchema, wholeSchema } from './published-schema.ts';
export { foldFor, keepJson, keepValue, type Reading, readFor, readingNow } from './reading.ts';
export {
  checkHeader,
  decodePayload,
  decodeRecord,
  encodePayload,
  encodeRecord,
  entryOf,
  HEADER_MAX_BYTES,
  historyClosed,
  type NewEvent,
  parseContent,
  payloadText,
  recordUnreadable,
  workflowOf,
} from './record.ts';
export { NAME_MAX_CHARS, SEALED_VERSION } from './schema.ts';
export {
  openRecord,
  openText,
  SEALING_MAX_BYTES,
  type SealingKey,
  sealedWith,
  sealRecord,
  sealText,
  textSealedWith,
} from './sealing.ts';
export {
  mapSecrets,
  mapTexts,
  maskSecrets,
  maskSecretsIn,
  openSecret,
  SECRET_MASK,
  type SecretPath,
  sealedSecret,
  sealSecret,
  secretPlace,
} from './secret-fields.ts';
