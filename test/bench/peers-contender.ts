/** Owns what the bench asks of every system that it measures, Tidemark among them: the same of each. */

import type { Given, RunRequest } from './peers/protocol.ts';

export const contenderNames = [
  'tidemark',
  'tidemark-embedded',
  'restate',
  'dbos',
  'temporal',
  'langgraph',
  'bullmq',
] as const;
export type ContenderName = (typeof contenderNames)[number];

export interface Contender {
  readonly name: ContenderName;
  /** As people read it, with versions. */
  readonly title: string;
  /** How it is run, in a sentence: what is durable when a step has ended. */
  readonly settings: string;
  /** What notices a death, and who goes on, in a sentence. */
  readonly takeOver: string;
  open(surroundings: Surroundings): Promise<System>;
}

export interface Surroundings {
  readonly dataIn: 'memory' | 'disk';
  /** Where steps tell about themselves. */
  readonly notesPort: number;
}

export interface System {
  /** The first worker, which stands ready with the client when `open` has resolved. */
  readonly worker: Worker;
  /** Processes by what they are, the workers not among them: servers and their own children are counted together. */
  readonly servers: Readonly<Record<string, number>>;
  /** Starts a worker beside those that run: a standby. */
  startWorker(): Promise<Worker>;
  /** Resolves when all of them have ended. Of a library, `by` is the worker that is asked. */
  run(request: RunRequest, by: Worker): Promise<void>;
  /** How many bytes the stores hold; of what only bridges a crash (Postgres's WAL) nothing. */
  storedBytes(): Promise<number>;
  close(): Promise<void>;
}

export interface Worker {
  readonly pid: number;
  /** Ends it at once, as a lost machine would. */
  kill(): Promise<void>;
  /** Of a system that notices no death by itself: the standby is told what to go on with. */
  readonly takeOver?: (given: readonly Given[]) => Promise<void>;
}
