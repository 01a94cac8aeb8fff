/** What docs/comparison.md shows of other systems compiles against their packages, which are installed as for the benchmarks. */

import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { installPackages, PEERS_FOLDER } from '../bench/peers/install.ts';
import { ROOT } from './markdown.ts';

const TIMEOUT_MS = 600_000;
const run = promisify(execFile);

/** What the compiler says of the peers' folder. */
const compiled = (): Promise<string> =>
  run(process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', PEERS_FOLDER, '--pretty', 'false'], {
    cwd: PEERS_FOLDER,
  }).then(
    () => '',
    (error: Error & { readonly stdout?: string }) => error.stdout || String(error),
  );

it(
  'the refund compiles in each of them',
  async ({ onTestFinished }) => {
    await installPackages();
    expect(await compiled()).toBe('');
    const wrong = path.join(PEERS_FOLDER, 'refund/wrong.ts');
    onTestFinished(() => rm(wrong, { force: true }));
    await writeFile(wrong, "import { refund } from './temporal.ts';\nawait refund(1);\n");
    expect(await compiled()).toContain('refund/wrong.ts(2,14)');
  },
  TIMEOUT_MS,
);
