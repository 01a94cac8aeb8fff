/** Owns running the project's tools from its scripts, on the same Node, and never outliving the script. */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../', import.meta.url));

export interface RunOptions {
  /** Captures its output instead of showing it. */
  readonly capture?: boolean;
  /** Captures its output, and shows it. */
  readonly keep?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a script with Node; resolves with its exit code (130 for Ctrl-C) and, with `capture` or `keep`, what it printed. */
export async function runNode(
  args: readonly string[],
  { capture = false, keep = false, env = {} }: RunOptions = {},
): Promise<{ readonly code: number; readonly output: string }> {
  const output = capture || keep ? 'pipe' : 'inherit';
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', output, output],
  });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (keep) process.stdout.write(chunk);
    });
  }
  // Ctrl-C reaches the child by itself; this process waits for it to clean up. SIGTERM has to be passed on.
  const forward = (): void => void child.kill('SIGTERM');
  const ignore = (): void => undefined;
  process.on('SIGTERM', forward);
  process.on('SIGINT', ignore);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('error', reject);
  child.once('close', (exitCode, signal) => resolve(exitCode ?? (signal === 'SIGINT' ? 130 : 143)));
  const code = await promise.finally(() => {
    process.off('SIGTERM', forward);
    process.off('SIGINT', ignore);
  });
  return { code, output: Buffer.concat(chunks).toString('utf8') };
}
