export { canonicalJson, JSON_DEPTH_MAX, toJson } from './canonical.ts';
export {
  decodePayload,
  decodeRecord,
  encodePayload,
  encodeRecord,
  HEADER_MAX_BYTES,
  type NewEvent,
  payloadText,
} from './record.ts';
export { type ErrorNote, type LogNote, NAME_MAX_CHARS, type Payloads } from './schema.ts';
