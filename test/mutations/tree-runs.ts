/** Owns the runs of test files in one tree, with and without a mutation, by a process that outlives a run and never this one. */

import { type ChildProcess, fork } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestRun } from './judge.ts';
import { type Mutation, mutated } from './mutation.ts';
import type { RunRequest, TestsOfFile } from './runner.ts';

/** A run that takes longer, in milliseconds, is ended; the slowest of the list take some ten seconds. */
const RUN_MAX_MS = 120_000;
/** The same of many files, without any mutation. */
const RUN_OF_MANY_MAX_MS = 900_000;
/** How much of what a runner that ended has written is told, in characters. */
const OUTPUT_REPORTED_CHARS = 2_000;

export class TreeRuns {
  readonly #tree: string;
  #runner: { readonly child: ChildProcess; output: string } | undefined;
  /** Edited or restored since the last run. */
  #changed: readonly string[] = [];

  constructor(tree: string) {
    this.#tree = tree;
  }

  /** Runs the files as they are, in one process; resolves with what each showed. */
  async run(files: readonly TestsOfFile[]): Promise<readonly TestRun[]> {
    return this.#ask({ files, failsWith: undefined, changed: this.#takeChanged() }, RUN_OF_MANY_MAX_MS);
  }

  /** Runs the test of the mutation while the tree has it. Throws when an edit isn't found exactly once. */
  async runWith(mutation: Mutation, tests: TestsOfFile): Promise<TestRun> {
    const { file, failsWith } = mutation;
    const name = path.join(this.#tree, file);
    const text = await readFile(name, 'utf8');
    await writeFile(name, mutated(text, mutation));
    try {
      const changed = [file, ...this.#takeChanged()];
      const [found] = await this.#ask({ files: [tests], failsWith, changed }, RUN_MAX_MS);
      return found!;
    } finally {
      await writeFile(name, text);
      this.#changed = [file];
    }
  }

  /** Ends its process, with those that it started: it leads a group. */
  end(): void {
    const pid = this.#runner?.child.pid;
    this.#runner = undefined;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }

  #takeChanged(): readonly string[] {
    const changed = this.#changed;
    this.#changed = [];
    return changed;
  }

  async #ask(request: RunRequest, maxMs: number): Promise<readonly TestRun[]> {
    this.#runner ??= this.#start();
    const { child } = this.#runner;
    const { promise, resolve } = Promise.withResolvers<readonly TestRun[]>();
    const fail = (why: string): void => {
      resolve(request.files.map(() => ({ kind: 'broken', why })));
      this.end();
    };
    const timer = setTimeout(() => fail(`the run did not end within ${maxMs} ms`), maxMs);
    const ended = (): void => fail(`the runner of the tests ended: ${this.#runner?.output}`);
    const answered = (found: unknown): void => resolve(found as readonly TestRun[]);
    child.once('message', answered).once('close', ended);
    child.send(request);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      child.off('message', answered).off('close', ended);
    }
  }

  #start(): { readonly child: ChildProcess; output: string } {
    const child = fork(path.join(this.#tree, 'test/mutations/runner.ts'), {
      cwd: this.#tree,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const runner = { child, output: '' };
    child.stderr!.on('data', (chunk: Buffer) => {
      runner.output = (runner.output + chunk.toString()).slice(-OUTPUT_REPORTED_CHARS);
    });
    return runner;
  }
}
