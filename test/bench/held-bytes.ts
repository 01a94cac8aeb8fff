/** Loaded into a measured service by `--import`, with `--expose-gc`: on SIGUSR2 it writes what the process holds into a file named by its pid. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';

process.on('SIGUSR2', () => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  writeFileSync(path.join(process.env.HELD_BYTES_FOLDER!, String(process.pid)), String(heapUsed + external));
});
