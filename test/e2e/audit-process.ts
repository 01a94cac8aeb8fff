/** Owns the audit as a process for tests: started as `npm start` starts it, watched by what it prints, ended at a chosen moment. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');
export const AUDIT_MAIN = path.join(ROOT, 'examples/codebase-audit/src/main.ts');
/** What would change an audit without being said. */
const NEUTRAL = ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'AI_GATEWAY_API_KEY', 'AUDIT_MODEL', 'TIDEMARK_KAFKA_BROKERS'];

export interface Progress {
  readonly files: number;
  readonly checkpoint: number;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class AuditProcess {
  readonly #child: ChildProcess;
  readonly #watchers = new Set<() => void>();
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';
  #isOver = false;

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd = ROOT) {
    const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !NEUTRAL.includes(name)));
    this.#child = spawn(process.execPath, [AUDIT_MAIN, ...args], {
      cwd,
      env: { ...clean, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout!.on('data', (chunk: Buffer) => {
      this.stdout += chunk;
      this.#report();
    });
    this.#child.stderr!.on('data', (chunk: Buffer) => {
      this.stderr += chunk;
    });
    this.ended = once(this.#child, 'close').then(([code, signal]) => {
      this.#isOver = true;
      this.#report();
      return { code, signal, stdout: this.stdout, stderr: this.stderr };
    });
  }

  /** The newest progress that it told. */
  get progress(): Progress {
    const last = [...this.stdout.matchAll(/ % {2}([\d,]+)\/[\d,]+ files {2}checkpoint ([\d,]+)/g)].at(-1);
    return { files: numberOf(last?.[1]), checkpoint: numberOf(last?.[2]) };
  }

  /** Resolves when the condition holds; rejects when the process ends before. */
  until(condition: (audit: this) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const poll = (): void => {
        if (condition(this)) resolve();
        else if (this.#isOver) reject(new Error(`the audit ended before:\n${this.stdout}${this.stderr}`));
        else return;
        this.#watchers.delete(poll);
      };
      this.#watchers.add(poll);
      poll();
    });
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Ends it at once, as a lost machine would. */
  async kill(): Promise<Ended> {
    this.#child.kill('SIGKILL');
    return this.ended;
  }

  #report(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

/** Where it says that it resumes; undefined when it begins with the first file. */
export function resumedFrom(stdout: string): (Progress & { readonly run: string }) | undefined {
  const said = /Resuming from checkpoint ([\d,]+) of run (\S+): ([\d,]+) files? done/.exec(stdout);
  if (said === null) return undefined;
  return { checkpoint: numberOf(said[1]), run: said[2]!, files: numberOf(said[3]) };
}

const numberOf = (text: string | undefined): number => Number((text ?? '0').replaceAll(',', ''));

/**
 * Moments of a run, one in each of as many equal stretches, as shares of its files. A stretch is left after them: what a
 * process says of itself is behind what it did, and none of them may come after the end.
 */
export function momentsOf(count: number, random: () => number): number[] {
  return Array.from({ length: count }, (_, index) => (index + 0.1 + random() * 0.8) / (count + 1));
}
