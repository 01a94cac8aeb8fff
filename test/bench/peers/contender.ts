/** Owns what the bench asks of every system that it measures, Tidemark among them: the same of each. */

import type { Given, RunRequest } from './workspace/protocol.ts';

export const contenderNames = [
  'tidemark',
  'tidemark-plain',
  'tidemark-embedded',
  'tidemark-functions',
  'tidemark-embedded-functions',
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
  /**
   * `noticed`: by the system itself, beside whose dying worker a second one has already run workflows. `told`: by the bench, and the successor
   * is loaded but has run nothing. Times of one kind say nothing about those of the other.
   */
  readonly death: 'noticed' | 'told';
  /** How a run waits for the signal that wakes it, in a sentence; absent: it can't. */
  readonly wakes?: string;
  /** A step that ended is never done again, whatever dies, and a workflow goes on behind it. */
  readonly isDurableExecution: boolean;
  /** Why its time of a sequential step is not published: it is not known what it measures. */
  readonly sequentialWithheld?: string;
  open(dependencies: Dependencies): Promise<System>;
}

export interface Dependencies {
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
  /** Sends the signal to all of them; resolves when it is accepted. */
  wake(request: RunRequest, by: Worker): Promise<void>;
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
