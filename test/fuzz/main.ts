/** `npm run fuzz [-- SECONDS]`: the fuzzer for as long as that, a minute by default, with every case that it can think of. */

import { fuzz } from './fuzzer.ts';

const seconds = Number(process.argv[2] ?? 60);
const { exitCode } = await fuzz({
  args: ['--phases', 'coverage,fuzzing', '--workers', '1', '--generation-deterministic', '--max-time', String(seconds)],
  onOutput: (text) => process.stdout.write(text),
});
process.exitCode = exitCode;
