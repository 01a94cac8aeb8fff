/** Owns what a check of `tidemark admin doctor` says. */

export interface Finding {
  /** What was looked at, in a word or two. */
  readonly check: string;
  readonly level: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** What to do about it; always there unless all is well. */
  readonly remedy?: string | undefined;
  /** Each thing that was found, where there are several: for people as lines, for programs as they are. */
  readonly found?: readonly { readonly line: string; readonly json: unknown }[] | undefined;
  /** Of a failed check: what the command exits with. */
  readonly exitCode?: number | undefined;
}

export const ok = (check: string, message: string): Finding => ({ check, level: 'ok', message });

export const warn = (check: string, message: string, remedy: string): Finding => ({
  check,
  level: 'warn',
  message,
  remedy,
});

export const fail = (check: string, message: string, remedy: string, exitCode: number): Finding => ({
  check,
  level: 'fail',
  message,
  remedy,
  exitCode,
});
