// The audit's process: reads the command, runs it, and ends with its exit code. No logic of its own.

import { EXIT, exitCodeOf } from '@tidemark/host';
import { audit } from './audit.ts';
import { readCommand, USAGE, UsageError } from './command-line.ts';
import { takeInterrupts } from './interrupt.ts';
import { Screen } from './screen.ts';

async function main(): Promise<number> {
  try {
    const command = readCommand(process.argv.slice(2));
    if (command === undefined) {
      process.stdout.write(USAGE);
      return EXIT.ok;
    }
    return await audit(command, { screen: new Screen(), interrupt: takeInterrupts(), env: process.env });
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    process.stderr.write(`audit: ${said.replaceAll('\n', ' ')}\n`);
    if (process.env.TIDEMARK_DEBUG === '1') console.error(error);
    return error instanceof UsageError ? EXIT.usage : exitCodeOf(error);
  }
}

// Threads that still parse for nobody end with the process.
process.exit(await main());
