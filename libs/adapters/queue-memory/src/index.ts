/** Entry point of @tidemark/queue-memory. */

export { createMemoryCalls } from './memory-calls.ts';
export { createMemoryHints } from './memory-hints.ts';
export { createMemoryLiveness } from './memory-liveness.ts';
export { createMemoryQueue } from './memory-queue.ts';
export { createMemoryWatch } from './memory-watch.ts';
