/**
 * Owns how the tests run: which files, in which order, with which servers. Test files share a few processes, whose modules are
 * loaded once, and one Kafka, one Redis and one Postgres (see libs/testkit/src/servers/global-setup.ts). So a test puts back what it
 * changes of its process.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/stages/longest-first.ts';
import { QUICK, selectionOf } from './scripts/stages/stages.ts';
import { runSeed } from './test/run-seed.ts';

/** Set by `npm test` and `npm run verify`; without it every file can be run. */
const stages = (process.env.TIDEMARK_TEST_STAGES ?? '').split(',').filter((name) => name !== '');
const { include, exclude } = selectionOf(stages);

export default defineConfig({
  test: {
    include: [...include],
    // What `npm run jaeger` compares needs a build of Jaeger that takes minutes; `npm run packages` builds and installs for a minute.
    exclude: [
      '**/node_modules/**',
      '**/fixtures/**',
      '.tmp/**',
      ...exclude,
      ...(process.env.TIDEMARK_JAEGER === undefined ? ['test/e2e/jaeger.test.ts'] : []),
      ...(process.env.TIDEMARK_PACKAGES === undefined ? ['test/packages/built/**'] : []),
    ],
    globalSetup: ['libs/testkit/src/servers/global-setup.ts'],
    setupFiles: [
      'libs/testkit/src/servers/tests-folder.ts',
      'libs/testkit/src/servers/print-evidence.ts',
      'test/random-tests.ts',
    ],
    pool: 'forks',
    // Half of the time of 400 files was that of loading the same modules; what a file leaves behind in modules is a fault of theirs.
    isolate: false,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    sequence: { sequencer: LongestFirst },
    // On two cores: many files wait for servers, processes and disks. Beside the long stages there are mutations.
    maxWorkers: stages.length > 0 && !stages.includes(QUICK) ? 3 : 4,
    // Files that open PGlite many times: V8 may abort when it frees code of a module that is loaded again (nodejs/node#64500).
    execArgv: ['--no-wasm-code-gc'],
    // Commands are started hundreds of times.
    env: {
      NODE_COMPILE_CACHE: fileURLToPath(new URL('.cache/node-compile-cache', import.meta.url)),
      // Asked of git once for all processes.
      TIDEMARK_TEST_SEED: String(runSeed()),
    },
    // These only guard against hanging: a busy machine needs many times what a quiet one does.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
