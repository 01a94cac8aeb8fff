import { ticking } from './ticking.ts';

export const hpa = ticking('hpa');
