/** Owns calling commands in tests without a process of their own, and holding a folder for many of them: opening it takes most of a command's time. */

import { EventEmitter } from 'node:events';
import path from 'node:path';
import { CommandOutput } from './command-output-fixture.ts';
import { readDefinitions } from './definitions.ts';
import { DEFAULT_FOLDER, folderTarget } from './place/folder.ts';
import { holdFolder } from './place/held-folder.ts';
import { runCli } from './program/program.ts';
import { Terminal } from './terminal.ts';

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface CallOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** A command in this process: its output while it runs, and Ctrl-C for it alone. */
export class CalledCli {
  readonly #said: CommandOutput;
  readonly #signals = new EventEmitter();
  readonly #ended: Promise<Ended>;
  #isInterrupted = false;

  constructor(args: readonly string[], { cwd, env: given = {}, stdin = '' }: CallOptions) {
    // Not those of the test runner, but for the cache of what programs are compiled to, which commands start.
    const { NODE_COMPILE_CACHE = '' } = process.env;
    const own = { XDG_CONFIG_HOME: path.join(cwd, '.config'), XDG_DATA_HOME: path.join(cwd, '.data') };
    const env = { ...own, NODE_COMPILE_CACHE, ...given };
    this.#said = new CommandOutput(`tidemark ${args.join(' ')}`);
    const stream = (name: 'out' | 'err') => ({
      write: (text: string | Uint8Array) => {
        this.#said.add(name, text);
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
    this.#ended = runCli(args, { terminal, env, cwd, stdin: chunks, signals: this.#signals }).then((code) => {
      this.#said.end(code);
      return { code, out: this.#said.out, err: this.#said.err };
    });
  }

  ended(): Promise<Ended> {
    return this.#ended;
  }

  says(pattern: RegExp): Promise<void> {
    return this.#said.says(pattern);
  }

  /** Its output so far. */
  get reported(): string {
    return `${this.#said.out}${this.#said.err}`;
  }

  /** Ctrl-C, once: a second one would end this process. */
  interrupt(): Promise<Ended> {
    if (!this.#isInterrupted) this.#signals.emit('SIGINT');
    this.#isInterrupted = true;
    return this.#ended;
  }
}

export const callCli = (args: readonly string[], options: CallOptions): Promise<Ended> =>
  new CalledCli(args, options).ended();

export interface HoldOptions extends CallOptions {
  readonly state?: string;
  /** Definitions that are known there, and run meanwhile. */
  readonly modules?: readonly string[];
  /** False: they are only known. */
  readonly runs?: boolean;
}

/** Holds the folder in this process until it is released; commands use it through its socket, as with `tidemark dev`. */
export async function hold({
  cwd,
  env = {},
  state,
  modules = [],
  runs = true,
}: HoldOptions): Promise<() => Promise<void>> {
  const definitions = modules.length === 0 ? [] : await readDefinitions(modules, cwd);
  const held = await holdFolder(folderTarget(state ?? DEFAULT_FOLDER, { env, cwd }), { definitions });
  if (runs && modules.length > 0) await held.startWorker({ onError: () => {} });
  await held.serve('dev');
  return () => held.close();
}
