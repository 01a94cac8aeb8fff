/**
 * Owns printing why a test failed, beside its error: the last output of its processes and servers. vitest loads it before each file. It
 * prints after each test, and after the file for failures outside of tests: in a hook, or in what a test left to its end.
 */

import { afterAll, afterEach, inject } from 'vitest';
import { tailOf, takeEvidence } from '../evidence.ts';

interface Task {
  readonly id: string;
  readonly name: string;
  readonly result?: { readonly errors?: readonly unknown[] | undefined } | undefined;
  readonly tasks?: readonly Task[];
}

const reported = new Set<string>();

afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return;
  reported.add(task.id);
  print(task.name);
});

// biome-ignore lint/correctness/noEmptyPattern: vitest reads which fixtures are wanted from it
afterAll(({}, file) => {
  const silent = failedIn(file as unknown as Task);
  if (silent.length > 0) print(silent.join(', '));
});

/** Names of tests and suites with errors that were not reported. */
function failedIn(task: Task): readonly string[] {
  const isNew = (task.result?.errors?.length ?? 0) > 0 && !reported.has(task.id);
  return [...(isNew ? [task.name] : []), ...(task.tasks ?? []).flatMap(failedIn)];
}

function print(name: string): void {
  const shared = Object.entries(inject('tidemarkServers') ?? {}).flatMap(([kind, server]) =>
    'log' in server && server.log !== undefined ? [tailOf(`${kind}, shared by all`, server.log)] : [],
  );
  const parts = [takeEvidence(), ...shared].filter((part) => part !== '');
  if (parts.length > 0) process.stderr.write(`=== ${name} failed; logs of what it ran on:\n${parts.join('\n')}\n`);
}
