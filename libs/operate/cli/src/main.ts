/** The `tidemark` command: gives the program its environment and exits with its code. No logic of its own. */

import { runCli } from './program/program.ts';
import { calledIn } from './session.ts';
import { Terminal } from './terminal.ts';

const { env, stdin, stdout, stderr } = process;
// A reader that has seen enough (`tidemark ls | head`) is no failure.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
const args = process.argv.slice(2);
const cwd = calledIn(env, process.cwd());
// Users' modules mean the same folder by a relative path.
if (cwd !== process.cwd()) process.chdir(cwd);
const terminal = new Terminal({ stdout, stderr, env, json: args.includes('--json') });
const code = await runCli(args, { terminal, env, cwd, stdin });
// Users' modules may keep the process alive (pools, servers), so it doesn't wait for them; its output is flushed first.
await Promise.all([stdout, stderr].map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve()))));
process.exit(code);
