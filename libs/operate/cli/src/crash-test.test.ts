/** Owns `tidemark crash-test` on small agents: real processes, killed at their calls. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { cliFolder } from './spawned-cli-fixture.ts';

vi.setConfig({ testTimeout: 120_000 });

const AGENT = path.resolve(import.meta.dirname, '../fixtures/crash-agent.ts');
const agent = (...args: string[]) => ['--', process.execPath, AGENT, ...args];

interface Reported {
  readonly trials: readonly { readonly doubled: readonly string[] }[];
  readonly summary: { readonly doubled_calls: number };
}

describe('of an agent', () => {
  it('without any state, it finds each call that was made before doubled', async (context) => {
    const { folder, here } = await cliFolder(context);
    const ended = await here('crash-test', '--json', '--markdown', 'r.md', '--junit', 'r.xml', ...agent('stateless'));
    expect([ended.code, ended.err]).toEqual([1, '']);
    const reported = JSON.parse(ended.out) as Reported;
    expect(reported).toMatchObject({
      calls: Array(2).fill({ call: 'POST /items', kind: 'write', has_key: false }),
      moments: 6,
      summary: { deduplicable_calls: 0, lost: 0, model_calls_again: 0 },
    });
    const counts = reported.trials.map(({ doubled }) => doubled.length);
    // After an answer the next call may have left already, or the program have ended.
    expect(counts).toEqual([0, 1, expect.any(Number), 1, 2, expect.any(Number)]);
    const markdown = await readFile(path.join(folder, 'r.md'), 'utf8');
    expect(markdown).toContain(`${reported.summary.doubled_calls} calls doubled`);
    expect(markdown).toMatch(/^\| 2 POST \/items \| before it was received \| 1 \| - \| - \| - \| \d+ ms \|$/m);
    const junit = await readFile(path.join(folder, 'r.xml'), 'utf8');
    expect(junit).toMatch(/<testsuite name="tidemark crash-test" tests="6" failures="[345]" errors="0">/);
    expect(junit).toMatch(/<failure message="doubled POST \/items, POST \/items"\/>/);
  });

  it('that keeps what it has done, it finds nothing, also started again by a line of the shell', async (context) => {
    const { here } = await cliFolder(context);
    const resume = `test -d "$TIDEMARK_CRASH_TEST_FOLDER" && ${process.execPath} ${AGENT} stateful`;
    const ended = await here('crash-test', '--in-folder', '--max', '3', '--resume', resume, ...agent('here'));
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect(ended.out).toMatch(
      /^[23] kills \(of 6 moments\) at 2 calls, 0 calls doubled, [12] again under the same key, 0 model calls again, 0 lost, resumed in /m,
    );
  });

  it('that notes a call before it makes it, it finds the calls that nobody made', async (context) => {
    const { here } = await cliFolder(context);
    const ended = await here('crash-test', '--max', '2', ...agent('hasty'));
    expect(ended.code).toBe(1);
    expect(ended.out).toMatch(/^call 1 POST \/items, before it was received: lost POST \/items$/m);
    expect(ended.out).toMatch(/^2 kills \(of 6 moments\) at 2 calls, 0 calls doubled, .* 2 lost/m);
  });

  it('with a model, it is one that answers by the conversation, and counts its answers apart', async (context) => {
    const { here } = await cliFolder(context);
    const script = JSON.stringify([{ calls: [{ name: 'act', arguments: { a: 1 } }] }, 'fine']);
    const answers = JSON.stringify([{ path: '/items*', method: 'POST', body: { id: 'i-1' } }]);
    const ended = await here(
      'crash-test',
      '--max',
      '3',
      '--json',
      '--model',
      script,
      '--answers',
      answers,
      ...agent('models'),
    );
    expect([ended.code, ended.err]).toEqual([0, '']);
    expect(JSON.parse(ended.out)).toMatchObject({
      calls: [{ kind: 'model' }, { call: 'POST /items', kind: 'write', has_key: true }, { kind: 'model' }],
      // At the first moment of each call: what came before is asked again.
      summary: { kills: 3, doubled_calls: 0, deduplicable_calls: 1, lost: 0, model_calls_again: 2 },
    });
  });
});
