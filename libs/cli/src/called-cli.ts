/** Owns calling commands in tests without a process of their own: quick, for those that hold no folder. */

import { runCli } from './program.ts';
import type { Ended } from './spawned-cli.ts';
import { Terminal } from './terminal.ts';

export interface CallOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

export async function callCli(args: readonly string[], { cwd, env = {}, stdin = '' }: CallOptions): Promise<Ended> {
  const written = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => ({
    write(text: string | Uint8Array) {
      written[name] += String(text);
      return true;
    },
  });
  const terminal = new Terminal({
    stdout: stream('out') as never,
    stderr: stream('err') as never,
    env,
    json: args.includes('--json'),
  });
  const chunks = (async function* () {
    yield Buffer.from(stdin);
  })();
  const code = await runCli(args, { terminal, env, cwd, stdin: chunks });
  return { code, ...written };
}
