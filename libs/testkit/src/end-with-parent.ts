/** Loaded into a process before its program: ends it when its parent has ended, in whatever way. Without imports, so that it loads fast. */

const PERIOD_MS = 1_000;
const parent = process.ppid;

setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
}, PERIOD_MS).unref();
