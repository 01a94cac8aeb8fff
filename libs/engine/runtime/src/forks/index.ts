/** The entry point of the room: what other rooms of the engine may use. */

export { drawUpFork, type Forked, type ForkOptions, isSameFork } from './fork.ts';
export { type ResetDone, type ResetOptions, Resets } from './reset.ts';
export type { Becomes, ResetChild, ResetEffects } from './reset-plan.ts';
