import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '@tidemark/testkit/eventually';
import { expect, it } from 'vitest';
import { familyNamed, familyOf, residentBytes } from './processes.ts';

it('a family is a process with its children and theirs, by its id or by a text of its command', async () => {
  const name = `family-${process.pid}`;
  const child = spawn('sh', ['-c', `sh -c 'sleep 60 & echo started; wait'; : ${name}`], {
    ...{ detached: true, stdio: ['ignore', 'pipe', 'ignore'] },
  });
  try {
    await once(child.stdout!, 'data');
    await eventually(async () => (await familyOf(child.pid!)).length === 3, { what: 'three' });
    expect(await familyNamed(name)).toEqual(await familyOf(child.pid!));
    expect(await familyOf(process.pid)).toEqual(expect.arrayContaining([...(await familyOf(child.pid!))]));
    expect(await residentBytes(await familyOf(child.pid!))).toBeGreaterThan(0);
    expect(await familyNamed(`nobody${name}`)).toEqual([]);
  } finally {
    process.kill(-child.pid!, 'SIGKILL');
  }
});
