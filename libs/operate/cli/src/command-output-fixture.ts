/** Owns the output so far of a running command, in tests, and waiting for a text in it. */

import { channel } from 'node:diagnostics_channel';

/** What a failed test prints beside its error: the testkit's evidence.ts keeps it. */
const outputs = channel('tidemark:test-output');

/** Longest wait, in milliseconds, for anything a command does; a busy machine starts it slowly. */
const PATIENCE_MS = 90_000;

export class CommandOutput {
  readonly #source: string;
  readonly #text = { out: '', err: '' };
  #ended: string | undefined;
  #onNews: (() => void) | undefined;

  /** `source`: the command, for people. */
  constructor(source: string) {
    this.#source = source;
  }

  get out(): string {
    return this.#text.out;
  }

  get err(): string {
    return this.#text.err;
  }

  add(stream: 'out' | 'err', text: string | Uint8Array): void {
    this.#text[stream] += text;
    outputs.publish({ source: this.#source, text });
    this.#onNews?.();
  }

  /** It prints nothing more. */
  end(code: number | null): void {
    this.#ended = `ended with ${code}`;
    outputs.publish({ source: this.#source, text: this.#ended });
    this.#onNews?.();
  }

  /** Resolves once the output, on either stream, fits. */
  async says(pattern: RegExp): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const explain = (why: string): Error =>
      new Error(`${why}: ${pattern}\n--- stdout\n${this.out}\n--- stderr\n${this.err}`);
    const timer = setTimeout(() => reject(explain('not said in time')), PATIENCE_MS);
    this.#onNews = () => {
      if (pattern.test(this.out) || pattern.test(this.err)) resolve();
      else if (this.#ended !== undefined) reject(explain(`${this.#ended} before it said`));
    };
    this.#onNews();
    await promise.finally(() => clearTimeout(timer));
  }
}
