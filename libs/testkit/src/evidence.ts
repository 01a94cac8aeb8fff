/**
 * Owns what a failed test prints beside its error: the newest lines of the processes that its file started. Nobody reads them
 * when a test passes, so they are kept instead of printed. Outside of tests they go to standard error at once.
 */

/** Lines that are kept, of all processes of a file together. */
const LINES_MAX = 200;

const isTested = process.env.VITEST !== undefined;
const kept: string[] = [];

/** Keeps a line of what the process named `source` printed. */
export function noteLine(source: string, line: string): void {
  const text = `${source}: ${line}`;
  if (!isTested) {
    process.stderr.write(`${text}\n`);
    return;
  }
  kept.push(text);
  if (kept.length > LINES_MAX) kept.shift();
}

/** The kept lines, oldest first. They are given once. */
export const takeLines = (): readonly string[] => kept.splice(0);
