/** A few hundred cases from the API's own document, the same in each run; `npm run fuzz` asks for longer. */

import { expect, test } from 'vitest';
import { fuzz } from './fuzzer.ts';

/** Of each route; each example is a request. */
const EXAMPLES = 4;
const SEED = 7;
/** Installing it takes half a minute where the network is slow. */
const TIMEOUT_MS = 180_000;

test('no route answers with a 5xx, with what is not documented, or not at all', { timeout: TIMEOUT_MS }, async () => {
  const args = ['--phases', 'fuzzing', '--max-examples', String(EXAMPLES), '--seed', String(SEED), '--workers', '1'];
  const { exitCode, output } = await fuzz({ args: [...args, '--generation-deterministic'] });
  expect(exitCode, output).toBe(0);
  expect(output).toMatch(/\d+ generated/);
});
