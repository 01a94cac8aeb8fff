/** Background processes leave the processors to others. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const SCRIPT = `
const { giveWay } = await import(${JSON.stringify(new URL('./give-way.ts', import.meta.url).href)});
const { zstdCompress } = await import('node:zlib');
const { promisify } = await import('node:util');
const { readdirSync, readFileSync } = await import('node:fs');
if (process.argv[1] === 'on') giveWay();
await promisify(zstdCompress)(Buffer.alloc(1_000_000));
const niceOf = (thread) => Number(readFileSync('/proc/self/task/' + thread + '/stat', 'utf8').split(') ').at(-1).split(' ')[16]);
console.log(JSON.stringify([...new Set(readdirSync('/proc/self/task').map(niceOf))]));
`;

const nices = async (way: string): Promise<readonly number[]> => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', SCRIPT, way]);
  return JSON.parse(stdout) as readonly number[];
};

it.runIf(process.platform === 'linux')(
  'all threads of a process that gives way do; control: of one that does not',
  async () => {
    const [before] = await nices('off');
    expect(await nices('on')).toEqual([10]);
    expect(before).toBeLessThan(10);
  },
);
