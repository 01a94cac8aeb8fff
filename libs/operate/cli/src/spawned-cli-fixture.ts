/** Owns running the real command in tests: as a process of its own, in a temporary folder, ended with the test. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { CalledCli, callCli, type Ended } from './called-cli-fixture.ts';
import { CommandOutput } from './command-output-fixture.ts';

const MAIN = path.resolve(import.meta.dirname, 'main.ts');
export const AGENTS = path.resolve(import.meta.dirname, '../fixtures/agents.ts');

/** The part of a test that clean-up needs. */
export interface TestEnd {
  onTestFinished(cleanUp: () => Promise<void>): void;
}

export class SpawnedCli {
  readonly process: ChildProcess;
  readonly #said: CommandOutput;
  readonly #ended: Promise<Ended>;

  constructor(args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) {
    this.#said = new CommandOutput(`tidemark ${args.join(' ')}`);
    this.process = spawn(process.execPath, [MAIN, ...args], {
      cwd,
      env: {
        ...process.env,
        ...{ TIDEMARK_KAFKA_BROKERS: undefined, TIDEMARK_WORKFLOWS: undefined, TIDEMARK_URL: undefined },
        XDG_CONFIG_HOME: path.join(cwd, '.config'),
        ...env,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.process.stdin?.end();
    this.process.stdout?.on('data', (chunk: Buffer) => this.#said.add('out', chunk));
    this.process.stderr?.on('data', (chunk: Buffer) => this.#said.add('err', chunk));
    this.#ended = new Promise((resolve) => {
      this.process.once('close', (code) => {
        this.#said.end(code);
        resolve({ code, out: this.#said.out, err: this.#said.err });
      });
    });
  }

  ended(): Promise<Ended> {
    return this.#ended;
  }

  says(pattern: RegExp): Promise<void> {
    return this.#said.says(pattern);
  }

  /** Nothing of it survives: the system removes the process at once. */
  async kill(): Promise<Ended> {
    this.process.kill('SIGKILL');
    return this.#ended;
  }
}

/** A temporary folder, and commands in it that don't outlive the test. */
export async function cliFolder(context: TestEnd, env: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-cli-'));
  const spawned: SpawnedCli[] = [];
  const begun: CalledCli[] = [];
  context.onTestFinished(async () => {
    await Promise.all(spawned.map((each) => each.kill()));
    await Promise.all(begun.map((each) => each.interrupt()));
    await rm(folder, { recursive: true, force: true });
  });
  const start = (...args: string[]): SpawnedCli => {
    const cli = new SpawnedCli(args, folder, env);
    spawned.push(cli);
    return cli;
  };
  return {
    folder,
    /** Starts it without waiting. */
    start,
    /** Runs it to its end. */
    call: (...args: string[]): Promise<Ended> => start(...args).ended(),
    /** The same two in this process, which is quicker, where a process of its own is not the point. */
    begin(...args: string[]): CalledCli {
      const cli = new CalledCli(args, { cwd: folder, env });
      begun.push(cli);
      return cli;
    },
    here: (...args: string[]): Promise<Ended> => callCli(args, { cwd: folder, env }),
  };
}
