/**
 * Owns the manifest of a segment: the object beside it without which it doesn't count. It names the segment's object and digest, its place
 * in the chains, its workflows, and the whole fold state at its end, from which a fold resumes. The manifests of a partition adjoin one
 * another from offset 0. The name of each is the offset where it begins, and is created once, which arbitrates between two writers. Must
 * not do I/O, nor know how records are stored.
 */

import { hash } from 'node:crypto';
import { CorruptError, type Generation, type Sha256 } from '@tidemark/core';
import type { FoldedStream, SegmentRow, SegmentWorkflow, StreamRow } from '@tidemark/ports';
import { z } from 'zod';

/** Version of manifests that this code writes and reads. */
const MANIFEST_VERSION = 1;
/** Most bytes of a manifest: a partition's state may have large frontiers. */
const MANIFEST_MAX_BYTES = 64 * 1024 * 1024;

/** What is kept of a workflow that ended in the segment: its row, without the state. */
export type EndedWorkflow = Omit<StreamRow, 'state'>;

export interface ArchivedWorkflow extends SegmentWorkflow {
  readonly session: string | null;
  readonly user: string | null;
  /** Null unless it ended here. */
  readonly ended: EndedWorkflow | null;
}

export interface SegmentManifest extends Omit<SegmentRow, 'eventCount' | 'tier' | 'rowsDropped' | 'workflows'> {
  /** SHA-256 of the bytes of the manifest before this one; null for the first. */
  readonly previous: Sha256 | null;
  /** The chain over all events of the partition, before the segment's first and after its last. */
  readonly chainBefore: Sha256;
  readonly chainAfter: Sha256;
  /** The partition's folded state at `to`. */
  readonly generation: Generation;
  readonly streams: readonly FoldedStream[];
  readonly workflows: readonly ArchivedWorkflow[];
}

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);
const text = z.string();
const ended = z.looseObject({
  workflow: text,
  tenant: text,
  status: text,
  generation: count,
  closedInGeneration: count,
});
const schema = z.object({
  v: z.literal(MANIFEST_VERSION),
  partition: count,
  from: count,
  to: z.int().min(1),
  object: text,
  digest,
  bytes: count,
  rawBytes: count,
  firstAtMs: z.number(),
  lastAtMs: z.number(),
  writtenAtMs: z.number(),
  previous: digest.nullable(),
  chainBefore: digest,
  chainAfter: digest,
  generation: count,
  streams: z.array(z.object({ state: text, tasks: z.array(text) })),
  workflows: z.array(
    z.object({
      workflow: text,
      tenant: text,
      eventCount: count,
      rawBytes: count,
      opens: z.boolean(),
      closes: z.boolean(),
      session: text.nullable(),
      user: text.nullable(),
      ended: ended.nullable(),
    }),
  ),
});

export const encodeManifest = (manifest: SegmentManifest): Uint8Array =>
  Buffer.from(`${JSON.stringify({ v: MANIFEST_VERSION, ...manifest })}\n`);

/** The digest that the next manifest names. */
export const manifestDigest = (bytes: Uint8Array): Sha256 => hash('sha256', bytes);

/**
 * `name` is the object's. Throws `CorruptError`: `manifest-damaged` (truncated, changed, or no manifest; names the place of the problem),
 * `manifest-newer`.
 */
export function decodeManifest(name: string, bytes: Uint8Array): SegmentManifest {
  const parsed = bytes.length > MANIFEST_MAX_BYTES ? undefined : parseJson(bytes);
  const v = (parsed as { readonly v?: unknown } | null | undefined)?.v;
  if (typeof v === 'number' && v > MANIFEST_VERSION) {
    throw new CorruptError(
      'manifest-newer',
      `${name} has version ${v}; this release reads ${MANIFEST_VERSION}. Use the release that wrote it, or a newer one.`,
      { name, v },
    );
  }
  const checked = schema.safeParse(parsed);
  if (checked.success && checked.data.to > checked.data.from) {
    const { v: _, ...manifest } = checked.data;
    return manifest as unknown as SegmentManifest;
  }
  const issue = checked.error?.issues[0];
  const problem =
    issue === undefined ? 'to: is not after from' : `${issue.path.map(String).join('.')}: ${issue.message}`;
  throw new CorruptError(
    'manifest-damaged',
    `${name} is not a manifest of a segment (${parsed === undefined ? 'not JSON, or too large' : problem}). Restore the object from a copy; nothing is trimmed meanwhile.`,
    { name },
  );
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
