/** Owns what a check of `tidemark admin doctor` says. */

import type { Locate } from './definition-places.ts';

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

/** One thing that was found of a definition, with its place where that is known. */
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
