/** Owns the framework's own suite for checkpointers, on the embedded default. */

import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Host, openEmbedded } from '@tidemark/host';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TidemarkSaver } from './saver.ts';

// The suite takes vitest's functions from the global object.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });
const { validate, deltaChannelHistoryTests } = await import('@langchain/langgraph-checkpoint-validation');

let host: Host;
let folder: string;
const initializer = {
  checkpointerName: '@tidemark/langgraph, embedded',
  async beforeAll() {
    folder = mkdtempSync(path.join(os.tmpdir(), 'tidemark-saver-'));
    host = await openEmbedded({ folder });
  },
  async afterAll() {
    await host.close();
    rmSync(folder, { recursive: true });
  },
  beforeAllTimeout: 60_000,
  createCheckpointer: () => new TidemarkSaver(host, { name: `langgraph-${++count}` }),
};
let count = 0;
validate(initializer);
deltaChannelHistoryTests(initializer);
