/** Owns the exit codes of every Tidemark process (after BSD sysexits), so that scripts and orchestrators can distinguish them. */

import {
  AccessError,
  ConfigError,
  ConflictError,
  CorruptError,
  InvalidError,
  LimitError,
  TidemarkError,
  UnavailableError,
} from '@tidemark/core';

export const EXIT = {
  ok: 0,
  /** A workflow failed, or waits for a person. */
  failed: 1,
  /** Wrong usage: an unknown command or option. */
  usage: 64,
  /** Input that fails its schema, or a workflow or step that doesn't exist. */
  invalid: 65,
  /** The thing to work on is missing. */
  nothing: 66,
  /** A server is absent, wrong, or was unreachable for longer than allowed. */
  unavailable: 69,
  /** A broken invariant: please report it. */
  internal: 70,
  /** Stored data is damaged; it was left untouched. */
  corrupt: 74,
  /** A named limit is reached. */
  limit: 75,
  /** A server doesn't know the caller, or the caller may not do it. */
  denied: 77,
  /** Configuration: a folder in use by another process, of a newer version, a missing setting. */
  config: 78,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

/** The exit code for an error that ends a process. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof ConfigError) return EXIT.config;
  if (error instanceof UnavailableError) return EXIT.unavailable;
  if (error instanceof InvalidError || error instanceof ConflictError) return EXIT.invalid;
  if (error instanceof CorruptError) return EXIT.corrupt;
  if (error instanceof LimitError) return EXIT.limit;
  if (error instanceof AccessError) return EXIT.denied;
  if (error instanceof TidemarkError && error.code.startsWith('workflow-')) return EXIT.failed;
  return EXIT.internal;
}
