/**
 * Owns limits of calls on Redis: the rules are in call-limits.lua. A call of scopes for which nothing is declared asks the server only
 * while one of them is known to be in trouble, which each process reads once a second while it calls. While the server is away calls pass;
 * only the first of a process wait for it a little.
 */

import { randomUUID } from 'node:crypto';
import type { AskedTurn, CallEnd, CallLimiter, CallTurn } from '@tidemark/ports';
import { CALL_RULES, FaultRows, isDeclared } from '@tidemark/ports/call-rules';
import { type Connection, type ConnectionOptions, openConnection } from './connection.ts';
import { script } from './script.ts';

/** Longest wait for the first connection, and for an answer. A busy process is late itself, and must not call past its limits for that. */
const CONNECT_MAX_MS = 2_000;
const ANSWER_MAX_MS = 5_000;
/** Period at which a process that calls reads which scopes are in trouble. */
const TROUBLED_READ_MS = 1_000;
/** Time for which a call counts as under way after its process was last seen, and the period at which processes say so. */
const RUNNING_TTL_MS = 30_000;
const RENEW_MS = 10_000;
/** What is known of a declared scope is forgotten after this without a call, in milliseconds, or when its next call may be made. */
const KEPT_MS = 90_000_000;

const calls = script(new URL('./lua/call-limits.lua', import.meta.url));

export interface RedisCallsOptions {
  readonly url: string;
  readonly tls?: ConnectionOptions['tls'];
  /** Prefix of every key; processes that share it share their limits. */
  readonly prefix: string;
  /** In place of the server's clock, for tests. */
  readonly nowMs?: (() => number) | undefined;
}

/** Returns at once and connects in the background; throws `ConfigError` for an address that isn't one. */
export const openRedisCalls = (options: RedisCallsOptions): CallLimiter => new RedisCalls(options);

class RedisCalls implements CallLimiter {
  readonly #options: RedisCallsOptions;
  readonly #connection: Connection;
  readonly #rows = new FaultRows();
  readonly #id = randomUUID();
  readonly #running = new Map<string, readonly string[]>();
  readonly #renewing: NodeJS.Timeout;
  #troubled: ReadonlySet<string> = new Set();
  #readMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  /** Or has tried to for as long as is waited for that. */
  #hasConnected = false;
  #callCount = 0;
  #connecting: Promise<void> | undefined;

  constructor(options: RedisCallsOptions) {
    this.#options = options;
    const { url, tls } = options;
    this.#connection = openConnection({ url, tls, patience: 'briefly', silenceMs: ANSWER_MAX_MS });
    this.#renewing = setInterval(() => void this.#renew(), RENEW_MS).unref();
  }

  async ask(asked: AskedTurn): Promise<CallTurn> {
    const passed: CallTurn = { kind: 'pass', call: '', inMs: 0 };
    if (!asked.scopes.some(isDeclared)) {
      await this.#readTroubled();
      if (!asked.scopes.some(({ key }) => this.#troubled.has(key))) return passed;
    }
    const call = `${this.#id}:${++this.#callCount}`;
    const reply = await this.#run('ask', asked, { call, lostMs: RUNNING_TTL_MS });
    if (reply === undefined) return passed;
    const [kind, ms, at, faultMs, why] = reply as [string, string | number, number, string, string];
    if (kind === 'pass') {
      this.#running.set(call, this.#runningKeys(asked));
      return { kind: 'pass', call, inMs: Number(ms) };
    }
    const isFault = Number(faultMs) > 0;
    const scope = asked.scopes[at - 1]!;
    return { kind: 'wait', waitMs: Number(ms), scope, faultMs: Number(faultMs), ...(isFault && { why }) };
  }

  async end(asked: AskedTurn, call: string, ended: CallEnd): Promise<void> {
    this.#running.delete(call);
    const judged = asked.scopes.map((scope) => this.#rows.judge(scope, ended));
    const isTrouble = judged.some((each) => each.isTrouble);
    if (call === '' && !isTrouble) return;
    const [ends, trips] = [judged.map(({ end }) => end), judged.map(({ isTrip }) => isTrip)];
    await this.#run('end', asked, { call, ends, trips });
    // The next call sees what this one made of it.
    if (isTrouble) this.#readMs = Number.NEGATIVE_INFINITY;
  }

  async close(): Promise<void> {
    clearInterval(this.#renewing);
    this.#connection.close();
  }

  #key(name: string): string {
    return `${this.#options.prefix}:calls:${name}`;
  }

  #runningKeys({ scopes }: Pick<AskedTurn, 'scopes'>): readonly string[] {
    return scopes.map(({ key }) => this.#key(`running:${key}`));
  }

  /** Undefined while the server is away. */
  #run(what: 'ask' | 'end', asked: AskedTurn, more: object): Promise<unknown> {
    const { scopes, who, tenant, tokens, waitMaxMs } = asked;
    const kinds = ['figures', 'turns', 'places', 'running'];
    const keys = [
      ...scopes.flatMap(({ key }) => kinds.map((kind) => this.#key(`${kind}:${key}`))),
      this.#key('troubled'),
    ];
    return this.#send(what, keys, { scopes, who, tenant, tokens, waitMaxMs, ...more });
  }

  #send(what: string, keys: readonly string[], given: object): Promise<unknown> {
    const now = String(this.#options.nowMs?.() ?? '');
    const rules = JSON.stringify({ ...CALL_RULES, keptMs: KEPT_MS });
    return this.#asked((redis) => calls.run(redis, keys, [what, rules, JSON.stringify(given), now]));
  }

  async #asked<T>(work: (redis: Connection['redis']) => Promise<T>): Promise<T | undefined> {
    const { redis } = this.#connection;
    // It connects again by itself.
    if (this.#hasConnected && redis.status !== 'ready') return undefined;
    try {
      await this.#ready();
      return await this.#connection.bounded(ANSWER_MAX_MS, () => work(redis));
    } catch {
      return undefined;
    }
  }

  /** Many may wait for it at once. */
  #ready(): Promise<void> {
    this.#connecting ??= this.#connection.whenReady(CONNECT_MAX_MS).finally(() => {
      this.#hasConnected = true;
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Waits only where nothing was read yet, or trouble was just reported. */
  async #readTroubled(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#readMs < TROUBLED_READ_MS) return;
    const isFirst = this.#readMs === Number.NEGATIVE_INFINITY;
    this.#reading ??= this.#read(nowMs);
    if (isFirst) await this.#reading;
  }

  async #read(nowMs: number): Promise<void> {
    const found = await this.#asked((redis) => redis.zrange(this.#key('troubled'), '0', '-1'));
    if (found !== undefined) this.#troubled = new Set(found);
    this.#readMs = nowMs;
    this.#reading = undefined;
  }

  async #renew(): Promise<void> {
    const byKey = new Map<string, string[]>();
    for (const [call, keys] of this.#running) {
      for (const key of keys) byKey.set(key, [...(byKey.get(key) ?? []), call]);
    }
    if (byKey.size === 0) return;
    await this.#send('renew', [...byKey.keys()], { calls: [...byKey.values()], lostMs: RUNNING_TTL_MS });
  }
}
