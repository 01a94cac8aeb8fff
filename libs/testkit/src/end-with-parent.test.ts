/** A process that a test started does not outlive it. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { eventually } from './eventually.ts';
import { END_WITH_PARENT } from './node-flags.ts';

const PROGRAM = 'setInterval(() => {}, 1_000)';

/** One that has ended may stay in the table of processes until its new parent asks for its status. */
function lives(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.startsWith('Z');
}

it.each([
  ['ends when its parent is killed', END_WITH_PARENT, false],
  ['and lives on without the flags (control)', [], true],
])('%s', async (_, flags, outlives) => {
  const child = JSON.stringify([...flags, '-e', PROGRAM]);
  const parent = spawn(process.execPath, [
    '-e',
    `const child = require('node:child_process').spawn(process.execPath, ${child}, { stdio: 'ignore', detached: true });
    console.log(child.pid); ${PROGRAM}`,
  ]);
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  if (outlives) {
    expect(lives(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
  } else await eventually(() => !lives(pid));
});
