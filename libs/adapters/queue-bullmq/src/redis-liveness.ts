/**
 * Owns Liveness on Redis: beats as keys that expire, the coordinators' marker, and the holders' connections to the coordinators, which
 * advertise there. The marker names the server's run, so a flush, a restart or a failover makes a new one.
 *
 * A view is trusted when this process has seen the same marker, without a failed view in between, for `markerAgeMs` of its own monotonic
 * clock. So after a flush, a restart, or a time in which Redis could not be reached (when nobody could beat), no lease is revoked until
 * every holder has had the time to beat again. Wall clocks decide nothing: Redis' own clock gives a beat's age.
 *
 * judge.ts decides who lives.
 */

import { randomUUID } from 'node:crypto';
import { ConfigError, type HolderId, InvalidError } from '@tidemark/core';
import {
  type Announcement,
  buildsOf,
  type Clock,
  type Liveness,
  type LivenessView,
  type ReportedLease,
} from '@tidemark/ports';
import { type Connection, type ConnectionOptions, openConnection } from './connection.ts';
import {
  type Beat,
  type HolderReport,
  isAlive,
  packLeases,
  packWord,
  parseAdverts,
  parseBeat,
  parseWords,
  unpackLeases,
  type Words,
} from './judge.ts';
import { PresenceClient } from './presence-client.ts';
import { PresenceServer, type PresenceTls } from './presence-server.ts';
import { script } from './script.ts';

export const beatScript = script(new URL('./lua/beat.lua', import.meta.url));
const viewScript = script(new URL('./lua/view.lua', import.meta.url));

/** Longest wait of a beat or a view for an answer before it counts as failed. */
const LIVENESS_TIMEOUT_MS = 2_000;
/** The coordinators' marker outlives its last view by this many times `markerAgeMs`. */
const MARKER_TTL_FACTOR = 4;
/** Shortest time that the marker outlives its last view. */
const MARKER_TTL_MIN_MS = 10_000;
/** Time without a poll after which a coordinator is not advertised any more, in milliseconds. */
const PRESENCE_ADVERT_TTL_MS = 3_000;
/**
 * Time for which a coordinator's report, that it lives and which holders' connections closed, counts, in milliseconds: four of its polls. A
 * coordinator that dies together with a worker delays the notice of that worker's end by no more than this.
 */
const PRESENCE_WORD_TTL_MS = 1_000;

export interface PresenceOptions {
  /** Where a coordinator listens for its workers. */
  readonly host: string;
  /** 0: any. */
  readonly port: number;
  /** The host under which workers reach it. */
  readonly advertisedHost: string;
  /** Both sides then show a certificate of these authorities, and use nothing but TLS. */
  readonly tls?: PresenceTls | undefined;
}

export interface RedisLivenessOptions {
  readonly url: string;
  /** Everything is then sent to Redis over TLS. */
  readonly tls?: ConnectionOptions['tls'];
  /** Prefix of every key; workers and coordinators of one system share it. */
  readonly prefix: string;
  /** Default: this machine alone. */
  readonly presence?: PresenceOptions;
  readonly clock?: Pick<Clock, 'monotonicMs'>;
}

const THIS_MACHINE: PresenceOptions = { host: '127.0.0.1', port: 0, advertisedHost: '127.0.0.1' };

/** Marker, time, adverts, words, beats; see the script. */
type ViewReply = readonly [string, string, readonly string[], readonly string[], readonly string[]];

/** A holder that beats from this process. */
interface Own {
  readonly presence: PresenceClient;
  /** The leases last sent, and their version; 0 before any. */
  packed: string;
  number: number;
  isSent: boolean;
}

/** Leases of other holders, by the number of their version. */
interface Known extends HolderReport {
  readonly number: string;
  /** When its beat was last seen, on this process's monotonic clock; how long that counts while it is connected. */
  seenMs: number;
  stallMs: number;
}

/** Returns at once and connects in the background; throws `ConfigError` for an address that isn't one. */
export function openRedisLiveness(options: RedisLivenessOptions): RedisLiveness {
  return new RedisLiveness(options);
}

export class RedisLiveness implements Liveness {
  readonly #connection: Connection;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #presence: PresenceOptions;
  readonly #keys: Readonly<Record<'marker' | 'holders' | 'coordinators' | 'words', string>>;
  readonly #beatPrefix: string;
  readonly #leasesPrefix: string;
  readonly #own = new Map<HolderId, Own>();
  readonly #id = randomUUID();
  #known = new Map<HolderId, Known>();
  #server: PresenceServer | undefined;
  #advert = '';
  /** The marker seen in the unbroken run of views up to now, and since when. */
  #standing: { readonly marker: string; readonly sinceMs: number } | undefined;

