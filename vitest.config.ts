/**
 * Owns how the tests run: which files, with which servers, for how long. Test files are isolated from each other but
 * share one Kafka, one Redis and one Postgres (see libs/testkit/src/servers/global-setup.ts).
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { QUICK_WASM } from './libs/testkit/src/node-flags.ts';

export default defineConfig({
  test: {
    include: ['libs/**/*.test.ts', 'services/**/*.test.ts', 'examples/**/*.test.ts', 'test/**/*.test.ts'],
    // What `npm run jaeger` compares needs a build of Jaeger that takes minutes; `npm run packages` builds and installs for a minute.
    exclude: [
      '**/node_modules/**',
      '**/fixtures/**',
      '.tmp/**',
      ...(process.env.TIDEMARK_JAEGER === undefined ? ['test/e2e/jaeger.test.ts'] : []),
      ...(process.env.TIDEMARK_PACKAGES === undefined ? ['test/packages/built/**'] : []),
    ],
    globalSetup: ['libs/testkit/src/servers/global-setup.ts'],
    pool: 'forks',
    // Vitest's default leaves one core idle, which on two cores means one file at a time.
    maxWorkers: '100%',
    // Files that open PGlite many times: V8 may abort when it frees code of a module that is loaded anew (nodejs/node#64500).
    execArgv: ['--no-wasm-code-gc', QUICK_WASM],
    // Commands are started hundreds of times.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('.cache/node-compile-cache', import.meta.url)) },
    testTimeout: 30_000,
    // What comes in a moment takes seconds where others are at work as well.
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
  },
});
