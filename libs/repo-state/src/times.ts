/** Owns times as files write them. Pure: the clock comes in. */

/** Milliseconds since 1970. A parameter, so that tests decide what time it is. */
export type Clock = () => number;

/** `2026-03-01T14:03:11.000Z`. */
export const isoTime = (atMs: number): string => new Date(atMs).toISOString();

/** `20260301T140311Z`, which every file system takes. */
export const stampOf = (atMs: number): string => `${isoTime(atMs).slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
