/**
 * Owns Liveness on Redis. A beat is a key that expires, holding the holder's leases; a sorted set of holders by the end
 * of their beats lets a view find them without scanning. The marker is a key that coordinators keep standing; it names
 * the server's run, so a flush, a restart or a failover makes a new one.
 *
 * A view is trusted when this process has seen the same marker, without a failed view in between, for `markerAgeMs` of
 * its own monotonic clock. So after a flush, a restart, or a time in which Redis could not be reached (when nobody could
 * beat), nobody is revoked until everyone has had the time to beat again. Wall clocks decide nothing.
 */

import { randomUUID } from 'node:crypto';
import { type Epoch, type HolderId, InvalidError, type WorkflowId } from '@tidemark/core';
import type { Clock, HeldLease, Liveness, LivenessView } from '@tidemark/ports';
import { type Connection, openConnection } from './connection.ts';
import { LIVENESS_TIMEOUT_MS, MARKER_TTL_FACTOR, MARKER_TTL_MIN_MS } from './limits.ts';
import { script } from './script.ts';

export interface RedisLivenessOptions {
  readonly url: string;
  /** Begins every key; workers and coordinators of one system have the same. */
  readonly prefix: string;
  readonly clock?: Pick<Clock, 'monotonicMs'>;
}

/** KEYS beat, holders; ARGV leases, ttl in ms, holder. Constant but for the size of the leases. */
const beatScript = script(`
local time = redis.call('TIME')
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[3])
`);

/**
 * KEYS marker, holders; ARGV a new marker, its ttl in ms, key prefix of beats. Returns the marker that stands, then
 * holder and leases in turn. O(living holders and what they hold), in chunks of 1,000 because of Lua's stack.
 */
const viewScript = script(`
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''
local marker = redis.call('GET', KEYS[1])
if not marker or string.sub(marker, 1, #run) ~= run then marker = run .. ARGV[1] end
redis.call('SET', KEYS[1], marker, 'PX', ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local holders = redis.call('ZRANGE', KEYS[2], 0, -1)
local reply = { marker }
for first = 1, #holders, 1000 do
  local last = math.min(first + 999, #holders)
  local keys = {}
  for i = first, last do keys[#keys + 1] = ARGV[3] .. holders[i] end
  local beats = redis.call('MGET', unpack(keys))
  for i = first, last do
    local leases = beats[i - first + 1]
    if leases then
      reply[#reply + 1] = holders[i]
      reply[#reply + 1] = leases
    else
      redis.call('ZREM', KEYS[2], holders[i])
    end
  end
end
return reply
`);

/** Returns at once and connects in the background; throws `ConfigError` for an address that isn't one. */
export function openRedisLiveness(options: RedisLivenessOptions): Liveness {
  return new RedisLiveness(options);
}

class RedisLiveness implements Liveness {
  readonly #connection: Connection;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #markerKey: string;
  readonly #holdersKey: string;
  readonly #beatPrefix: string;
  /** The marker seen in the unbroken run of views up to now, and since when. */
  #standing: { readonly marker: string; readonly sinceMs: number } | undefined;

  constructor(options: RedisLivenessOptions) {
    this.#connection = openConnection({
      url: options.url,
      patience: 'briefly',
      silenceMs: LIVENESS_TIMEOUT_MS,
    });
    this.#clock = options.clock ?? { monotonicMs: () => performance.now() };
    this.#markerKey = `${options.prefix}:live:marker`;
    this.#holdersKey = `${options.prefix}:live:holders`;
    this.#beatPrefix = `${options.prefix}:live:beat:`;
  }

  async beat(holder: HolderId, leases: readonly HeldLease[], ttlMs: number): Promise<boolean> {
    if (!(ttlMs >= 1)) throw new InvalidError('ttl-invalid', `ttlMs must be at least 1, not ${ttlMs}`);
    try {
      const keys = [this.#beatPrefix + holder, this.#holdersKey];
      await this.#ask((redis) => beatScript.run(redis, keys, [packLeases(leases), Math.ceil(ttlMs), holder]));
      return true;
    } catch {
      return false;
    }
  }

  async leave(holder: HolderId): Promise<void> {
    try {
      await this.#ask((redis) =>
        redis
          .multi()
          .del(this.#beatPrefix + holder)
          .zrem(this.#holdersKey, holder)
          .exec(),
      );
    } catch {
      // Its beat runs out by itself.
    }
  }

  async view(options: { readonly markerAgeMs: number }): Promise<LivenessView> {
    const askedMs = this.#clock.monotonicMs();
    let reply: readonly string[];
    try {
      const ttlMs = Math.max(MARKER_TTL_MIN_MS, Math.ceil(options.markerAgeMs * MARKER_TTL_FACTOR));
      const keys = [this.#markerKey, this.#holdersKey];
      const args = [`.${randomUUID()}`, ttlMs, this.#beatPrefix];
      reply = (await this.#ask((redis) => viewScript.run(redis, keys, args))) as readonly string[];
    } catch {
      this.#standing = undefined;
      return { trusted: false, holders: new Map() };
    }
    const [marker = '', ...beats] = reply;
    if (this.#standing?.marker !== marker) this.#standing = { marker, sinceMs: this.#clock.monotonicMs() };
    const trusted = askedMs - this.#standing.sinceMs >= options.markerAgeMs;
    return { trusted, holders: unpackBeats(beats) };
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  async #ask<T>(work: (redis: Connection['redis']) => Promise<T>): Promise<T> {
    await this.#connection.whenReady(LIVENESS_TIMEOUT_MS);
    return this.#connection.bounded(LIVENESS_TIMEOUT_MS, () => work(this.#connection.redis));
  }
}

/** Workflow and epoch in turn: a flat array is short and quick to parse. */
const packLeases = (leases: readonly HeldLease[]): string =>
  JSON.stringify(leases.flatMap((lease) => [lease.workflow, lease.epoch]));

function unpackBeats(beats: readonly string[]): Map<HolderId, ReadonlyMap<WorkflowId, Epoch>> {
  const holders = new Map<HolderId, ReadonlyMap<WorkflowId, Epoch>>();
  for (let index = 0; index + 1 < beats.length; index += 2) {
    holders.set(beats[index] as HolderId, unpackLeases(beats[index + 1]!));
  }
  return holders;
}

/** What can't be read is a beat without leases: its sender lives. */
function unpackLeases(packed: string): Map<WorkflowId, Epoch> {
  const leases = new Map<WorkflowId, Epoch>();
  let parsed: unknown;
  try {
    parsed = JSON.parse(packed);
  } catch {
    return leases;
  }
  if (!Array.isArray(parsed)) return leases;
  for (let index = 0; index + 1 < parsed.length; index += 2) {
    leases.set(parsed[index] as WorkflowId, parsed[index + 1] as Epoch);
  }
  return leases;
}
