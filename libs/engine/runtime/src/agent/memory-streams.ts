/**
 * Owns the streams of memories that people and programs write outside of steps: one stream a subject, opened by the first write, which no
 * worker ever claims. These events and those of checkpoints are the truth about a subject's memory. It does not decide which write wins:
 * rows do, in Lamport order.
 */

import type { MemoryWrite } from '@tidemark/codec';
import {
  type EventId,
  eventId,
  InvalidError,
  MEMORY_PREFIX,
  memoryId,
  type TenantId,
  type WorkflowId,
} from '@tidemark/core';
import { refuseSecrets } from '@tidemark/memory';
import type { Digest } from '@tidemark/ports';
import { type Definition, type MemoryUpdate, OWN_DEFINITION } from '../definition/index.ts';
import { memoryWrite } from './commit-context.ts';
import { MEMORIES_PER_CHECKPOINT_MAX } from './limits.ts';

/** Definition of every such stream; its prefix is reserved. */
export const MEMORY_DEFINITION = 'tidemark.memory';

/** Such a stream is never closed. */
export const isMemoryStream = (workflow: WorkflowId): boolean => workflow.startsWith(MEMORY_PREFIX);

const nothing = (): never => {
  throw new InvalidError('memory-stream', 'A stream of memories has no steps and ends with no output.');
};

/** A definition without tasks: its workflows stay open, and nothing ever runs. */
export const memoryDefinition: Definition = {
  ...OWN_DEFINITION,
  name: MEMORY_DEFINITION,
  version: 1,
  steps: new Map(),
  parseBelief: () => null,
  parseOutput: nothing,
  begin: () => ({ belief: null, next: [] }),
};

/** One stream for each subject of a tenant. */
export const memoryWorkflow = (digest: Digest, tenant: TenantId, subject: string): WorkflowId =>
  memoryId(digest.sha256(JSON.stringify([tenant, subject])).slice(0, 32));

/** Checks the writes. Throws `InvalidError` (`memory-invalid`, `memory-secret`), which names the place. */
export function checkedMemories(updates: readonly MemoryUpdate[], where: string): readonly MemoryWrite[] {
  if (updates.length === 0 || updates.length > MEMORIES_PER_CHECKPOINT_MAX) {
    throw new InvalidError(
      'memory-invalid',
      `${where}: give 1 to ${MEMORIES_PER_CHECKPOINT_MAX} writes at once, not ${updates.length}.`,
    );
  }
  return updates.map((update, at) => {
    const write = memoryWrite(update, `${where}[${at}]`);
    refuseSecrets(`${where}[${at}]`, { value: write.value ?? null, words: write.words ?? '' });
    return write;
  });
}

/** Writes with the same key count once, within the stream's window of remembered ids. */
export const memoryEvent = (key: string): EventId => eventId(`memory:${key}`);
