/** The definition that changes with the build: agents/ticks-2.ts is what the next one has in its place. */
import { ticking } from './ticking.ts';

export const ticks = ticking('ticks');
