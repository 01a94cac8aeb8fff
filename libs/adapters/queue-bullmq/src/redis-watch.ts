/** Owns the WatchBus on Redis: one channel per workflow. Must not wait for Redis; messages that can't be sent at once are dropped. */

import type { WorkflowId } from '@tidemark/core';
import type { WatchBus } from '@tidemark/ports';
import type { ConnectionOptions } from './connection.ts';
import { WATCH_MESSAGES_IN_FLIGHT_MAX } from './limits.ts';
import { RedisBus } from './redis-bus.ts';

export interface RedisWatchOptions {
  readonly url: string;
  /** Everything is then sent over TLS. */
  readonly tls?: ConnectionOptions['tls'];
  /** Prefix of every channel. */
  readonly prefix: string;
}

/** Returns at once; throws `ConfigError` for an address that isn't one. */
export function openRedisWatch({ url, tls, prefix }: RedisWatchOptions): WatchBus {
  const bus = new RedisBus({ url, tls, messagesInFlightMax: WATCH_MESSAGES_IN_FLIGHT_MAX });
  const channelOf = (workflow: WorkflowId): string => `${prefix}:watch:${workflow}`;
  return {
    publish: (workflow, message) => bus.publish(channelOf(workflow), message),
    subscribe: (workflow, listener) => bus.subscribe(channelOf(workflow), (message) => listener(message.toString())),
    close: () => bus.close(),
  };
}
