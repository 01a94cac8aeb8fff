import { ticking } from './ticking.ts';

export const keda = ticking('keda');
