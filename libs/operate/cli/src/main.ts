/** The `tidemark` command: gives the program its environment and exits with its code. No logic of its own. */

import { ConfigError } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { surviveUnawaitedCalls } from '@tidemark/host/unawaited-calls';
import { reportFailure } from './failures.ts';
import { runCli } from './program/program.ts';
import { calledIn } from './session.ts';
import { Terminal } from './terminal.ts';

const { env, stdin, stdout, stderr } = process;
let isDone = false;
const end = (code: number): never => {
  isDone = true;
  return process.exit(code);
};
for (const stream of [stdout, stderr]) {
  stream.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // A reader that has seen enough (`tidemark ls | head`) is no failure.
    if (code === 'EPIPE') end(EXIT.ok);
    if (stream === stdout) stderr.write(`error: The output can't be written: ${message}\n`);
    end(EXIT.unavailable);
  });
}
process.on('exit', (code) => {
  if (isDone || code !== EXIT.ok) return;
  stderr.write(
    'error: A module of yours waits, at its top level, for something that never comes (await). Move that wait into a step.\n',
  );
  process.exitCode = EXIT.config;
});
surviveUnawaitedCalls((line) => stderr.write(`warning: ${line}\n`));
const args = process.argv.slice(2);
// What follows `--` is for another program.
const own = args.slice(0, [...args, '--'].indexOf('--'));
const terminal = new Terminal({ stdout, stderr, env, json: own.includes('--json') });
const here = workingFolder();
const cwd = calledIn(env, here);
// Users' modules mean the same folder by a relative path.
if (cwd !== here) process.chdir(cwd);
const code = await runCli(args, { terminal, env, cwd, stdin });
// Users' modules may keep the process alive (pools, servers), so it doesn't wait for them; its output is flushed first.
await Promise.all([stdout, stderr].map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve()))));
end(code);

function workingFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    const message =
      'The folder that this command was typed in was deleted. Go to one that exists (cd), and type it again.';
    return end(reportFailure(new ConfigError('folder-deleted', message, { cause }), { terminal, env }));
  }
}
