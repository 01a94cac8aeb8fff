/** Owns the flags of Node for tests, and for the programs with PGlite that they start. */

/**
 * Compiles WebAssembly once, without optimising it: not worth it for what runs for a moment. Half of the processor time of
 * tests that open PGlite, a third of a command's.
 */
export const QUICK_WASM = '--liftoff-only';

/** Flags with which a process of a test, a bench or a chaos run ends when whoever started it is killed. */
export const END_WITH_PARENT = ['--import', new URL('./end-with-parent.ts', import.meta.url).href] as const;
