/**
 * Owns every error that Tidemark throws. A subclass says what the caller does next. `code` is stable and meant for programs; the message is
 * for people and names the field, the place of the value and what to do. Must hold no secret: addresses are stored without credentials. An
 * expected outcome (a rejected event) is a value, never an error.
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

/** The lease is lost: stop, and discard speculative state. */
export class FencedError extends TidemarkError {
  override readonly name = 'FencedError';
}

/** Someone else changed it first: reload and decide again. */
export class ConflictError extends TidemarkError {
  override readonly name = 'ConflictError';
}

/** A server is unreachable, wrong or slow: back off and try again. */
export class UnavailableError extends TidemarkError {
  override readonly name = 'UnavailableError';
}

/** Stored data contradicts itself: stop that part and report; nothing is overwritten. */
export class CorruptError extends TidemarkError {
  override readonly name = 'CorruptError';
}

/** A named limit is reached: shed load, or send less. */
export class LimitError extends TidemarkError {
  override readonly name = 'LimitError';
}

/** The input is wrong: fix it. */
export class InvalidError extends TidemarkError {
  override readonly name = 'InvalidError';
}

/** The caller may not do this: use other credentials, or ask an administrator for the right. */
export class AccessError extends TidemarkError {
  override readonly name = 'AccessError';
}

/** The configuration is wrong: exit. */
export class ConfigError extends TidemarkError {
  override readonly name = 'ConfigError';
}

/** Throws when an invariant of the code itself is broken: that is a bug, never a user's mistake. */
export function invariant(condition: unknown, message: string, details: ErrorDetails = {}): asserts condition {
  if (!condition) throw new TidemarkError('invariant-broken', `Broken invariant: ${message}`, details);
}

/** The message of a thrown error; any other thrown value as text. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