  constructor(options: RedisLivenessOptions) {
    this.#connection = openConnection({
      url: options.url,
      tls: options.tls,
      patience: 'briefly',
      silenceMs: LIVENESS_TIMEOUT_MS,
    });
    this.#clock = options.clock ?? { monotonicMs: () => performance.now() };
    this.#presence = options.presence ?? THIS_MACHINE;
    const own = `${options.prefix}:live`;
    this.#keys = {
      marker: `${own}:marker`,
      holders: `${own}:holders`,
      coordinators: `${own}:coordinators`,
      words: `${own}:words`,
    };
    this.#beatPrefix = `${own}:beat:`;
    this.#leasesPrefix = `${own}:leases:`;
  }

  async beat(
    holder: HolderId,
    leases: readonly ReportedLease[],
    ttlMs: number,
    stallMs = ttlMs,
    announced?: Announcement,
    onShare?: (max: number) => void,
  ): Promise<boolean> {
    if (!(ttlMs >= 1) || !(stallMs >= ttlMs)) {
      throw new InvalidError('ttl-invalid', `expected 1 <= ttlMs <= stallMs, not ${ttlMs} and ${stallMs}`);
    }
    const own = this.#own.get(holder) ?? newOwn(holder, this.#presence.tls, onShare);
    this.#own.set(holder, own);
    const packed = packLeases(leases, announced);
    if (packed !== own.packed) Object.assign(own, { packed, number: own.number + 1, isSent: false });
    try {
      // Sends again when Redis has lost the leases.
      while (!(await this.#sendBeat(holder, own, Math.ceil(ttlMs), Math.ceil(stallMs))));
      return true;
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      return false;
    }
  }

  /** Returns whether Redis has the leases. */
  async #sendBeat(holder: HolderId, own: Own, ttlMs: number, stallMs: number): Promise<boolean> {
    const { number, packed } = own;
    const { holders, coordinators } = this.#keys;
    const keys = [this.#beatPrefix + holder, this.#leasesPrefix + holder, holders, coordinators];
    const standing = own.presence.standing.join(',');
    const args = [holder, ttlMs, stallMs, number, standing, own.isSent ? '' : `${number} ${packed}`];
    const reply = (await this.#ask((redis) => beatScript.run(redis, keys, args))) as readonly (string | number)[];
    const isWanted = reply[0] === 1;
    if (own.number === number) own.isSent = !isWanted;
    own.presence.meet(parseAdverts(reply.slice(1)));
    return !isWanted;
  }

  /** By its connection to this process alone: a holder keeps one to each coordinator. */
  share(holder: HolderId, max: number): void {
    this.#server?.share(holder, max);
  }

  async leave(holder: HolderId): Promise<void> {
    const own = this.#own.get(holder);
    this.#own.delete(holder);
    const forget = this.#ask((redis) =>
      redis
        .multi()
        .del(this.#beatPrefix + holder, this.#leasesPrefix + holder)
        .zrem(this.#keys.holders, holder)
        .exec(),
    );
    // The beat expires by itself.
    await Promise.all([forget.catch(() => {}), own?.presence.leave()]);
  }

  async vanish(holder: HolderId): Promise<void> {
    this.#own.get(holder)?.presence.vanish();
    this.#own.delete(holder);
  }

  async watch(onGone: (holder: HolderId) => void): Promise<() => Promise<void>> {
    const { host, port, advertisedHost, tls } = this.#presence;
    const server = new PresenceServer({ host, port, tls, onGone });
    const boundPort = await server.listen();
    this.#server = server;
    this.#advert = JSON.stringify({ id: this.#id, host: advertisedHost, port: boundPort, token: server.token });
    // When Redis is away, the next view reports it.
    await this.#ask((redis) => this.#view(redis, MARKER_TTL_MIN_MS)).catch(async (error: unknown) => {
      if (!(error instanceof ConfigError)) return;
      await server.close();
      throw error;
    });
    return async () => {
      const advert = this.#advert;
      this.#advert = '';
      this.#server = undefined;
      // Leaves before the connections close, so that no worker comes back.
      const { coordinators, words } = this.#keys;
      await this.#ask((redis) => redis.multi().zrem(coordinators, advert).hdel(words, this.#id).exec()).catch(() => {});
      await server.close();
    };
  }

  /** Whether the holder has a standing connection with this process. */
  isConnected(holder: HolderId): boolean {
    return this.#server?.isConnected(holder) ?? false;
  }

  async view(options: { readonly markerAgeMs: number }): Promise<LivenessView> {
    const startedMs = this.#clock.monotonicMs();
    try {
      const ttlMs = Math.max(MARKER_TTL_MIN_MS, Math.ceil(options.markerAgeMs * MARKER_TTL_FACTOR));
      const [marker, now, advertTexts, wordTexts, beatTexts] = await this.#ask((redis) => this.#view(redis, ttlMs));
      const nowMs = Number(now);
      const beats = new Map<HolderId, Beat>();
      for (let index = 0; index + 1 < beatTexts.length; index += 2) {
        beats.set(beatTexts[index] as HolderId, parseBeat(beatTexts[index + 1]!, nowMs));
      }
      await this.#learn(beats, startedMs);
      if (this.#standing?.marker !== marker) this.#standing = { marker, sinceMs: this.#clock.monotonicMs() };
      const ids = parseAdverts(advertTexts).map((advert) => advert.id);
      const others = new Set(ids.filter((id) => id !== this.#id));
      const trusted = startedMs - this.#standing.sinceMs >= options.markerAgeMs;
      const { words, ended } = parseWords(wordTexts, nowMs);
      const living = this.#living(beats, words, others, startedMs);
      const holders = new Map(Array.from(living, ([holder, { leases }]) => [holder, leases]));
      const server = this.#server;
      const announced = new Map<HolderId, Announcement>();
      for (const [holder, report] of living) if (report.announced) announced.set(holder, report.announced);
      return {
        trusted,
        holders,
        announced,
        builds: buildsOf(announced.values()),
        isGone: (holder) => !holders.has(holder) && (server?.hasEnded(holder) === true || ended.has(holder)),
      };
    } catch (error) {
      this.#standing = undefined;
      if (error instanceof ConfigError) throw error;
      return { trusted: false, holders: new Map(), announced: new Map(), builds: new Map(), isGone: () => false };
    }
  }

  #view(redis: Connection['redis'], markerTtlMs: number): Promise<ViewReply> {
    const { marker, holders, coordinators, words } = this.#keys;
    const advert = [this.#advert, PRESENCE_ADVERT_TTL_MS];
    const word = [this.#id, this.#word(), PRESENCE_WORD_TTL_MS];
    const args = [`.${randomUUID()}`, markerTtlMs, this.#beatPrefix, ...advert, ...word];
    return viewScript.run(redis, [marker, holders, coordinators, words], args) as Promise<ViewReply>;
  }

  /** What this process reports to the other coordinators. */
  #word(): string {
    const nowMs = performance.now();
    const closed = [...(this.#server?.gone() ?? [])];
    const ended = closed.flatMap(([holder]) => (this.#server?.hasEnded(holder) === true ? [holder] : []));
    return packWord(new Map(closed.map(([holder, atMs]) => [holder, Math.floor(nowMs - atMs)])), ended);
  }

  /** Reads the leases whose version is new, and keeps the others. */
  async #learn(beats: ReadonlyMap<HolderId, Beat>, nowMs: number): Promise<void> {
    const stale: HolderId[] = [];
    for (const [holder, beat] of beats) {
      const known = this.#known.get(holder);
      if (known?.number !== beat.number) stale.push(holder);
      else Object.assign(known, { seenMs: nowMs - beat.ageMs, stallMs: beat.stallMs });
    }
    if (stale.length > 0) {
      const packed = await this.#ask((redis) => redis.mget(stale.map((holder) => this.#leasesPrefix + holder)));
      for (const [index, holder] of stale.entries()) {
        const { number, ageMs, stallMs } = beats.get(holder)!;
        const text = packed[index];
        // The leases were deleted or rewritten in between: the next view reads them again.
        const isSame = text?.startsWith(`${number} `) === true;
        const said = text == null ? this.#known.get(holder) : unpackLeases(text.slice(text.indexOf(' ') + 1));
        const { leases = new Map(), announced } = said ?? {};
        this.#known.set(holder, { number: isSame ? number : '', leases, announced, seenMs: nowMs - ageMs, stallMs });
      }
    }
    for (const holder of this.#known.keys()) {
      if (!beats.has(holder) && !this.isConnected(holder)) this.#known.delete(holder);
    }
  }

  #living(
    beats: ReadonlyMap<HolderId, Beat>,
    words: Words,
    others: ReadonlySet<string>,
    nowMs: number,
  ): Map<HolderId, Known> {
    const holders = new Map<HolderId, Known>();
    for (const [holder, known] of this.#known) {
      const { seenMs, stallMs } = known;
      const presence = { isConnected: this.isConnected(holder), others, unseenMs: nowMs - seenMs, stallMs };
      if (isAlive(holder, beats.get(holder), words, presence)) holders.set(holder, known);
    }
    return holders;
  }

  async close(): Promise<void> {
    for (const { presence } of this.#own.values()) presence.abandon();
    await this.#server?.close();
    this.#connection.close();
  }

  async #ask<T>(work: (redis: Connection['redis']) => Promise<T>): Promise<T> {
    await this.#connection.whenReady(LIVENESS_TIMEOUT_MS);
    return this.#connection.bounded(LIVENESS_TIMEOUT_MS, () => work(this.#connection.redis));
  }
}

const newOwn = (holder: HolderId, tls: PresenceTls | undefined, onShare?: (max: number) => void): Own => ({
  presence: new PresenceClient(holder, tls, onShare),
  packed: '',
  number: 0,
  isSent: false,
});
