/** Owns the result of a check of `tidemark admin doctor`. */

import type { Locate } from './definition-places.ts';

export interface Finding {
  /** What was checked, in a word or two. */
  readonly check: string;
  readonly level: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** The remedy; always present unless all is well. */
  readonly remedy?: string | undefined;
  /** Single findings, where there are several: for people as lines, for programs as objects. */
  readonly found?: readonly { readonly line: string; readonly json: unknown }[] | undefined;
  /** Of a failed check: the command's exit code. */
  readonly exitCode?: number | undefined;
}

/** One finding about a definition, with its place where that is known. */
export function foundAt(
  advice: { readonly definition: string; readonly subject?: string | undefined; readonly message: string },
  locate: Locate,
): NonNullable<Finding['found']>[number] {
  const { definition, subject, message } = advice;
  const at = locate(definition, subject);
  if (at === undefined) return { line: `${definition}: ${message}`, json: advice };
  return { line: `${definition} (${at}): ${message}`, json: { ...advice, at } };
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
