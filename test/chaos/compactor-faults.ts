/**
 * Owns what goes wrong while compactors are killed: the kills themselves, until there were as many as asked for, and now and then a
 * dropped database, an object store that stands still, or a killed coordinator. A seed decides when.
 */

import { readdirSync, readFileSync } from 'node:fs';
import type { NativeServer } from '@tidemark/testkit/servers';
import type { CompactorFleet, CompactorServers } from './compactor-fleet.ts';
import {
  COMPACTOR_START_KILLS_PERCENT,
  COMPACTOR_START_MS,
  HALF_DONE_STEPS_MAX,
  KILL_DELAY_MAX_MS,
  KILLS_PER_COORDINATOR_KILL,
  KILLS_PER_DROP,
  KILLS_PER_PAUSE,
  LIFE_MAX_MS,
  MANY_STEPS_MAX,
  MANY_STEPS_PERCENT,
  OBJECTS_PAUSE_MAX_MS,
  OBJECTS_PAUSE_MIN_MS,
  STEP_KILLS_PERCENT,
  STEPS_MAX,
} from './compactor-limits.ts';
import { halfDone } from './compactor-steps.ts';
import { dropDatabase, upAgain } from './faults.ts';
import { Random } from './random.ts';
import type { Slot } from './slot.ts';

const KILLS_PER = {
  postgres_drop: KILLS_PER_DROP,
  objects_pause: KILLS_PER_PAUSE,
  kill9_coordinator: KILLS_PER_COORDINATOR_KILL,
} as const;
export type Disturbance = keyof typeof KILLS_PER;
export const disturbances = Object.keys(KILLS_PER) as readonly Disturbance[];

/** After how many kills each comes, the first of them first. */
export function planOf(
  random: Random,
  killsMax: number,
): readonly { readonly at: number; readonly what: Disturbance }[] {
  return disturbances
    .flatMap((what) =>
      Array.from({ length: Math.ceil(killsMax / KILLS_PER[what]) }, () => ({
        at: random.between(Math.min(2, killsMax - 1), killsMax - 1),
        what,
      })),
    )
    .sort((a, b) => a.at - b.at);
}

/** Where a life ends: in the how manieth step, of that name or of any. Not after a time: that would depend on the machine. */
function lifeOf(random: Random): { readonly step: string | undefined; readonly count: number } {
  if (random.between(1, 100) <= STEP_KILLS_PERCENT) {
    return { step: random.one(halfDone), count: random.between(1, HALF_DONE_STEPS_MAX) };
  }
  const isLong = random.between(1, 100) <= MANY_STEPS_PERCENT;
  return { step: undefined, count: isLong ? random.between(STEPS_MAX, MANY_STEPS_MAX) : random.between(1, STEPS_MAX) };
}

export interface KillPlan {
  readonly seed: number;
  readonly killsMax: number;
  /** There are more kills when so many segments were not archived meanwhile. */
  readonly segmentsMin: number;
  readonly signal: AbortSignal;
}

export class CompactorFaults {
  killCount = 0;
  readonly counts: Record<Disturbance, number> = { postgres_drop: 0, objects_pause: 0, kill9_coordinator: 0 };
  readonly #fleet: CompactorFleet;
  readonly #servers: CompactorServers;
  readonly #random: Random;
  readonly #kills: KillPlan;
  readonly #onSurprise: (what: string) => void;
  readonly #plan: { readonly at: number; readonly what: Disturbance }[];
  readonly #underWay = new Set<Promise<void>>();

  /** Nothing begins once the signal aborts. */
  constructor(fleet: CompactorFleet, servers: CompactorServers, given: KillPlan, onSurprise: (what: string) => void) {
    this.#fleet = fleet;
    this.#servers = servers;
    this.#random = new Random(given.seed);
    this.#kills = given;
    this.#onSurprise = onSurprise;
    this.#plan = [...planOf(this.#random, given.killsMax)];
  }

  /** Resolves after the last kill, when every process stands again and nothing is wrong any more. */
  async run(): Promise<void> {
    const { compactors } = this.#fleet;
    await Promise.all(
      compactors.map((slot, index) => this.#haunt(slot, new Random(this.#random.next() * 2 ** 31 + index))),
    );
    await Promise.all(this.#underWay);
    await Promise.all(compactors.map(upAgain));
  }

  async #haunt(slot: Slot, random: Random): Promise<void> {
    const { signal, killsMax, segmentsMin } = this.#kills;
    const isEnough = (): boolean => this.killCount >= killsMax && this.#fleet.steps.segmentCount >= segmentsMin;
    const isOver = (): boolean => signal.aborted || isEnough();
    while (!isOver()) {
      if (random.between(1, 100) <= COMPACTOR_START_KILLS_PERCENT) await pause(random.between(50, COMPACTOR_START_MS));
      else {
        await upAgain(slot);
        const { step, count } = lifeOf(random);
        await this.#fleet.steps.until(slot.name, step, count, LIFE_MAX_MS);
        await pause(random.between(0, KILL_DELAY_MAX_MS));
      }
      if (isOver()) return;
      if (!slot.isRunning) continue;
      slot.kill();
      this.killCount++;
      this.#disturb();
    }
  }

  #disturb(): void {
    while (this.#plan.length > 0 && this.#plan[0]!.at <= this.killCount) {
      const { what } = this.#plan.shift()!;
      const over = this.#happen(what)
        .then(() => void this.counts[what]++)
        .catch((error: unknown) => this.#onSurprise(`${what} failed: ${error}`))
        .finally(() => this.#underWay.delete(over));
      this.#underWay.add(over);
    }
  }

  async #happen(what: Disturbance): Promise<void> {
    const { coordinator, databaseUrl } = this.#fleet;
    switch (what) {
      case 'postgres_drop':
        return dropDatabase(this.#servers.postgres, databaseUrl.pathname.slice(1));
      case 'kill9_coordinator':
        coordinator.kill();
        return upAgain(coordinator);
      case 'objects_pause':
        return standStill(this.#servers.s3, this.#random.between(OBJECTS_PAUSE_MIN_MS, OBJECTS_PAUSE_MAX_MS));
    }
  }
}

/** A server that answers nothing and closes nothing for a while. */
async function standStill(server: NativeServer, durationMs: number): Promise<void> {
  const pid = pidOf(server);
  process.kill(pid, 'SIGSTOP');
  try {
    await pause(durationMs);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

/** The process whose data is in the server's folder, which no other is told of. */
function pidOf({ kind, folder }: NativeServer): number {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(`=${folder}\0`)) return Number(name);
    } catch {
      // It has ended meanwhile.
    }
  }
  throw new Error(`no process of the ${kind} server in ${folder} was found`);
}

const pause = (durationMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, durationMs));
