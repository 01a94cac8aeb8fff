/** Owns how a moment is told to people and written to files; nothing is ever decided by it. Pure. */

/** `2026-03-01T14:03:11.000Z`, of milliseconds since 1970. */
export const isoTime = (atMs: number): string => new Date(atMs).toISOString();

/** `2026-03-01`: its day in UTC. */
export const isoDay = (atMs: number): string => isoTime(atMs).slice(0, 10);
