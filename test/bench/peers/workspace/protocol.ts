/**
 * Owns the words that the bench and the processes it measures say to each other. The bench is the parent: it speaks to a client over
 * Node's channel of messages; steps tell about themselves over a socket of the bench, alike in every system.
 */

/**
 * `quiet`: steps tell nothing. `timed`: a workflow's last step tells when each began. `paced`: each takes a while, and tells at once.
 * `woken`: each tells at once, and the last one waits for the signal `WAKE`.
 */
export type Mode = 'quiet' | 'timed' | 'paced' | 'woken';

/** Start `count` workflows at once, of `steps` steps one after another, and answer when all are known to have ended. */
export interface RunRequest {
  /** Ids of the workflows are `{prefix}-{number}`. */
  readonly prefix: string;
  readonly count: number;
  readonly steps: number;
  readonly mode: Mode;
  /** Of the text of a step; absent: `STEP_BYTES`. */
  readonly bytes?: number;
}

/** What a workflow is given. */
export interface Given {
  readonly id: string;
  readonly steps: number;
  readonly mode: Mode;
  readonly bytes: number;
}

export interface Command {
  readonly id: number;
  readonly run?: RunRequest;
  /** Send the signal to each of these, all at once. */
  readonly wake?: RunRequest;
  /** To a standby of a system that does not notice a death by itself: go on with these, which the dead one ran. */
  readonly takeOver?: readonly Given[];
}

/** From the child; a ready one says so once, with `id` 0. */
export interface Answer {
  readonly id: number;
  readonly tookMs?: number;
  readonly error?: string;
}

/** A line that a step writes to the bench's socket. */
export interface Note {
  readonly workflow: string;
  readonly pid: number;
  /** The step that has just begun (`paced`, `woken`), or the last one (`timed`). */
  readonly n: number;
  readonly isLast: boolean;
  /** Milliseconds of the wall clock, with fractions: of this step (`paced`, `woken`), or of each (`timed`). */
  readonly startedMs: readonly number[];
}

/** Whom a process of a peer talks to; the bench gives it in the environment. */
export const ADDRESS_VARIABLE = 'PEERS_ADDRESS';
/** The port of the bench's socket. */
export const NOTES_VARIABLE = 'PEERS_NOTES_PORT';
/** The port that a worker listens on, of those that listen. */
export const WORKER_PORT_VARIABLE = 'PEERS_WORKER_PORT';
/** `yes`: the process is loaded, and begins to work only when it is told to take over. */
export const STANDBY_VARIABLE = 'PEERS_STANDBY';
/** `yes`: Tidemark runs functions. */
export const FUNCTION_VARIABLE = 'PEERS_FUNCTION';

/** Workflows that one worker runs at once, the same in every system. */
export const CONCURRENCY = 1_000;
export const STEP_BYTES = 1_024;
/** The name of the signal. */
export const WAKE = 'go';
/** How long a paced step takes. */
export const PACED_STEP_MS = 5;

/** The step waits for the signal. */
export const isWoken = ({ mode, steps }: Given, n: number): boolean => mode === 'woken' && n === steps;

export const givenOf = ({ prefix, count, steps, mode, bytes = STEP_BYTES }: RunRequest): readonly Given[] =>
  Array.from({ length: count }, (_, n) => ({ id: `${prefix}-${n}`, steps, mode, bytes }));
