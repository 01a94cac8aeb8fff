/** Owns the contracts of time, randomness and digests: everything nondeterministic is injected (and simulated in tests). */

export interface Clock {
  /** Milliseconds since the Unix epoch; for people and as the base of timers, never for order. */
  nowMs(): number;
  /** Milliseconds on a clock that never goes back; for durations. */
  monotonicMs(): number;
  /** Resolves after the time, or at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Prng {
  /** Uniform random bytes. */
  bytes(count: number): Uint8Array;
}

export interface Digest {
  /** SHA-256 of the text as UTF-8 or of the bytes: 64 lower-case hex digits. */
  sha256(data: string | Uint8Array): string;
}
