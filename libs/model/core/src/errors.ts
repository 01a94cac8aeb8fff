/**
 * Owns every error that Tidemark throws. Subclasses say what the caller does next; `code` is stable and meant for
 * programs; the message is for people and names the field, the value's place and what to do. Must hold no secret:
 * addresses are stored without credentials. An expected outcome (a rejected event) is a value, never an error.
 */

export interface ErrorDetails {
  readonly cause?: unknown;
  readonly [field: string]: unknown;
}

export class TidemarkError extends Error {
  override readonly name: string = 'TidemarkError';
  /** Stable, kebab-case: `log-unavailable`, `lease-lost`, … */
  readonly code: string;
  /** What the error is about, by field name. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    const { cause, ...rest } = details;
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = rest;
  }
}

/** The lease is gone: stop, discard speculative state. */
export class FencedError extends TidemarkError {
  override readonly name = 'FencedError';
}

/** Someone else changed it first: reload and decide again. */
export class ConflictError extends TidemarkError {
  override readonly name = 'ConflictError';
}

/** A server is absent, wrong or slow: back off and try again. */
export class UnavailableError extends TidemarkError {
  override readonly name = 'UnavailableError';
}

/** Stored data contradicts itself: halt that part and report; nothing is overwritten. */
export class CorruptError extends TidemarkError {
  override readonly name = 'CorruptError';
}

/** A named limit is reached: shed or shrink. */
export class LimitError extends TidemarkError {
  override readonly name = 'LimitError';
}

/** The input is wrong: fix it. */
export class InvalidError extends TidemarkError {
  override readonly name = 'InvalidError';
}

/** The caller isn't who may do this: show other credentials, or ask whoever gives rights. */
export class AccessError extends TidemarkError {
  override readonly name = 'AccessError';
}

/** The configuration is wrong: exit. */
export class ConfigError extends TidemarkError {
  override readonly name = 'ConfigError';
}

/** Throws when an invariant of the code itself is broken; a bug, never a user's mistake. */
export function invariant(condition: unknown, message: string, details: ErrorDetails = {}): asserts condition {
  if (!condition) throw new TidemarkError('invariant-broken', `Broken invariant: ${message}`, details);
}

/** What a thrown value says: an error's message, anything else as text. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
