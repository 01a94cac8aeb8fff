import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const run = (error: string) =>
  spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { TidemarkError } from '@tidemark/core';
       import { surviveUnawaitedCalls } from ${JSON.stringify(new URL('./unawaited-calls.ts', import.meta.url).href)};
       class CallFailedError extends TidemarkError { name = 'CallFailedError' }
       surviveUnawaitedCalls((line) => console.log(line));
       Promise.reject(${error});
       setTimeout(() => console.log('goes on'), 20);`,
    ],
    { cwd: import.meta.dirname, encoding: 'utf8' },
  );

describe('a call that fails before it is awaited', () => {
  it('ends no process', () => {
    const { status, stdout } = run(`new CallFailedError('call-failed', 'pay: it broke')`);
    expect([status, stdout]).toEqual([0, expect.stringMatching(/pay: it broke\. Await each call.*\ngoes on/)]);
  });

  it('control: any other error does', () => {
    const { status, stdout, stderr } = run(`new Error('a bug')`);
    expect([status === 0, stdout, stderr]).toEqual([false, '', expect.stringContaining('a bug')]);
  });
});
