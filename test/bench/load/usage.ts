/** Owns what the machine says of processes from outside: memory and processor time by role, ended processes' included, and what is free. */

import { readFile, statfs } from 'node:fs/promises';
import { cpuSeconds, memoryBytes } from '@tidemark/testkit/processes';

/** Who works for a role just now: pids by name. */
export type Members = ReadonlyMap<string, readonly number[]>;

/** Processor seconds since the first look, by role. A process that was never seen again keeps what it had. */
export class CpuMeter {
  readonly #last = new Map<number, { readonly role: string; readonly seconds: number }>();
  readonly #ended = new Map<string, number>();
  readonly #first = new Map<number, number>();
  #isFirst = true;

  /** Looks at all of them; returns the seconds used so far. */
  async look(roles: Members): Promise<Record<string, number>> {
    const there = new Set<number>();
    for (const [role, pids] of roles) {
      for (const pid of pids) {
        const seconds = await cpuSeconds(pid).catch(() => undefined);
        if (seconds === undefined) continue;
        there.add(pid);
        if (!this.#first.has(pid)) this.#first.set(pid, this.#isFirst ? seconds : 0);
        this.#last.set(pid, { role, seconds });
      }
    }
    this.#isFirst = false;
    for (const [pid, { role, seconds }] of this.#last) {
      if (there.has(pid)) continue;
      this.#ended.set(role, (this.#ended.get(role) ?? 0) + seconds - this.#first.get(pid)!);
      this.#last.delete(pid);
    }
    const used: Record<string, number> = Object.fromEntries(this.#ended);
    for (const [pid, { role, seconds }] of this.#last) {
      used[role] = (used[role] ?? 0) + seconds - this.#first.get(pid)!;
    }
    return used;
  }
}

export const rssBytes = async (pid: number): Promise<number> => (await memoryBytes(pid)).now;

export interface Room {
  readonly shmUsedBytes: number;
  readonly shmFreeBytes: number;
  readonly availableBytes: number;
}

/** What the memory file system and the machine have left. */
export async function room(): Promise<Room> {
  const shm = await statfs('/dev/shm').catch(() => undefined);
  const info = await readFile('/proc/meminfo', 'utf8');
  return {
    shmUsedBytes: shm === undefined ? 0 : (shm.blocks - shm.bfree) * shm.bsize,
    shmFreeBytes: shm === undefined ? Number.POSITIVE_INFINITY : shm.bavail * shm.bsize,
    availableBytes: Number(/^MemAvailable:\s+(\d+) kB/m.exec(info)?.[1] ?? 0) * 1_024,
  };
}
