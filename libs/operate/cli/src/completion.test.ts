/** Completion, asked as a shell asks: in a real bash, with the script that the command prints. */

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { callCli } from './called-cli-fixture.ts';

const run = promisify(execFile);

async function completed(...words: readonly string[]): Promise<readonly string[]> {
  const { code, out } = await callCli(['completion', 'bash'], { cwd: os.tmpdir() });
  expect(code).toBe(0);
  const file = path.join(os.tmpdir(), `tidemark-completion-${process.pid}.bash`);
  await writeFile(file, out);
  const ask = `source "$0"; COMP_WORDS=(tidemark "$@"); COMP_CWORD=$#; _tidemark; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['-c', ask, file, ...words], { cwd: import.meta.dirname });
  return stdout.trimEnd().split('\n');
}

it('completes commands, sub-commands and their options', async () => {
  expect(await completed('sh')).toEqual(['show', 'shadow']);
  expect(await completed('schedule', '')).toEqual(expect.arrayContaining(['list', 'set', 'fire']));
  expect(await completed('schedule', 'set', '--ti')).toEqual(['--time-zone']);
  expect(await completed('run', 'audit', '--pri')).toEqual(['--priority']);
  expect(await completed('show', 'id', '--check')).toEqual(['--checkpoints']);
});

it('completes files where nothing of its own fits', async () => {
  expect(await completed('run', 'audit', '--input', 'completion.t')).toEqual(['completion.test.ts']);
});

it('is made for bash and zsh, and refuses others', async () => {
  expect((await callCli(['completion', 'zsh'], { cwd: os.tmpdir() })).out).toMatch(/bashcompinit/);
  expect((await callCli(['completion', 'tcsh'], { cwd: os.tmpdir() })).code).toBe(64);
});
