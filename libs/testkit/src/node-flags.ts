/** Owns the flags of Node for tests, and for the programs with PGlite that they start. */

/**
 * Compiles WebAssembly once, without optimising it: not worth it for what runs for a moment. Half of the processor time of
 * tests that open PGlite, a third of a command's.
 */
export const QUICK_WASM = '--liftoff-only';
