/** Owns running the real command in tests: as a process of its own, in a temporary folder, ended with the test. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { callCli } from './called-cli.ts';

const MAIN = path.resolve(import.meta.dirname, 'main.ts');
/** See testkit's node-flags.ts. */
const QUICK_WASM = '--liftoff-only';
export const AGENTS = path.resolve(import.meta.dirname, '../fixtures/agents.ts');

/** Longest wait, in milliseconds, for anything a spawned command does; a busy machine starts it slowly. */
const PATIENCE_MS = 90_000;

/** The part of a test that clean-up needs. */
export interface TestEnd {
  onTestFinished(cleanUp: () => Promise<void>): void;
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export class SpawnedCli {
  readonly process: ChildProcess;
  readonly #ended: Promise<Ended>;
  #out = '';
  #err = '';
  #onOutput: (() => void) | undefined;

  constructor(args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) {
    this.process = spawn(process.execPath, [QUICK_WASM, MAIN, ...args], {
      cwd,
      env: { ...process.env, TIDEMARK_KAFKA_BROKERS: undefined, TIDEMARK_WORKFLOWS: undefined, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.process.stdin?.end();
    this.process.stdout?.on('data', (chunk: Buffer) => {
      this.#out += chunk;
      this.#onOutput?.();
    });
    this.process.stderr?.on('data', (chunk: Buffer) => {
      this.#err += chunk;
      this.#onOutput?.();
    });
    this.#ended = new Promise((resolve) => {
      this.process.once('close', (code) => {
        resolve({ code, out: this.#out, err: this.#err });
        this.#onOutput?.();
      });
    });
  }

  ended(): Promise<Ended> {
    return this.#ended;
  }

  /** Resolves once what was written, on either stream, fits. */
  async says(pattern: RegExp): Promise<void> {
    const found = (): boolean => pattern.test(this.#out) || pattern.test(this.#err);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const explain = (why: string): Error =>
      new Error(`${why}: ${pattern}\n--- stdout\n${this.#out}\n--- stderr\n${this.#err}`);
    const timer = setTimeout(() => reject(explain('not said in time')), PATIENCE_MS);
    this.#onOutput = () => {
      if (found()) resolve();
      else if (this.process.exitCode !== null) reject(explain(`ended with ${this.process.exitCode} before it said`));
    };
    this.#onOutput();
    await promise.finally(() => clearTimeout(timer));
  }

  /** Nothing of it runs on: the system takes the process away at once. */
  async kill(): Promise<Ended> {
    this.process.kill('SIGKILL');
    return this.#ended;
  }
}

/** A temporary folder, and commands in it that don't outlive the test. */
export async function cliFolder(context: TestEnd, env: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-cli-'));
  const spawned: SpawnedCli[] = [];
  context.onTestFinished(async () => {
    await Promise.all(spawned.map((each) => each.kill()));
    await rm(folder, { recursive: true, force: true });
  });
  const start = (...args: string[]): SpawnedCli => {
    const cli = new SpawnedCli(args, folder, env);
    spawned.push(cli);
    return cli;
  };
  return {
    folder,
    /** Starts it and goes on. */
    start,
    /** Runs it to its end. */
    call: (...args: string[]): Promise<Ended> => start(...args).ended(),
    /** The same in this process, which is quicker: where a process of its own is not the point. */
    here: (...args: string[]): Promise<Ended> => callCli(args, { cwd: folder, env }),
  };
}
