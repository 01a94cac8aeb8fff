/** Owns what is sent to those who watch a workflow while a step runs. Nothing of it is in the log. */

import type { EffectKey, Epoch, TaskId, WorkflowId } from '@tidemark/core';
import type { Clock, Kept } from '@tidemark/ports';
import type { Progress } from './definition.ts';
import type { ModelDelta, ModelToolCall } from './model.ts';

/**
 * Shortest time between two reports of one task's progress, in milliseconds; longest text of a report, in characters; and tasks whose
 * latest report is remembered.
 */
export const PROGRESS_PERIOD_MS = 100;
export const PROGRESS_TEXT_MAX_CHARS = 500;
export const PROGRESS_TASKS_MAX_COUNT = 1_000;
/** Most characters of one piece of a streamed call; and shortest time between two of one call, in milliseconds. */
const PIECE_MAX_CHARS = 16_384;
export const PIECE_PERIOD_MS = 50;

/** The progress of a step. */
export type ProgressDelta = Progress & { readonly kind: 'progress'; readonly step: string };

/** What the workflow waits for, and how long, before a step continues. */
export interface WaitDelta {
  readonly kind: 'wait';
  readonly text: string;
}

/** A piece of a streamed model call, and its place: whoever has all pieces of an attempt in order has what the model said. */
export interface CallDelta {
  readonly kind: 'reset' | ModelDelta['kind'];
  readonly call: EffectKey;
  /** The run's position as this attempt at the call began: a later attempt has a greater one. */
  readonly attempt: number;
  /** 0, 1, 2 … within the attempt, which begins with a `reset`: what earlier attempts said no longer counts. */
  readonly index: number;
  /** Orders all pieces of the run: the lease under which it came, and 1, 2, 3 … within it. */
  readonly epoch: Epoch;
  readonly number: number;
  readonly text?: string;
  readonly toolCall?: ModelToolCall;
}

/** A piece of a model's answer as it arrives, a step's progress, or a wait. */
export interface ModelChunk {
  readonly workflow: WorkflowId;
  /** Null: the workflow itself waits, before a step continues. */
  readonly task: TaskId | null;
  readonly delta: CallDelta | ProgressDelta | WaitDelta;
}

/** Where the pieces of one attempt at a call go. What comes after its end is dropped: a call that was given up may still speak. */
export interface CallStream {
  readonly onDelta: (delta: ModelDelta) => void;
  readonly end: () => void;
}

export interface PieceSink {
  send(task: TaskId, delta: CallDelta, kept: Kept): void;
  /** No call is open any more. */
  release(): void;
}

/** Numbers the pieces of the streamed calls under one lease, and gathers what comes in short order. */
export class CallPieces {
  readonly #epoch: Epoch;
  readonly #clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly #sink: PieceSink;
  #number = 0;
  #openCount = 0;

  constructor(epoch: Epoch, clock: Pick<Clock, 'monotonicMs' | 'sleep'>, sink: PieceSink) {
    this.#epoch = epoch;
    this.#clock = clock;
    this.#sink = sink;
  }

  begin(task: TaskId, call: EffectKey, attempt: number): CallStream {
    let index = 0;
    const send = (piece: Said, replaces: boolean): void => {
      const place = { epoch: this.#epoch, number: ++this.#number };
      this.#sink.send(task, { ...piece, call, attempt, index: index++, ...place }, { ...place, replaces });
    };
    // Those who come later need nothing of before when no other call is open.
    send({ kind: 'reset' }, this.#openCount++ === 0);
    const over = new AbortController();
    const gathered = new GatheredPieces(this.#clock, over.signal, (piece) => send(piece, false));
    return {
      onDelta: (delta) => {
        if (!over.signal.aborted) gathered.add(delta);
      },
      end: () => {
        if (over.signal.aborted) return;
        gathered.flush();
        over.abort();
        if (--this.#openCount === 0) this.#sink.release();
      },
    };
  }
}

type Said = Pick<CallDelta, 'kind' | 'text' | 'toolCall'>;

/** Joins words of one kind that come within `PIECE_PERIOD_MS` of each other. */
class GatheredPieces {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly #over: AbortSignal;
  readonly #send: (piece: Said) => void;
  #pending: { readonly kind: 'text' | 'reasoning'; text: string } | undefined;
  #sentMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'sleep'>, over: AbortSignal, send: (piece: Said) => void) {
    this.#clock = clock;
    this.#over = over;
    this.#send = send;
  }

  add(delta: ModelDelta): void {
    if (delta.kind !== this.#pending?.kind) this.flush();
    if (delta.kind === 'tool-call') {
      for (const piece of piecesOf(delta)) this.#send(piece);
    } else if (this.#pending !== undefined) {
      this.#pending.text += delta.text;
    } else {
      this.#pending = { kind: delta.kind, text: delta.text };
      const waitMs = this.#sentMs + PIECE_PERIOD_MS - this.#clock.monotonicMs();
      if (waitMs <= 0) this.flush();
      else void this.#clock.sleep(waitMs, this.#over).then(() => this.flush());
    }
  }

  flush(): void {
    const pending = this.#pending;
    if (pending === undefined || this.#over.aborted) return;
    this.#pending = undefined;
    this.#sentMs = this.#clock.monotonicMs();
    for (const piece of piecesOf(pending)) this.#send(piece);
  }
}

/** In pieces of bounded size; a tool call that is too large for one comes with the recorded answer alone. */
function* piecesOf(delta: ModelDelta): Generator<Said> {
  const { kind } = delta;
  if (delta.kind === 'tool-call') {
    if (JSON.stringify(delta.call).length <= PIECE_MAX_CHARS) yield { kind, toolCall: delta.call };
    return;
  }
  const { text } = delta;
  for (let at = 0; at < text.length; at += PIECE_MAX_CHARS) yield { kind, text: text.slice(at, at + PIECE_MAX_CHARS) };
}

/** Limits reports of progress: each is well formed and short, and a task has no more of them than a person could read. */
export class ProgressGate {
  readonly #reportedMs = new Map<TaskId | null, number>();

  /** Undefined: the task's previous report was too recent. */
  take(
    task: TaskId | null,
    { step, done, total, text }: Progress & { readonly step: string },
    nowMs: number,
  ): ProgressDelta | undefined {
    if (nowMs - (this.#reportedMs.get(task) ?? Number.NEGATIVE_INFINITY) < PROGRESS_PERIOD_MS) return undefined;
    if (this.#reportedMs.size >= PROGRESS_TASKS_MAX_COUNT) this.#reportedMs.clear();
    this.#reportedMs.set(task, nowMs);
    const words = typeof text === 'string' ? { text: text.slice(0, PROGRESS_TEXT_MAX_CHARS) } : {};
    return { kind: 'progress', step, done: amount(done), total: amount(total), ...words };
  }
}

const amount = (given: unknown): number => (typeof given === 'number' && Number.isFinite(given) ? given : 0);
