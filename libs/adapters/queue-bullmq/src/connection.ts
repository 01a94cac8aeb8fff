/**
 * Owns connections to Redis: how they reconnect, how long callers wait for them, and what an error says. An address or an error never has
 * credentials (ioredis puts the arguments of AUTH into its errors, so none of its errors is passed on unchanged). Every connection has an
 * error listener; an unreachable server is a state, not an event to crash on.
 */

import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { ConfigError, TidemarkError, UnavailableError } from '@tidemark/core';
import { Redis, ReplyError } from 'ioredis';
import { RECONNECT_FIRST_MS, RECONNECT_MAX_MS } from './limits.ts';

/** Answers of a server that takes no writes: a replica, perhaps the primary until now, or a primary that has lost its replicas. */
const TAKES_NO_WRITES = /(^|-)(READONLY|NOREPLICAS|MASTERDOWN) /;

export interface Connection {
  readonly redis: Redis;
  /** `redis://host:port/db`, without credentials. */
  readonly address: string;
  /**
   * Resolves when commands can be sent; throws `UnavailableError` (`redis-unavailable`) after the time, and `ConfigError` (`redis-cluster`)
   * where keys are spread over nodes, or (`redis-forbidden`) where the user may not do what is needed.
   */
  whenReady(timeoutMs: number): Promise<void>;
  /**
   * Returns the result of the work, or throws `UnavailableError` when it fails or takes longer (`ConfigError` as above). An unanswered command may have run. After a
   * time-out the connection is reopened, so that nothing piles up behind a stuck one.
   */
  bounded<T>(timeoutMs: number, work: () => Promise<T>): Promise<T>;
  /** Ends the connection at once; commands under way fail. */
  close(): void;
}

export interface ConnectionOptions {
  readonly url: string;
  /** Everything is then sent over TLS, whatever the address says. */
  readonly tls?: TlsOptions | undefined;
  /** `forever`: commands wait for the server to come back. `briefly`: they fail after one lost attempt. */
  readonly patience: 'forever' | 'briefly';
  /** Time without any answer after which the connection counts as dead and is reopened. */
  readonly silenceMs: number;
}

export function openConnection(options: ConnectionOptions): Connection {
  const address = addressOf(options.url);
  const redis = new Redis(options.url, {
    maxRetriesPerRequest: options.patience === 'forever' ? null : 1,
    retryStrategy: (attempt) => Math.min(RECONNECT_FIRST_MS * 2 ** Math.min(attempt - 1, 10), RECONNECT_MAX_MS),
    socketTimeout: options.silenceMs,
    // Whoever holds the name now takes writes; callers send theirs again, as after any other loss.
    reconnectOnError: (error) => TAKES_NO_WRITES.test(error.message),
    disableClientInfo: true,
    ...(options.tls !== undefined && { tls: { ...options.tls } }),
  });
  let lastFault: unknown;
  let refusal: string | undefined;
  let single: Promise<void> | undefined;
  redis.on('connect', () => {
    refusal = undefined;
    redis.stream.once('data', (chunk: Buffer | string) => {
      refusal = refusalIn(String(chunk));
    });
  });
  redis.on('error', (error: unknown) => {
    lastFault = refusal ?? error;
  });
  redis.on('ready', () => {
    lastFault = undefined;
  });

  const connection: Connection = {
    redis,
    address,
    async whenReady(timeoutMs) {
      const ready = redis.status === 'ready' || (await settled(redis, timeoutMs));
      if (!ready) throw unavailable(address, lastFault ?? `no answer within ${timeoutMs} ms`);
      single ??= connection.bounded(timeoutMs, () => refuseUnfit(redis, address));
      try {
        await single;
      } catch (error) {
        if (!(error instanceof ConfigError)) single = undefined;
        throw error;
      }
    },
    async bounded(timeoutMs, work) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          reject(unavailable(address, `no answer within ${timeoutMs} ms`));
          redis.disconnect(true);
        }, timeoutMs);
      });
      const result = work();
      result.catch(() => {});
      try {
        return await Promise.race([result, late]);
      } catch (error) {
        if (error instanceof ReplyError && OF_CLUSTER.test((error as Error).message)) throw clusterError(address);
        throw error instanceof TidemarkError ? error : unavailable(address, error);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => endNow(redis),
  };
  return connection;
}

