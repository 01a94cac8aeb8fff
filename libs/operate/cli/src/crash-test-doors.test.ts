/** Owns `tidemark crash-test` on programs of other frameworks, before and after their door; the guides have figures of the same commands. */

import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { cliFolder } from './spawned-cli-fixture.ts';

vi.setConfig({ testTimeout: 600_000 });

const EXAMPLES = path.resolve(import.meta.dirname, '../../../../examples/guides/src/crash');
const ORDERS = ['--answers', '[{"path":"/orders","body":{"cents":4200}}]'];
const SCRIPT = ['--model', `@${path.join(EXAMPLES, 'openai-script.json')}`];

it.each<[line: string, options: readonly string[], code: number, doubled: readonly [least: number, most: number]]>([
  ['langgraph.ts memory', ORDERS, 1, [5, 7]],
  // A node whose process dies runs again: its own call comes twice, and none of the nodes before it.
  ['langgraph.ts tidemark sync', ORDERS, 1, [2, 3]],
  ['openai-agents.ts memory', SCRIPT, 1, [3, 10]],
  ['openai-agents.ts tidemark', SCRIPT, 0, [0, 0]],
])('%s', async (line, options, code, [least, most]) => {
  const { here } = await cliFolder({ onTestFinished: (cleanUp) => onTestFinished(cleanUp) });
  const [program = '', ...args] = line.split(' ');
  const command = [process.execPath, path.join(EXAMPLES, program), ...args];
  const ended = await here('crash-test', '--json', '--max', '5', '--limit', '2m', ...options, '--', ...command);
  expect([ended.code, ended.err]).toEqual([code, '']);
  const { summary } = JSON.parse(ended.out) as { readonly summary: { readonly doubled_calls: number } };
  expect(summary).toMatchObject({ lost: 0 });
  expect(summary.doubled_calls).toBeGreaterThanOrEqual(least);
  expect(summary.doubled_calls).toBeLessThanOrEqual(most);
});
