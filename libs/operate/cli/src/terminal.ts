/**
 * Owns what is written where: results on standard output, all other messages on standard error. With `--json` standard output holds JSON
 * alone, and messages for people are left out. No colours where nobody would see them.
 */

import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { cut } from './text/width.ts';

export type Stream = Pick<NodeJS.WritableStream, 'write'> &
  Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'rows' | 'on' | 'off'>>;

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Version of the operations' shapes, as their addresses begin. */
const API_VERSION = 'v1';

export interface TerminalOptions {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly json: boolean;
}

export type Painter = (colour: Colour, text: string) => string;

export class Terminal {
  readonly json: boolean;
  /** Columns that `COLUMNS` names, or those of the terminal; undefined: standard output is none, and nothing needs to be cut. */
  readonly width: number | undefined;
  /** Standard output where a whole screen may be drawn on it. */
  readonly canvas: Stream | undefined;
  /** Colours for standard output, and for standard error. */
  readonly paint: Painter;
  readonly paintNote: Painter;
  readonly #stdout: Stream;
  readonly #stderr: Stream;
  #status = '';

  constructor({ stdout, stderr, env, json }: TerminalOptions) {
    this.json = json;
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.width = columnsIn(env) ?? (stdout.isTTY === true ? stdout.columns : undefined);
    this.canvas = stdout.isTTY === true && !json && env.TERM !== 'dumb' ? stdout : undefined;
    this.paint = painter(stdout, env);
    this.paintNote = painter(stderr, env);
  }

  /** A line of the result, for people. */
  line(text = ''): void {
    if (this.json) return;
    this.#clearStatus();
    this.#stdout.write(`${text}\n`);
    this.#drawStatus();
  }

  /** Help, which is text in every form of output. */
  help(text: string): void {
    this.#stdout.write(text);
  }

  lines(all: readonly string[]): void {
    for (const text of all) this.line(text);
  }

  /** The result, for programs: one document; an operation's has its own shape, others have the version of these. */
  answer(body: object): void {
    if (this.json) this.#stdout.write(`${JSON.stringify({ api_version: API_VERSION, ...body }, undefined, 2)}\n`);
  }

  /** One of many results, for programs: one object a line. */
  record(body: object): void {
    if (this.json) this.#stdout.write(`${JSON.stringify({ api_version: API_VERSION, ...body })}\n`);
  }

  /** A message along the way, for people. */
  note(text: string): void {
    if (this.json) return;
    this.#clearStatus();
    this.#stderr.write(`${text}\n`);
    this.#drawStatus();
  }

  warn(text: string): void {
    this.note(`${this.paintNote('yellow', 'warning:')} ${text}`);
  }

  /** The command's failure: one line, in the requested form. */
  failure(code: string, message: string, stack: string | undefined): void {
    this.status('');
    if (this.json) this.#stderr.write(`${JSON.stringify({ error: { code, message, ...(stack && { stack }) } })}\n`);
    else
      this.#stderr.write(`${this.paintNote('red', 'error:')} ${message}\n${stack === undefined ? '' : `${stack}\n`}`);
  }

  /** A line that the next one replaces; shown on a terminal only. Empty: none. */
  status(text: string): void {
    if (this.json || this.#stderr.isTTY !== true) return;
    this.#clearStatus();
    this.#status = text;
    this.#drawStatus();
  }

  #clearStatus(): void {
    if (this.#status !== '') this.#stderr.write('\r\u001b[2K');
  }

  #drawStatus(): void {
    if (this.#status !== '') this.#stderr.write(cut(this.#status, (this.#stderr.columns ?? 80) - 1));
  }
}

/** Undefined: it names none that anything could be fitted into. */
const columnsIn = ({ COLUMNS: text = '' }: TerminalOptions['env']): number | undefined =>
  /^[1-9]\d{1,3}$/.test(text) ? Number(text) : undefined;

function painter(stream: Stream, env: TerminalOptions['env']): Painter {
  const wanted = stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  if (!wanted) return (_, text) => text;
  return (colour, text) => (text === '' ? '' : styleText(colour, text, { validateStream: false }));
}
