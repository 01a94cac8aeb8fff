/** Owns printing why a test failed, beside its error: what its processes and the run's servers logged last. vitest loads it before each file. */

import { readFileSync } from 'node:fs';
import { afterEach, inject } from 'vitest';
import { takeLines } from '../evidence.ts';
import { serverLogTailLines } from './limits.ts';

afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return;
  const lines = takeLines();
  const servers = Object.entries(inject('tidemarkServers') ?? {}).flatMap(([kind, server]) =>
    'log' in server && server.log !== undefined ? [`--- ${kind} (${server.log})`, ...tailOf(server.log)] : [],
  );
  const processes = lines.length > 0 ? ['--- processes', ...lines] : [];
  if (servers.length + processes.length === 0) return;
  process.stderr.write(
    `${[`=== ${task.name} failed; logs of what it ran on:`, ...processes, ...servers].join('\n')}\n`,
  );
});

function tailOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-serverLogTailLines);
  } catch {
    return ['gone'];
  }
}
