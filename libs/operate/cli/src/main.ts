/** The `tidemark` command: gives the program its environment and exits with its code. No logic of its own. */

import { EXIT } from '@tidemark/host/exit-codes';
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
const args = process.argv.slice(2);
const cwd = calledIn(env, process.cwd());
// Users' modules mean the same folder by a relative path.
if (cwd !== process.cwd()) process.chdir(cwd);
const terminal = new Terminal({ stdout, stderr, env, json: args.includes('--json') });
const code = await runCli(args, { terminal, env, cwd, stdin });
// Users' modules may keep the process alive (pools, servers), so it doesn't wait for them; its output is flushed first.
await Promise.all([stdout, stderr].map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve()))));
end(code);
