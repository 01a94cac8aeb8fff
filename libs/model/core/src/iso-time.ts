/** Owns how a moment is told to people and written to files; nothing is ever decided by it. Pure. */

/** `2026-03-01T14:03:11.000Z`, of milliseconds since 1970. */
export const isoTime = (atMs: number): string => new Date(atMs).toISOString();

/** `2026-03-01`: its day in UTC. */
export const isoDay = (atMs: number): string => isoTime(atMs).slice(0, 10);

const DATE_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?$/;

/** Milliseconds since 1970 of a moment as programs write it to files; without a zone it is in local time. NaN: it is none. */
export const parseTime = (text: string): number =>
  DATE_TIME.test(text) ? Date.parse(text.replace(',', '.')) : Number.NaN;
