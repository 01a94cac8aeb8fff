/** Loaded into a process before its program: ends it when its parent has ended, in whatever way. Without imports, so that it loads fast. */

const PERIOD_MS = 1_000;
// It stays what it was at the start, whoever is the parent later.
const parent = process.ppid;

setInterval(() => {
  try {
    process.kill(parent, 0);
  } catch {
    process.kill(process.pid, 'SIGKILL');
  }
}, PERIOD_MS).unref();
