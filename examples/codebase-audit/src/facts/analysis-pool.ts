// Owns the threads that do the audit's heavy work: started when they are needed, at most one a core, kept for the process. A
// thread that dies takes its one job with it: the job's caller is told, and the next job gets a new thread. Idle threads keep no
// process alive. Must not know what a job does.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { MAX_THREADS } from '../limits.ts';
import type { JobName, Jobs } from './analysis.ts';
import type { AnswerMessage } from './analysis-thread.ts';

type Waiting = {
  name: JobName;
  input: unknown;
  resolve: (output: never) => void;
  reject: (error: unknown) => void;
};

const threadCount = Math.min(MAX_THREADS, availableParallelism());
const idle: Thread[] = [];
const waiting: Waiting[] = [];
let startedCount = 0;

/** Does a job in a thread. Rejects with what the job threw, or with the end of its thread. */
export function analyse<N extends JobName>(name: N, input: Jobs[N]['input']): Promise<Jobs[N]['output']> {
  return new Promise((resolve, reject) => {
    waiting.push({ name, input, resolve, reject });
    serve();
  });
}

function serve(): void {
  while (waiting.length > 0) {
    const thread = idle.pop() ?? (startedCount < threadCount ? new Thread() : undefined);
    if (thread === undefined) return;
    thread.take(waiting.shift()!);
  }
}

class Thread {
  readonly #worker = new Worker(new URL('./analysis-thread.ts', import.meta.url));
  #job: Waiting | undefined;

  constructor() {
    startedCount++;
    this.#worker.on('message', (message: AnswerMessage) => this.#answered(message));
    this.#worker.on('error', (error) => this.#job?.reject(error));
    this.#worker.on('exit', (code) => this.#gone(code));
  }

  take(job: Waiting): void {
    this.#job = job;
    this.#worker.ref();
    this.#worker.postMessage({ name: job.name, input: job.input });
  }

  #answered(message: AnswerMessage): void {
    const job = this.#job;
    this.#job = undefined;
    this.#worker.unref();
    idle.push(this);
    if (message.ok) job?.resolve(message.output as never);
    else job?.reject(message.error);
    serve();
  }

  #gone(code: number): void {
    startedCount--;
    const at = idle.indexOf(this);
    if (at >= 0) idle.splice(at, 1);
    this.#job?.reject(new Error(`the thread of a ${this.#job.name} job ended with ${code}`));
    serve();
  }
}
