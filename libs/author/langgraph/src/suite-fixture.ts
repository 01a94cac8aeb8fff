/** Owns the framework's own suites for checkpointers, on whatever host a test opens. */

import type { Host } from '@tidemark/host';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TidemarkSaver } from './saver.ts';

// The suites take vitest's functions from the global object.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });
const { validate, deltaChannelHistoryTests } = await import('@langchain/langgraph-checkpoint-validation');

/** Registers every case of them. Each group of cases has threads of its own. */
export function checkpointerSuites(name: string, host: () => Host): void {
  let count = 0;
  const initializer = {
    checkpointerName: `@tidemark/langgraph, ${name}`,
    createCheckpointer: () => new TidemarkSaver(host(), { name: `langgraph-${++count}` }),
  };
  validate(initializer);
  deltaChannelHistoryTests(initializer);
}
