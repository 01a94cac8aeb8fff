/** The door of the room: what other rooms of the engine use of it. */
export { drawUpFork, type Forked, type ForkOptions, isSameFork } from './fork.ts';
