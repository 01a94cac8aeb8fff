/** The entry point of segments: the archived log as Parquet files, the manifests beside them, and the chain over the records. */

export { CHAIN_START, chainOver } from './chain.ts';
export { decodeSegment } from './decode-segment.ts';
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
  encodeManifest,
  manifestDigest,
  type SegmentManifest,
} from './manifest.ts';
export {
  manifestName,
  manifestPrefix,
  parseManifestName,
  parseSegmentName,
  type SegmentPlace,
  segmentName,
  segmentPrefix,
} from './names.ts';
