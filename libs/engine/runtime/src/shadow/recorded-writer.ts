/**
 * Owns one named stream as one process reads and writes it, one call after the other. It does not know what is written.
 *
 * W1 A write is refused when another process wrote since this object read the stream, and nothing of it is kept. So is every later one, until
 *    the stream is read again.
 * W2 While the log is unavailable a write is tried again, until its signal aborts. It is in the stream once, also where an attempt arrived
 *    whose answer was lost.
 */

import { randomUUID } from 'node:crypto';
import {
  ConflictError,
  FencedError,
  InvalidError,
  type Json,
  LimitError,
  type Sequence,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import { whileUnavailable } from '../kernel/index.ts';
import type { NewEntry, RecordedStream, StreamEntry } from './recorded-stream.ts';

/** Bytes of values in one entry; values that have more together become several. */
const ENTRY_MAX_BYTES = 256 * 1024;
/** How often a write is refused at the log, for entries that it may follow, before it is refused for good. */
const ATTEMPTS_MAX_COUNT = 8;

/** The stream of a name; `open` makes it where there is none. */
export interface NamedStream {
  find(): Promise<RecordedStream | undefined>;
  open(): Promise<RecordedStream>;
}

export interface RecordedWriterOptions {
  readonly stream: NamedStream;
  readonly clock: Clock;
  /** What the stream is to its framework, as `session`: the code of a refused write begins with it. */
  readonly what: string;
  readonly name: string;
  /** Entries of others after which this process may go on writing without having read them. Absent: none. */
  readonly mayFollow?: (entry: StreamEntry) => boolean;
  /** Hears of each attempt that found the log unavailable, before the next one. */
  readonly onUnavailable?: (error: UnavailableError) => void;
}

/** An entry whose output is an object. */
export interface WriterEntry extends NewEntry {
  readonly output: { readonly [name: string]: Json };
}

/** Where this process has read the stream up to; of no stream: nothing and 0. */
interface Place {
  readonly workflow: WorkflowId | undefined;
  readonly sequence: number;
}

const placeOf = (stream: RecordedStream | undefined): Place => ({
  workflow: stream?.workflow,
  sequence: stream?.sequence ?? 0,
});

export class RecordedWriter {
  readonly #options: RecordedWriterOptions;
  #stream: RecordedStream | undefined;
  /** Undefined: nothing was read yet, and the next write follows whatever is there. */
  #read: Place | undefined;
  /** Set once a write was refused or is in doubt (W1). */
  #lost: Error | undefined;
  readonly #inTurn = callsInOrder();

  constructor(options: RecordedWriterOptions) {
    this.#options = options;
  }

  /** Reads the stream as the log has it now; undefined: there is none. What is written next follows from it. */
  read<T>(look: (stream: RecordedStream | undefined) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      const stream = await this.#options.stream.find();
      this.#keep(stream);
      this.#lost = undefined;
      return look(stream);
    });
  }

  #keep(stream: RecordedStream | undefined): void {
    this.#stream = stream;
    this.#read = placeOf(stream);
  }

  /**
   * Writes the entries that follow from the stream; undefined: there is none yet, and it is opened if there is an entry. `compose` may be
   * called several times. Throws what it throws, `ConflictError` (`…-written-elsewhere`), `LimitError`, and `UnavailableError` once the signal aborts.
   */
  write(
    compose: (stream: RecordedStream | undefined) => Promise<readonly WriterEntry[]>,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#lost !== undefined) throw this.#lost;
      const mark = randomUUID();
      try {
        await whileUnavailable(this.#options.clock, signal, async () => {
          try {
            await this.#attempt(compose, mark);
          } catch (error) {
            if (error instanceof UnavailableError) this.#options.onUnavailable?.(error);
            throw error;
          }
        });
      } catch (error) {
        // Nothing of what is refused before it is sent has left this process.
        if (error instanceof InvalidError || error instanceof ConflictError || error instanceof LimitError) throw error;
        this.#lost = error instanceof FencedError ? this.#writtenElsewhere(error) : (error as Error);
        throw this.#lost;
      }
    });
  }

  async #attempt(
    compose: (stream: RecordedStream | undefined) => Promise<readonly WriterEntry[]>,
    mark: string,
  ): Promise<void> {
    for (let count = 1; !(await this.#hasLanded(mark)); count++) {
      const entries = await compose(this.#stream);
      const last = entries.at(-1);
      if (last === undefined) return;
      const stream = this.#stream ?? (await this.#options.stream.open());
      // Whatever comes of it, the object is spent unless it succeeds.
      this.#stream = undefined;
      // What another process opened and wrote meanwhile is looked at first.
      if (this.#read?.workflow === undefined && stream.sequence > 0) continue;
      try {
        await stream.write([...entries.slice(0, -1), { ...last, output: { ...last.output, mark } }]);
        this.#keep(stream);
        return;
      } catch (error) {
        if (!(error instanceof FencedError) || count === ATTEMPTS_MAX_COUNT) throw error;
      }
    }
  }

  /** Whether an earlier attempt has arrived. Loads the stream where it must, and refuses what others wrote since. */
  async #hasLanded(mark: string): Promise<boolean> {
    if (this.#stream !== undefined) return false;
    const stream = await this.#options.stream.find();
    const [before, now] = [this.#read ?? placeOf(stream), placeOf(stream)];
    const isSame = before.workflow === undefined || before.workflow === now.workflow;
    if (!isSame) throw new FencedError('stream-moved', 'Another process has deleted it.');
    const since =
      stream === undefined || now.sequence === before.sequence
        ? []
        : await stream.outputs((before.sequence + 1) as Sequence, stream.sequence);
    this.#keep(stream);
    if (since.some(({ output }) => (output as { readonly mark?: Json } | null)?.mark === mark)) return true;
    const { mayFollow = () => false } = this.#options;
    if (!since.every((entry) => mayFollow(entry))) throw new FencedError('stream-moved', 'Another process wrote.');
    return false;
  }

  #writtenElsewhere(cause: Error): ConflictError {
    const { what, name } = this.#options;
    return new ConflictError(
      `${what}-written-elsewhere`,
      `Another process has written ${what} ${name} since this one read it: nothing more of this one is kept. Read the ${what} again, and go on from what the other wrote.`,
      { [what]: name, cause },
    );
  }

  /** The stream was deleted by this process: the next write begins anew. */
  reset(): Promise<void> {
    return this.#inTurn(async () => {
      [this.#stream, this.#read, this.#lost] = [undefined, undefined, undefined];
    });
  }
}

/** Makes one call after the other, in the order in which they are given; one that fails holds up none. */
export function callsInOrder(): <T>(call: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (call) => {
    const done = last.then(call);
    last = done.catch(() => {});
    return done;
  };
}

/** The values in their order, in lists that fit an entry each. A value that is larger has a list of its own. */
export function withinEntry(values: readonly Json[]): (readonly Json[])[] {
  const lists: Json[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const value of values) {
    const own = Buffer.byteLength(JSON.stringify(value));
    if (bytes + own > ENTRY_MAX_BYTES) {
      lists.push([]);
      bytes = 0;
    }
    lists.at(-1)!.push(value);
    bytes += own;
  }
  return lists;
}
