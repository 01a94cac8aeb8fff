import { ticking } from './ticking.ts';

export const steady = ticking('steady');
