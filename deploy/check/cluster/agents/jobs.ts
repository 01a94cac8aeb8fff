import { ticking } from './ticking.ts';

export const jobs = ticking('jobs');
