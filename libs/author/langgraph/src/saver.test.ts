/** The framework's suites for checkpointers on the embedded default. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Host, openEmbedded } from '@tidemark/host';
import { afterAll, beforeAll } from 'vitest';
import { checkpointerSuites } from './suite-fixture.ts';

let host: Host;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-saver-'));
  host = await openEmbedded({ folder });
});
afterAll(async () => {
  await host.close();
  await rm(folder, { recursive: true });
});

checkpointerSuites('embedded', () => host);
