/** The entry point of the room: what other rooms of the engine may use. */
export { drawUpFork, type Forked, type ForkOptions, isSameFork } from './fork.ts';
