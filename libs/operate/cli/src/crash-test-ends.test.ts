/** Owns what `tidemark crash-test` says of a program that it can't judge, and that nothing is left of a test, in whatever way it ends. */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { cliFolder } from './spawned-cli-fixture.ts';

vi.setConfig({ testTimeout: 120_000 });
const PATIENCE_MS = 60_000;

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});
/** For a test that is one of many, which gets no context. */
const end = { onTestFinished: (cleanUp: () => Promise<void>) => void cleanUps.push(cleanUp) };

const AGENT = path.resolve(import.meta.dirname, '../fixtures/crash-agent.ts');
const agent = (...args: string[]) => ['--', process.execPath, AGENT, ...args];

describe('says what to do where', () => {
  it.each<[what: string, args: readonly string[], code: number, words: RegExp]>([
    [
      'there is no such program',
      ['--', 'no-such-program'],
      78,
      /no-such-program can't be started: there is no such program/,
    ],
    ['it calls nobody', ['--', process.execPath, '-e', '0'], 65, /made no call to http:.*TIDEMARK_CRASH_TEST_URL/],
    ['its calls follow from chance', agent('chance'), 65, /differ: call 1 of the first, POST \/items, is not made/],
    [
      'it keeps its state elsewhere',
      agent('here'),
      65,
      /differ: the first makes 2 calls, the second 0\. .*--in-folder/,
    ],
    [
      'it fails by itself',
      agent('fails'),
      65,
      /exit code 1\) in a run that nobody killed\.\n(?:.*\n)*Error: no such token: \[masked /,
    ],
    ['it takes too long', ['--limit', '1s', ...agent('sleeps', 'pid')], 75, /did not end within 1 s\. .*--limit/],
    ['its command is missing', [], 64, /missing required argument 'command'/],
    [
      'a rule is none',
      ['--answers', '[{"path":"/a","statu":1}]', '--', 'x'],
      65,
      /--answers\[0\]: Unrecognized key: "statu"/,
    ],
    ['a path is none', ['--answers', '[{"path":"a"}]', '--', 'x'], 65, /--answers\[0\]\.path: give a path/],
    [
      'a script is none',
      ['--model', '["a",{"calls":[{}]}]', '--', 'x'],
      65,
      /--model\[1\]\.calls\[0\]\.name: Invalid input: expected string/,
    ],
    [
      'a report has no place',
      ['--max', '1', '--junit', 'no/r.xml', ...agent('reads')],
      78,
      /no\/r\.xml can't be written/,
    ],
  ])('%s', async (_, args, code, words) => {
    const { here } = await cliFolder(end);
    const ended = await here('crash-test', ...args);
    expect([ended.code, ended.out, ended.err]).toEqual([code, '', expect.stringMatching(words)]);
  });
});

describe('leaves nothing behind', () => {
  const isGone = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  };

  it.each(['Ctrl-C', 'kill -9'])('after %s', async (how) => {
    const { folder, begin, start } = await cliFolder(end);
    const file = path.join(folder, 'pids');
    const args = ['crash-test', ...agent('sleeps', file)];
    const under = how === 'Ctrl-C' ? begin(...args) : start(...args);
    const started = await vi.waitFor(async () => {
      const found = /^(\d+) (\d+) (\S+)$/.exec(await readFile(file, 'utf8'));
      expect(found).not.toBeNull();
      return found!;
    }, PATIENCE_MS);
    const pids = [Number(started[1]), Number(started[2])];
    expect([...pids.map(isGone), existsSync(started[3]!)]).toEqual([false, false, true]);
    if ('kill' in under) await under.kill();
    else expect(await under.interrupt()).toMatchObject({ code: 130, out: '', err: '' });
    await vi.waitFor(() => expect([...pids.map(isGone), existsSync(started[3]!)]).toEqual([true, true, false]), 60_000);
  });
});
