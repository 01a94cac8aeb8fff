/**
 * Owns what goes wrong during a run: each kind of fault, when and on whom it was, and the two kinds of phases. In the calm,
 * workers are killed one at a time and nothing else happens (their resume times are measured); in a storm anything may happen
 * together. A seed decides what comes.
 */

import { connect } from 'node:net';
import type { NativeServer } from '@tidemark/testkit/servers';
import pg from 'pg';
import type { Fleet } from './fleet.ts';
import {
  CALM_PAUSE_MAX_MS,
  CALM_PAUSE_MIN_MS,
  LINK_FAULT_MAX_MS,
  LINK_FAULT_MIN_MS,
  SERVER_AWAY_MAX_MS,
  SERVER_AWAY_MIN_MS,
  SERVER_STARTS_MAX,
  STOP_MAX_MS,
  STOP_MIN_MS,
  STORM_PAUSE_MAX_MS,
  STORM_PAUSE_MIN_MS,
  UP_AGAIN_MAX_MS,
} from './limits.ts';
import type { LinkFault } from './link.ts';
import type { Random } from './random.ts';
import type { Slot } from './slot.ts';

/** How often each kind comes in a storm, beside the others. */
const STORM_MIX = {
  kill9_worker: 30,
  kill9_coordinator: 18,
  sigstop: 9,
  sigterm: 8,
  broker_restart: 3,
  redis_flush: 6,
  postgres_restart: 5,
  postgres_drop: 4,
  link_cut: 8,
  link_delay: 7,
  link_half_close: 6,
  link_hold: 6,
  link_refuse: 4,
} as const;

/** Share of kills in the calm; the others are asked to end. */
const CALM_KILL_SHARE = 0.8;

export type FaultKind = keyof typeof STORM_MIX;
export const faultKinds = Object.keys(STORM_MIX) as readonly FaultKind[];

/** One fault that happened. Times are of the wall clock, as events' are. */
export interface FaultRecord {
  readonly kind: FaultKind;
  readonly target: string;
  /** Holder id of the worker that was killed or asked to end, where it was known. */
  readonly holder: string | undefined;
  readonly fromMs: number;
  /** When all was as before; infinite while it lasts. */
  toMs: number;
}

export class Faults {
  readonly records: FaultRecord[] = [];
  readonly #fleet: Fleet;
  readonly #random: Random;
  readonly #signal: AbortSignal;
  readonly #onSurprise: (what: string) => void;
  readonly #underWay = new Set<Promise<void>>();
  /** What a fault is on just now: nothing is harmed twice at once. */
  readonly #busy = new Set<string>();
  #bag: FaultKind[];

  /** No fault begins once the signal aborts. */
  constructor(fleet: Fleet, random: Random, signal: AbortSignal, onSurprise: (what: string) => void) {
    this.#fleet = fleet;
    this.#random = random;
    this.#signal = signal;
    this.#onSurprise = onSurprise;
    // Every kind comes once before any comes twice.
    this.#bag = [...faultKinds].sort(() => random.next() - 0.5);
  }

  get underWayCount(): number {
    return this.#underWay.size;
  }

