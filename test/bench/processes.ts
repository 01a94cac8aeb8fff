/** Owns what benches read of families of processes from outside: who belongs to one, its memory and processor time. Linux alone. */

import { readdir, readFile } from 'node:fs/promises';
import { cpuSeconds, pssBytes } from '@tidemark/testkit/processes';

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

async function processes(): Promise<readonly Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      try {
        const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
        const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        return { pid, parent, command };
      } catch {
        // It has ended meanwhile.
        return undefined;
      }
    }),
  );
  return found.filter((each) => each !== undefined);
}

function familyIn(all: readonly Process[], pid: number): readonly number[] {
  const members = [pid];
  for (const member of members) for (const { pid: child, parent } of all) if (parent === member) members.push(child);
  return members;
}

/** The process and all that it started, and these started. */
export const familyOf = async (pid: number): Promise<readonly number[]> => familyIn(await processes(), pid);

/** The family of the first process whose command line has the text; none: not found. */
export async function familyNamed(text: string): Promise<readonly number[]> {
  const all = await processes();
  const root = all.find(({ command }) => command.includes(text));
  return root === undefined ? [] : familyIn(all, root.pid);
}

/** Resident bytes of them together; a page that several share is counted once (PSS), and those that have ended not at all. */
export async function residentBytes(pids: readonly number[]): Promise<number> {
  let bytes = 0;
  for (const pid of pids) bytes += await pssBytes(pid).catch(() => 0);
  return bytes;
}

/** Processor seconds of those that live, so far. */
export async function livingCpuSeconds(pids: readonly number[]): Promise<number> {
  let seconds = 0;
  for (const pid of pids) seconds += await cpuSeconds(pid).catch(() => 0);
  return seconds;
}
