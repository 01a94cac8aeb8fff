/**
 * Owns the command under test as a process: in a group of its own, of which nothing is left when it has ended or was killed, and in a time
 * limit. What it prints is kept for its last lines alone.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '@tidemark/core';

/** Of what it prints, the newest characters that are kept of each stream. */
const TAIL_MAX_CHARS = 65_536;
/** How long, in milliseconds, output is awaited that a process which left the group holds open. */
const OUTPUT_WAIT_MS = 1_000;

export interface Ran {
  /** Null: a signal ended it. */
  readonly code: number | null;
  /** The last line of standard output that isn't blank; empty where there is none. */
  readonly lastLine: string;
  readonly errors: string;
  readonly isLate: boolean;
}

export interface GroupOptions {
  /** A program with its arguments, or a line for the shell. */
  readonly command: readonly string[] | string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly limitMs: number;
  readonly keeper: Keeper;
}

export class ProcessGroup {
  readonly ended: Promise<Ran>;
  readonly #child: ChildProcess;
  readonly #keeper: Keeper;

  /** `ended` rejects with `ConfigError` (`command-unstartable`). */
  constructor({ command, env, cwd, limitMs, keeper }: GroupOptions) {
    const options = { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] } satisfies Parameters<
      typeof spawn
    >[2];
    this.#keeper = keeper;
    this.#child =
      typeof command === 'string'
        ? spawn(command, { ...options, shell: true })
        : spawn(command[0]!, command.slice(1), options);
    if (this.#child.pid !== undefined) keeper.keep(`group ${this.#child.pid}`);
    this.ended = this.#run(limitMs);
  }

  /** With -9, all of it, at once. False: it has ended already. */
  kill(): boolean {
    const { exitCode, signalCode } = this.#child;
    return exitCode === null && signalCode === null && this.#sweep();
  }

  /** False: nothing was there. */
  #sweep(): boolean {
    const { pid } = this.#child;
    try {
      return pid !== undefined && process.kill(-pid, 'SIGKILL');
    } catch {
      return false;
    }
  }

  async #run(limitMs: number): Promise<Ran> {
    const child = this.#child;
    const [out, errors] = [child.stdout, child.stderr].map((stream) => {
      const tail = { text: '' };
      stream?.setEncoding('utf8').on('data', (text: string) => {
        tail.text = (tail.text + text).slice(-TAIL_MAX_CHARS);
      });
      return tail;
    });
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      this.kill();
    }, limitMs);
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    try {
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once('error', (cause: NodeJS.ErrnoException) => reject(unstartable(child, cause)));
        child.once('exit', (ended) => resolve(ended));
      });
      // What it has left behind.
      this.#sweep();
      await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, OUTPUT_WAIT_MS).unref())]);
      const lines = out!.text.split('\n').map((line) => line.trim());
      return { code, lastLine: lines.findLast((line) => line !== '') ?? '', errors: errors!.text, isLate };
    } finally {
      clearTimeout(limit);
      child.stdout?.destroy();
      child.stderr?.destroy();
      if (child.pid !== undefined) this.#keeper.release(`group ${child.pid}`);
    }
  }
}

function unstartable(child: ChildProcess, cause: NodeJS.ErrnoException): ConfigError {
  const why = cause.code === 'ENOENT' ? 'there is no such program' : (cause.code ?? cause.message);
  return new ConfigError('command-unstartable', `${child.spawnfile} can't be started: ${why}.`, { cause });
}

/** Undoes what is kept when the crash test ends, however it does. */
export class Keeper {
  readonly #child = spawn(process.execPath, [fileURLToPath(new URL('./keeper.ts', import.meta.url))], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });

  constructor() {
    // A keeper that was killed keeps nothing; the test goes on.
    this.#child.on('error', () => {});
    this.#child.stdin.on('error', () => {});
  }

  keep(what: string): void {
    this.#child.stdin.write(`${what}\n`);
  }

  release(what: string): void {
    this.keep(`release ${what}`);
  }

  /** Does the work with a new folder, which is removed afterwards. */
  async inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const folder = path.join(os.tmpdir(), `tidemark-crash-test-${randomUUID()}`);
    this.keep(`folder ${folder}`);
    await mkdir(folder, { mode: 0o700 });
    try {
      return await work(folder);
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      this.release(`folder ${folder}`);
    }
  }

  async close(): Promise<void> {
    const exited = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin.end();
    if (this.#child.exitCode === null) await exited;
  }
}