/** Scripts use keys that a cluster would place on several nodes, and tell one run of the server from another by INFO. */
async function refuseUnfit(redis: Redis, address: string): Promise<void> {
  const info = await redis.info('cluster').catch((error: unknown) => {
    if (!(error instanceof ReplyError && (error as Error).message.startsWith('NOPERM '))) throw error;
    throw new ConfigError(
      'redis-forbidden',
      `Redis at ${address} does not let its user ask for INFO, by which coordinators know that beats were not lost. Allow it: ACL SETUSER NAME +info; docs/deploy.md has all that the user needs.`,
      { address },
    );
  });
  if (info.includes('cluster_enabled:1')) throw clusterError(address);
}

/** Answers that only a server in cluster mode gives. */
const OF_CLUSTER = /(^|-)(MOVED|ASK|CROSSSLOT|CLUSTERDOWN) /;

const clusterError = (address: string): ConfigError =>
  new ConfigError(
    'redis-cluster',
    `Redis at ${address} runs with cluster-enabled yes, which Tidemark can't use: its scripts need all keys on one node. Name a Redis without cluster mode, with a replica behind the same name if it must survive its machine.`,
    { address },
  );

/**
 * What a server says before it closes a connection that it doesn't want: the client tells of the closed connection alone (`write EPIPE`).
 * Undefined for any other answer, which may repeat a password.
 */
function refusalIn(answer: string): string | undefined {
  if (answer.startsWith('-DENIED '))
    return 'it is in protected mode, and refuses who comes from another address. Give it a password, or set protected-mode to no where a network guards it';
  if (answer.startsWith('-ERR max number of clients')) return 'it has as many connections as its maxclients allows';
  return undefined;
}

/** The part of a client that ending needs; BullMQ's wrappers have it as well. */
export interface Endable {
  readonly status: string;
  connect(): Promise<unknown>;
  disconnect(): void;
}

/**
 * Ends a client in any state, so that all its waiting commands fail. A client between two attempts to reconnect would only drop its timer
 * and leave its commands unsettled forever, so this starts an attempt for the end to abort.
 */
export function endNow(client: Endable): void {
  if (client.status === 'end') return;
  if (client.status === 'reconnecting') client.connect().catch(() => {});
  client.disconnect();
}

/** True once ready; false when the time is over before that, or the connection has ended. */
function settled(redis: Redis, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (ready: boolean) => () => {
      clearTimeout(timer);
      redis.off('ready', onReady);
      redis.off('end', onEnd);
      resolve(ready);
    };
    const onReady = finish(true);
    const onEnd = finish(false);
    const timer = setTimeout(onEnd, timeoutMs);
    redis.once('ready', onReady);
    redis.once('end', onEnd);
    if (redis.status === 'end') onEnd();
  });
}

/** The address for messages; throws `ConfigError` (`redis-url-invalid`) without repeating the text, which may hold a password. */
export function addressOf(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new ConfigError('redis-url-invalid', 'The address of Redis is not a URL; write redis://host:port');
  }
  if (parsed.protocol !== 'redis:' && parsed.protocol !== 'rediss:') {
    throw new ConfigError('redis-url-invalid', 'The address of Redis must begin with redis:// or rediss://');
  }
  if (`${parsed.pathname}${parsed.search}${parsed.hash}`.includes('@')) {
    const message =
      'The address of Redis has an @ behind its host. In a user name or password write / as %2F, ? as %3F, # as %23 and @ as %40.';
    throw new ConfigError('redis-url-invalid', message);
  }
  return `${parsed.protocol}//${parsed.host}${parsed.pathname === '/' ? '' : parsed.pathname}`;
}

function unavailable(address: string, fault: unknown): UnavailableError {
  const reason = fault instanceof Error ? faultText(fault) : String(fault);
  return new UnavailableError('redis-unavailable', `Redis at ${address} is not available: ${reason}`, { address });
}

/** The message alone: the error's other fields may hold the arguments of AUTH. */
function faultText(fault: Error): string {
  const code = (fault as { code?: unknown }).code;
  if (fault.message !== '') return fault.message;
  return typeof code === 'string' ? code : fault.name;
}
