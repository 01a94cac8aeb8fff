/** Owns where tests, and what they start, keep their files: in the folder of the run. vitest loads this before each file. */

import { inject } from 'vitest';

const folder: string | undefined = inject('tidemarkTestsFolder');
if (folder !== undefined) process.env.TMPDIR = folder;
