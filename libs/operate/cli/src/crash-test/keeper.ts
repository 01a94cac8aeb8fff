/**
 * A process of its own that outlives the crash test for a moment: when its standard input closes, in whatever way the test has ended, it kills
 * the process groups and removes the folders that it was told of and not released from. Plain Node, so that it starts fast.
 */

import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** What remains to be done: `group PID`, `folder PATH`. */
const kept = new Set<string>();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  if (line.startsWith('release ')) kept.delete(line.slice('release '.length));
  else kept.add(line);
});
lines.on('close', () => {
  for (const each of kept) {
    try {
      if (each.startsWith('group ')) process.kill(-Number(each.slice('group '.length)), 'SIGKILL');
    } catch {
      // It is gone already.
    }
  }
  for (const each of kept) {
    if (!each.startsWith('folder ')) continue;
    rmSync(each.slice('folder '.length), { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
});