  /** Kills, and now and then asks, one worker at a time, while others are there to take over. */
  async calm(durationMs: number): Promise<void> {
    const endMs = performance.now() + durationMs;
    while (performance.now() < endMs && !this.#signal.aborted) {
      await this.#pause(CALM_PAUSE_MIN_MS, CALM_PAUSE_MAX_MS);
      const up = this.#fleet.workers.filter((slot) => slot.isUp);
      if (up.length < 2 || this.#signal.aborted) continue;
      this.#begin(this.#random.next() < CALM_KILL_SHARE ? 'kill9_worker' : 'sigterm', this.#random.one(up));
    }
    await this.settled();
  }

  /** Lets anything happen, several things at once, and waits until all is as before. */
  async storm(durationMs: number): Promise<void> {
    const endMs = performance.now() + durationMs;
    while (performance.now() < endMs && !this.#signal.aborted) {
      const kind = this.#bag.pop() ?? this.#random.weighted(STORM_MIX);
      if (!this.#begin(kind, this.#slotFor(kind))) this.#bag.unshift(kind);
      await this.#pause(STORM_PAUSE_MIN_MS, STORM_PAUSE_MAX_MS);
    }
    await this.settled();
  }

  /** Resolves when no fault is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #slotFor(kind: FaultKind): Slot {
    if (kind === 'kill9_coordinator') return this.#random.one(this.#fleet.coordinators);
    return this.#random.one(kind === 'kill9_worker' ? this.#fleet.workers : this.#fleet.slots);
  }

  /** Whether it came: its target may be harmed already. */
  #begin(kind: FaultKind, slot: Slot): boolean {
    const target = targetOf(kind, slot);
    if (this.#busy.has(target)) return false;
    this.#busy.add(target);
    const { holder } = slot;
    const record: FaultRecord = { kind, target, holder, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    this.records.push(record);
    const over = this.#happen(kind, slot)
      .catch((error: unknown) => this.#onSurprise(`${kind} on ${target} failed: ${error}`))
      .finally(() => {
        record.toMs = Date.now();
        this.#busy.delete(target);
        this.#underWay.delete(over);
      });
    this.#underWay.add(over);
    return true;
  }

  async #happen(kind: FaultKind, slot: Slot): Promise<void> {
    const { servers } = this.#fleet;
    switch (kind) {
      case 'kill9_worker':
      case 'kill9_coordinator':
        slot.kill();
        return upAgain(slot);
      case 'sigterm':
        await slot.terminate();
        return upAgain(slot);
      case 'sigstop':
        slot.signal('SIGSTOP');
        await this.#last(STOP_MIN_MS, STOP_MAX_MS);
        return slot.signal('SIGCONT');
      case 'redis_flush':
        return flush(new URL(servers.redis.address));
      case 'postgres_drop':
        return dropDatabase(servers.postgres.address, this.#fleet.databaseUrl.pathname.slice(1));
      case 'postgres_restart':
      case 'broker_restart': {
        const server = kind === 'broker_restart' ? servers.kafka : servers.postgres;
        await server.kill();
        await this.#last(SERVER_AWAY_MIN_MS, SERVER_AWAY_MAX_MS);
        return this.#startAgain(server);
      }
      default:
        return this.#harmLink(kind.slice('link_'.length) as LinkFault, slot);
    }
  }

  /** On a machine with much to do a server may take longer than its start is given: that is no fault of whoever needs it. */
  async #startAgain(server: NativeServer): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await server.startAgain();
        return;
      } catch (error) {
        if (attempt === SERVER_STARTS_MAX) throw error;
      }
    }
  }

  async #harmLink(fault: LinkFault, slot: Slot): Promise<void> {
    const heal = slot.links.harm(this.#random.one(slot.links.names), fault, this.#random);
    await this.#last(LINK_FAULT_MIN_MS, LINK_FAULT_MAX_MS);
    heal();
  }

  /** A time that a fault lasts, ended or not. */
  #last(minMs: number, maxMs: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.#random.between(minMs, maxMs)));
  }

  /** A time between faults; over at once when the run is. */
  async #pause(minMs: number, maxMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#random.between(minMs, maxMs));
    const end = (): void => resolve();
    this.#signal.addEventListener('abort', end, { once: true });
    if (this.#signal.aborted) resolve();
    await promise;
    clearTimeout(timer);
    this.#signal.removeEventListener('abort', end);
  }
}

/** Two faults on one target would undo each other: the end of one would heal the other. */
function targetOf(kind: FaultKind, slot: Slot): string {
  if (kind === 'broker_restart') return 'kafka';
  if (kind === 'postgres_restart' || kind === 'postgres_drop') return 'postgres';
  if (kind === 'redis_flush') return 'redis';
  return kind.startsWith('link_') ? `${slot.name} links` : slot.name;
}

/** Rejects when the process is not back in time: a run must not wait for ever. */
export async function upAgain(slot: Slot): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not up again in ${UP_AGAIN_MAX_MS} ms`)), UP_AGAIN_MAX_MS);
  try {
    await Promise.race([slot.whenUp(), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function flush(url: URL): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(Number(url.port), url.hostname, () => socket.write('FLUSHALL\r\n'));
  socket.once('data', () => resolve());
  socket.once('error', reject);
  await promise;
  socket.destroy();
}

/** Drops the database under its users' hands, as a lost server would. */
export async function dropDatabase(server: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(`drop database if exists ${client.escapeIdentifier(name)} with (force)`);
  } finally {
    await client.end();
  }
}

export const isKill = (kind: FaultKind): boolean => kind === 'kill9_worker' || kind === 'kill9_coordinator';
