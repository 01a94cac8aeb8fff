/** Owns what every random test draws from: the run's seed. vitest loads this before each file, so that no test can forget it. */

import fc from 'fast-check';
import { runSeed } from './run-seed.ts';

// A failure prints the seed and the path of the example; `TIDEMARK_TEST_SEED` repeats all of its file.
fc.configureGlobal({ seed: runSeed() });
