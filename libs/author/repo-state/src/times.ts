/** Owns the form of times in files. Pure: the clock is a parameter. */

import { isoTime } from '@tidemark/core';

/** Milliseconds since 1970. A parameter, so that tests decide what time it is. */
export type Clock = () => number;

/** `20260301T140311Z`, which every file system takes. */
export const stampOf = (atMs: number): string => `${isoTime(atMs).slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
