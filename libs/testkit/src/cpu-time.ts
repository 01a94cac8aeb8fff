/** Owns the processor time of a piece of work, for tests of how its cost grows: a ratio of two sizes, never a limit of time. */

/** The least of them counts: whatever else the machine does only adds. */
const ROUNDS = 5;

/** Milliseconds of this thread, least of several rounds; once it is at most `enoughMs`, no more rounds are needed. */
export function leastCpuMs(work: () => void, enoughMs = 0): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least > enoughMs; round += 1) {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}
