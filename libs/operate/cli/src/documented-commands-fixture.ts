/**
 * Owns reading the commands that a page of docs shows (```console), and running them in order, as a reader does: those of `tidemark` in
 * this process, which is quicker, and all others in one shell, so that its variables and background processes last.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ended } from './called-cli-fixture.ts';
import { type CallOptions, callCli } from './called-cli-fixture.ts';

/** The commands of a checkout: `tidemark`, and the Node that the tests run on. */
const PROGRAMS = [path.resolve(import.meta.dirname, '../../../../node_modules/.bin'), path.dirname(process.execPath)];
/** Longest wait, in milliseconds, until a command prints what the page says. */
const PATIENCE_MS = 60_000;
/** Between two such attempts. */
const POLL_MS = 100;
/** Commands that change nothing, so they may be repeated until what they wait for has come. */
const LOOK = /^(?:cat|tidemark (?:approvals|bundle|admin doctor|ls|show|trace show|watch)) /;
/** What only a shell understands, outside of single quotes. */
const FOR_A_SHELL = /[&|;<>*$(]/;

export interface Called {
  readonly command: string;
  /** Texts that its output contains, in order. */
  readonly says: readonly string[];
}

export function commandsIn(text: string): readonly Called[] {
  const blocks = [...text.matchAll(/^```console\n((?:(?!```).*\n)*)```$/gm)].map(([, block]) => block!);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .filter((part) => part.trim() !== '')
      .map((part) => {
        const [command = '', ...says] = part.trimEnd().split('\n');
        return { command, says };
      }),
  );
}

/** As a shell splits it: words, and texts in single quotes. */
export const wordsOf = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);

/** The first of the texts that the output doesn't contain after the ones before it; undefined: it contains all. */
export function unsaid({ says }: Called, { out, err }: Ended): string | undefined {
  const output = `${out}${err}`;
  let from = 0;
  return says.find((text) => {
    const at = output.indexOf(text, from);
    from = at + text.length;
    return at < 0;
  });
}

/** One shell in a folder, for a page's commands. End it: its background processes end with it. */
export class Reader {
  readonly #options: CallOptions;
  readonly #shell: ChildProcess;
  #said = '';
  #onSaid: (() => void) | undefined;

  constructor(options: CallOptions) {
    this.#options = options;
    const env = { ...process.env, TIDEMARK_KAFKA_BROKERS: undefined, TIDEMARK_WORKFLOWS: undefined };
    const { PATH = '' } = process.env;
    this.#shell = spawn('bash', ['--noprofile', '--norc'], {
      ...{ cwd: options.cwd, detached: true, stdio: ['pipe', 'pipe', 'ignore'] },
      env: { ...env, PATH: [...PROGRAMS, PATH].join(path.delimiter) },
    });
    this.#shell.stdout?.on('data', (chunk: Buffer) => {
      this.#said += chunk;
      this.#onSaid?.();
    });
    this.#shell.stdin?.write('exec 2>&1\n');
  }

  /** Runs the command; a reading command is repeated until it succeeds and prints what it should, or patience is over. */
  async follow(called: Called): Promise<Ended> {
    const givenUpAt = performance.now() + PATIENCE_MS;
    for (;;) {
      const ended = await this.#run(called.command);
      const isRight = ended.code === 0 && unsaid(called, ended) === undefined;
      if (isRight || !LOOK.test(`${called.command} `) || performance.now() > givenUpAt) return ended;
      await sleep(POLL_MS);
    }
  }

  #run(command: string): Promise<Ended> {
    const unquoted = command.replace(/'[^']*'/g, '');
    const [program, ...args] = wordsOf(command);
    return program === 'tidemark' && !FOR_A_SHELL.test(unquoted)
      ? callCli(args, this.#options)
      : this.#inShell(command);
  }

  async #inShell(command: string): Promise<Ended> {
    const { promise, resolve } = Promise.withResolvers<Ended>();
    this.#said = '';
    this.#onSaid = () => {
      const ended = /^([\s\S]*?)\n?::ended (\d+)\n/.exec(this.#said);
      if (ended !== null) resolve({ out: ended[1]!, err: '', code: Number(ended[2]) });
    };
    // The shell empties the file of a background process some time later, and the next command would read what its predecessor said.
    const file = /^[^>]*[^0-9>]> (\S+) .*&$/.exec(command)?.[1];
    if (file !== undefined) this.#shell.stdin?.write(`: > ${file}\n`);
    this.#shell.stdin?.write(`${command}\n_code=$?; echo; echo "::ended $_code"\n`);
    return promise;
  }

  async end(): Promise<void> {
    const { pid } = this.#shell;
    if (pid === undefined || this.#shell.exitCode !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#shell.once('close', () => resolve());
    process.kill(-pid, 'SIGKILL');
    await promise;
  }
}
