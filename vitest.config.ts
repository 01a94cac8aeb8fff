/**
 * Owns how the tests run: which files, with which servers, for how long. Test files are isolated from each other but
 * share one Kafka, one Redis and one Postgres (see libs/testkit/src/servers/global-setup.ts).
 */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['libs/**/*.test.ts', 'services/**/*.test.ts', 'examples/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/fixtures/**', '.tmp/**'],
    globalSetup: ['libs/testkit/src/servers/global-setup.ts'],
    pool: 'forks',
    // Vitest's default leaves one core idle, which on two cores means one file at a time.
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
  },
});
