/**
 * Owns a terminal's whole screen while something is shown live: it takes the screen, redraws it, and restores it, whatever ends the
 * process. Lines must be printable and fit the width already.
 */

import { EXIT } from '@tidemark/host/exit-codes';
import type { Keys } from '../session.ts';
import type { Stream } from '../terminal.ts';

const [TAKE, GIVE_BACK] = ['\u001b[?1049h\u001b[?25l', '\u001b[?25h\u001b[?1049l'];
const [HOME, END_OF_LINE, END_OF_SCREEN] = ['\u001b[H', '\u001b[K', '\u001b[J'];
/** Columns and rows of a terminal that doesn't say, or says 0. */
const [COLUMNS_DEFAULT, ROWS_DEFAULT] = [80, 24];

export type Quit = 'quit' | 'interrupted';

export class Screen {
  readonly #canvas: Stream;
  readonly #keys: Keys;
  /** Aborts when the user presses q or Ctrl-C, with which of them as its reason. */
  readonly #left = new AbortController();
  #wake: (() => void) | undefined;
  #isTaken = false;

  constructor(canvas: Stream, keys: Keys) {
    this.#canvas = canvas;
    this.#keys = keys;
  }

  get left(): AbortSignal {
    return this.#left.signal;
  }

  get columns(): number {
    return this.#canvas.columns || COLUMNS_DEFAULT;
  }

  get rows(): number {
    return this.#canvas.rows || ROWS_DEFAULT;
  }

  take(): void {
    this.#isTaken = true;
    process.on('exit', this.giveBack);
    this.#canvas.on?.('resize', this.#changed);
    if (this.#keys.isTTY === true) {
      this.#keys.setRawMode?.(true);
      this.#keys.on?.('data', this.#pressed);
      this.#keys.resume?.();
    }
    this.#canvas.write(TAKE);
  }

  /** Draws as many of the lines as there are rows. */
  draw(lines: readonly string[]): void {
    if (!this.#isTaken) return;
    const shown = lines.slice(0, Math.max(this.rows, 1));
    this.#canvas.write(`${HOME}${shown.map((line) => `${line}${END_OF_LINE}`).join('\r\n')}${END_OF_SCREEN}`);
  }

  /** Resolves after the time, when the size changes, or when the user leaves. */
  async pause(ms: number): Promise<void> {
    if (this.#left.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
  }

  /** Harmless when repeated. */
  readonly giveBack = (): void => {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    process.off('exit', this.giveBack);
    this.#canvas.off?.('resize', this.#changed);
    if (this.#keys.isTTY === true) {
      this.#keys.off?.('data', this.#pressed);
      this.#keys.setRawMode?.(false);
      this.#keys.pause?.();
    }
    this.#canvas.write(GIVE_BACK);
  };

  /** Acts as if a key had been pressed. */
  leave(how: Quit): void {
    // A second press doesn't wait for requests under way.
    if (this.#left.signal.aborted) process.exit(EXIT.interrupted);
    this.#left.abort(how);
    this.#wake?.();
  }

  readonly #changed = (): void => this.#wake?.();

  readonly #pressed = (data: Uint8Array | string): void => {
    const keys = String(data);
    if (keys.includes('\u0003')) this.leave('interrupted');
    else if (/^[qQ]/.test(keys) || keys === '\u001b') this.leave('quit');
  };
}
