/** The door of @tidemark/queue-memory. */

export { createMemoryHints } from './memory-hints.ts';
export { createMemoryLiveness, type MemoryLivenessOptions } from './memory-liveness.ts';
export { createMemoryQueue } from './memory-queue.ts';
