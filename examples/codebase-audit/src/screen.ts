// Owns what people see while an audit runs: lines, and under them one bar that is drawn anew. Where the output is no terminal the
// bar is a line now and then. Must not decide what is said.

import { LINE_EVERY_MS, LINE_EVERY_PERCENT } from './limits.ts';

export type Progress = { done: number; total: number; checkpoint: number; text: string };
type Out = { write(text: string): unknown; isTTY?: boolean; columns?: number };

const BAR_CELLS = 24;
const CLEAR_LINE = '\r\x1b[2K';

export const number = (value: number): string => value.toLocaleString('en-US');
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`;

export class Screen {
  readonly #out: Out;
  readonly #nowMs: () => number;
  #bar = '';
  #first: { done: number; ms: number } | undefined;
  #lastLine = { percent: -1, ms: 0 };

  constructor(out: Out = process.stdout, nowMs: () => number = () => performance.now()) {
    this.#out = out;
    this.#nowMs = nowMs;
  }

  line(text: string): void {
    this.#out.write(`${this.#bar === '' ? '' : CLEAR_LINE}${text}\n${this.#bar}`);
  }

  progress(progress: Progress): void {
    const text = this.#textOf(progress);
    if (this.#out.isTTY === true) {
      this.#bar = text.slice(0, Math.max(20, (this.#out.columns ?? 80) - 1));
      this.#out.write(`${CLEAR_LINE}${this.#bar}`);
    } else if (this.#isLineDue(progress)) this.line(text);
  }

  /** Leaves the bar standing; what follows is written below it. */
  endProgress(): void {
    if (this.#bar !== '') this.#out.write('\n');
    this.#bar = '';
  }

  #textOf({ done, total, checkpoint, text }: Progress): string {
    const share = shareOf(done, total);
    const filled = Math.round(share * BAR_CELLS);
    const cells = `[${'#'.repeat(filled)}${'-'.repeat(BAR_CELLS - filled)}]`;
    const percent = `${Math.floor(share * 100)}`.padStart(3);
    const rate = this.#rate(done);
    return `${cells} ${percent} %  ${number(done)}/${number(total)} files  checkpoint ${number(checkpoint)}${rate}  ${text}`;
  }

  /** Over all of this start: what came from checkpoints doesn't count. */
  #rate(done: number): string {
    const ms = this.#nowMs();
    this.#first ??= { done, ms };
    const seconds = (ms - this.#first.ms) / 1_000;
    const files = done - this.#first.done;
    return files > 0 && seconds > 0 ? `  ${number(Math.round(files / seconds))} files/s` : '';
  }

  #isLineDue({ done, total }: Progress): boolean {
    const percent = Math.floor(shareOf(done, total) * 100);
    const ms = this.#nowMs();
    const { percent: lastPercent, ms: lastMs } = this.#lastLine;
    const isStep =
      lastPercent < 0 || Math.floor(percent / LINE_EVERY_PERCENT) > Math.floor(lastPercent / LINE_EVERY_PERCENT);
    if (!isStep && ms - lastMs < LINE_EVERY_MS) return false;
    this.#lastLine = { percent, ms };
    return true;
  }
}

const shareOf = (done: number, total: number): number => (total === 0 ? 0 : Math.min(1, done / total));
