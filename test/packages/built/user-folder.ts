/**
 * Owns a folder of a user's, outside the repository: what is run in it sees neither the repository's programs nor npm's settings for it.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@tidemark/testkit/eventually';

const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;
const FIRST_WORDS_TIMEOUT_MS = 60_000;

export class UserFolder {
  readonly path = mkdtempSync(path.join(tmpdir(), 'tidemark-packages-'));
  readonly env: NodeJS.ProcessEnv;
  readonly #started: Started[] = [];

  /** `registry`: the one that npm asks here; undefined: the one that it is set to. */
  constructor(registry?: string) {
    this.env = environment(registry);
  }

  /** Runs lines of a shell, in `inside` of the folder, stopping at the first that fails. Throws with all that was said. */
  async run(script: string, { inside = '.', env = {} }: Within = {}): Promise<string> {
    const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', script], {
      ...{ cwd: path.join(this.path, inside), env: { ...this.env, ...env }, maxBuffer: OUTPUT_MAX_BYTES },
    }).catch((error: Error & { stdout?: string; stderr?: string }) => {
      throw new Error(`${script}\n${error.stdout ?? ''}${error.stderr ?? ''}`, { cause: error });
    });
    return stdout;
  }

  /** Starts a command as a terminal does: it and what it starts are one group. */
  start(command: string, { inside = '.', env = {} }: Within = {}): Started {
    const child = spawn('sh', ['-c', `exec ${command}`], {
      ...{ cwd: path.join(this.path, inside), env: { ...this.env, ...env }, detached: true },
    });
    const started = new Started(child);
    this.#started.push(started);
    return started;
  }

  async remove(): Promise<void> {
    for (const started of this.#started) await started.end('SIGKILL');
    await rm(this.path, { recursive: true, force: true });
  }
}

interface Within {
  /** A folder of this folder. */
  readonly inside?: string;
  readonly env?: NodeJS.ProcessEnv;
}

export class Started {
  readonly #child: ChildProcess;
  said = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (this.said += String(chunk)));
  }

  /** What the pattern's first group holds, once it was said. Throws with all that was said when it ends before. */
  async says(pattern: RegExp): Promise<string> {
    const seen = await eventually(
      () => pattern.exec(this.said) ?? (this.#hasEnded() ? ('ended' as const) : undefined),
      {
        timeoutMs: FIRST_WORDS_TIMEOUT_MS,
        what: `a command that says ${pattern}`,
      },
    );
    if (seen !== 'ended') return seen[1] ?? seen[0];
    throw new Error(`it ended with ${this.#child.exitCode} before it said ${pattern}, but said:\n${this.said}`);
  }

  /** Sends the signal to the whole group, as Ctrl-C does; resolves to the exit code. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (!this.#hasEnded()) {
      const closed = once(this.#child, 'close');
      process.kill(-this.#child.pid!, signal);
      await closed;
    }
    return this.#child.exitCode;
  }

  #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}

/** Node as here; npm as the machine has it; none of what `npm run` tells the programs that it starts. */
function environment(registry: string | undefined): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|INIT_CWD$|NODE_(ENV|OPTIONS|PATH|COMPILE_CACHE)$|VITEST|TIDEMARK_|CI$)/i.test(name),
  );
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => !folder.includes('node_modules'));
  return {
    ...Object.fromEntries(kept),
    PATH: [path.dirname(process.execPath), ...folders].join(path.delimiter),
    ...{ npm_config_audit: 'false', npm_config_fund: 'false', npm_config_update_notifier: 'false' },
    ...(registry !== undefined && { npm_config_registry: registry }),
  };
}
