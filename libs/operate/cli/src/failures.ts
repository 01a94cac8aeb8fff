/** Owns how a command's failure is printed: one clear line and a code, and a stack only on request. */

import { ConfigError, FencedError, InvalidError, messageOf, TidemarkError } from '@tidemark/core';
import { EXIT, exitCodeOf } from '@tidemark/host/exit-codes';
import { withoutCredentials } from '@tidemark/secrets';
import type { Session } from './session.ts';
import type { Terminal } from './terminal.ts';
import { printableLines } from './text/width.ts';

/** Longest text of a failure, in characters. */
const FAILURE_MAX_CHARS = 10_000;

/** Wrong usage: an unknown command or option, a value that an option can't have. */
export class UsageError extends TidemarkError {
  override readonly name = 'UsageError';

  constructor(message: string) {
    super('usage', message);
  }
}

/** Prints the failure; returns the exit code. `words`: how its message reads for the command that was given. */
export function reportFailure(
  error: unknown,
  { terminal, env }: Pick<Session, 'terminal' | 'env'>,
  words = (message: string): string => message,
): number {
  const code = error instanceof TidemarkError ? error.code : 'internal';
  const whole = withoutCredentials(words(error instanceof Error ? error.message || error.name : String(error)));
  // The message quotes the input, however long that is.
  const said = whole.length <= FAILURE_MAX_CHARS ? whole : `${whole.slice(0, FAILURE_MAX_CHARS)}…`;
  const exitCode = error instanceof UsageError ? EXIT.usage : exitCodeOf(error);
  const hint = exitCode === EXIT.internal && env.TIDEMARK_DEBUG !== '1' ? ' (TIDEMARK_DEBUG=1 shows where)' : '';
  const stack = env.TIDEMARK_DEBUG === '1' ? stackOf(error) : undefined;
  const message = terminal.json ? said : linesFor(error, printableLines(said)).join('\n');
  terminal.failure(code, `${message}${hint}`, stack);
  return exitCode;
}

/** Mistakes in a definition may be a list; a server's or a library's text after its first line is for debugging. */
const linesFor = (error: unknown, lines: readonly string[]): readonly string[] =>
  error instanceof InvalidError || error instanceof ConfigError ? lines : lines.slice(0, 1);

function stackOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const cause = stackOf(error.cause);
  const stack = withoutCredentials(error.stack ?? '');
  return cause === undefined ? stack : `${stack}\nCaused by: ${cause}`;
}

/** A reporter of failures that are survived: each kind once, so that an unreachable server doesn't fill the screen. */
export function outlivedReporter(terminal: Terminal): (where: string, error: unknown) => void {
  const seen = new Set<string>();
  return (where, error) => {
    const text = withoutCredentials(messageOf(error));
    const key = `${where} ${text}`;
    if (seen.has(key)) return;
    seen.add(key);
    // Its own words name the workflow.
    const isParked = error instanceof FencedError && error.code === 'parked';
    terminal.warn(`${isParked ? '' : `${where}: `}${printableLines(text).join(' ')}`);
  };
}

/** The folder is empty: says what to do about it. */
export const noState = (shown: string): ConfigError =>
  new ConfigError(
    'state-missing',
    `No state is kept in ${shown} yet. Start a workflow there, or name the folder with --state.`,
  );
