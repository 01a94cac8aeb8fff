/**
 * Owns the WatchBus on Redis: what is kept of a workflow is a stream of Redis, which ends by itself, and a message on the workflow's channel
 * says that there is more; what isn't kept is in that message. Must not wait for Redis or fail with it: what can't be sent is dropped.
 *
 * A subscriber reads the stream, and not the channel, so what it hears is in order and complete whatever messages are lost: it reads on when
 * one comes, and when a lost connection is back.
 */

import { keepLast, type WorkflowId } from '@tidemark/core';
import { type Keeping, WATCH_KEPT_MAX_BYTES, WATCH_KEPT_MS, type WatchBus } from '@tidemark/ports';
import { RedisBus } from './redis-bus.ts';
import type { RedisHintsOptions } from './redis-hints.ts';

/** Messages without an answer; beyond it they are dropped. */
const WATCH_MESSAGES_IN_FLIGHT_MAX = 4_096;
/** Workflows whose kept messages this process knows the sizes of, at most. */
const WATCH_SIZES_MAX_COUNT = 10_000;
/** Time that subscribers have to read the last messages that were kept of a workflow, in milliseconds. */
const WATCH_RELEASED_MS = 5_000;
/** Pause before a read that failed is repeated, in milliseconds. */
const WATCH_READ_PAUSE_MS = 500;

/** Keeps a message, unless it comes behind the newest: the server refuses such an id, and trims nothing then. */
const KEEP = `
local kept = redis.pcall('XADD', KEYS[1], 'MAXLEN', '=', ARGV[2], ARGV[3], 'm', ARGV[4])
if type(kept) == 'table' and kept.err then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return redis.call('PUBLISH', ARGV[1], '')`;
/** Lets what is kept end soon, unless a newer lease has kept some of it. */
const RELEASE = `
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if newest and tonumber(string.match(newest[1], '^%d+')) > tonumber(ARGV[1]) then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** Returns at once; throws `ConfigError` for an address that isn't one. */
export function openRedisWatch(options: RedisHintsOptions): WatchBus {
  return new RedisWatch(options);
}

class RedisWatch implements WatchBus {
  readonly #bus: RedisBus;
  readonly #prefix: string;
  readonly #followed = new Set<Followed>();
  /** Bytes of the messages that this process has kept, by workflow, the oldest first. */
  readonly #sizes = new Map<WorkflowId, { readonly each: number[]; bytes: number }>();

  constructor({ url, tls, prefix }: RedisHintsOptions) {
    const onReady = (): void => {
      for (const each of this.#followed) each.readOn();
    };
    this.#bus = new RedisBus({ url, tls, messagesInFlightMax: WATCH_MESSAGES_IN_FLIGHT_MAX, onReady });
    this.#prefix = prefix;
  }

  publish(workflow: WorkflowId, message: string, keeping: Keeping): void {
    const channel = this.#channel(workflow);
    if (keeping === 'none') {
      this.#bus.publish(channel, message);
      return;
    }
    const count = this.#countKept(workflow, Buffer.byteLength(message), keeping.replaces);
    const id = `${keeping.epoch}-${keeping.number}`;
    this.#bus.run((redis) => redis.eval(KEEP, 1, this.#kept(workflow), channel, count, id, message, WATCH_KEPT_MS));
  }

  release(workflow: WorkflowId, epoch: number): void {
    this.#sizes.delete(workflow);
    this.#bus.run((redis) => redis.eval(RELEASE, 1, this.#kept(workflow), epoch, WATCH_RELEASED_MS));
  }

  async subscribe(workflow: WorkflowId, listener: (message: string) => void): Promise<() => Promise<void>> {
    const channel = this.#channel(workflow);
    const followed = new Followed((after) => this.#read(this.#kept(workflow), after), listener);
    this.#followed.add(followed);
    const end = await this.#bus.subscribe(channel, (message) => {
      if (message.length === 0) followed.readOn();
      else listener(message.toString());
    });
    followed.readOn();
    return async () => {
      this.#followed.delete(followed);
      followed.end();
      await end();
    };
  }

  async close(): Promise<void> {
    for (const each of this.#followed) each.end();
    await this.#bus.close();
  }

  #channel(workflow: WorkflowId): string {
    return `${this.#prefix}:watch:${workflow}`;
  }

  /** The key of what is kept. */
  #kept(workflow: WorkflowId): string {
    return `${this.#prefix}:pieces:${workflow}`;
  }

  #read(key: string, after: string): Promise<readonly [id: string, fields: readonly string[]][]> {
    return this.#bus.ask((redis) => redis.xrange(key, after, '+'));
  }

  /** How many of the newest messages have room. What another process has kept is of a call that nobody follows any more. */
  #countKept(workflow: WorkflowId, bytes: number, replaces: boolean): number {
    const known = this.#sizes.get(workflow);
    const sizes = known === undefined || replaces ? { each: [], bytes: 0 } : known;
    keepLast(this.#sizes, workflow, sizes, WATCH_SIZES_MAX_COUNT);
    sizes.each.push(bytes);
    sizes.bytes += bytes;
    while (sizes.bytes > WATCH_KEPT_MAX_BYTES) sizes.bytes -= sizes.each.shift()!;
    return sizes.each.length;
  }
}

type Read = (after: string) => Promise<readonly [id: string, fields: readonly string[]][]>;

/** One subscription's reading of a workflow's stream: one read at a time. */
class Followed {
  readonly #read: Read;
  readonly #listener: (message: string) => void;
  #after = '-';
  #isDue = false;
  #isReading = false;
  #isOver = false;

  constructor(read: Read, listener: (message: string) => void) {
    this.#read = read;
    this.#listener = listener;
  }

  readOn(): void {
    this.#isDue = true;
    if (!this.#isReading) void this.#run();
  }

  end(): void {
    this.#isOver = true;
  }

  async #run(): Promise<void> {
    this.#isReading = true;
    while (this.#isDue && !this.#isOver) {
      this.#isDue = false;
      try {
        for (const [id, fields] of await this.#read(this.#after)) {
          this.#after = `(${id}`;
          if (!this.#isOver) this.#listener(fields[1]!);
        }
      } catch {
        this.#isDue = true;
        await new Promise((resolve) => setTimeout(resolve, WATCH_READ_PAUSE_MS));
      }
    }
    this.#isReading = false;
  }
}
