/** The entry point of segments: the archived log as Parquet files, the manifests beside them, and the chain over the records. */

export { CHAIN_START, chainOver } from './chain.ts';
export { type DecodedSegment, decodeSegment } from './decode-segment.ts';
export {
  type EncodedSegment,
  encodeSegment,
  encodeSegmentAside,
  type SegmentInput,
  type SegmentRecord,
} from './encode-segment.ts';
export {
  type ArchivedWorkflow,
  decodeManifest,
  type EndedWorkflow,
  encodeManifest,
  manifestDigest,
  type SegmentManifest,
} from './manifest.ts';
export {
  type ManifestPlace,
  manifestName,
  manifestPrefix,
  parseManifestName,
  parseSegmentName,
  type SegmentPlace,
  segmentName,
  segmentPrefix,
} from './names.ts';
export type { ColumnName } from './schema.ts';
