/** Owns the links of one process: a proxy to each server, the settings that lead the process through them, and their faults. */

import { freePort } from '@tidemark/testkit/servers';
import { LINK_DELAY_MAX_MS, LINK_DELAY_MIN_MS } from './limits.ts';
import type { Random } from './random.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** `presence`: that of the workers to a coordinator, which takes a broken one for the end of a worker. */
export type LinkName = 'kafka' | 'redis' | 'postgres' | 'presence';
/** Where the presence proxies listen. A coordinator tells another host beside its own port, so this is another local address. */
const PRESENCE_PROXY_HOST = '127.0.0.2';

export const linkFaults = ['cut', 'delay', 'half_close', 'hold', 'refuse'] as const;
export type LinkFault = (typeof linkFaults)[number];

export interface ServerAddresses {
  /** `host:port` of the listener of this process's own. */
  readonly kafka: string;
  readonly redis: URL;
  readonly postgres: URL;
}

export class Links {
  /** The links that this process has. */
  readonly names: readonly LinkName[];
  readonly proxies: Readonly<Record<LinkName, TcpProxy>>;

  /** `onRedisData` sees what the process says to Redis: its beats name it. */
  constructor(role: 'coordinator' | 'worker' | 'compactor', onRedisData: (chunk: Buffer) => void) {
    this.names = role === 'coordinator' ? ['kafka', 'redis', 'postgres', 'presence'] : ['kafka', 'redis', 'postgres'];
    this.proxies = {
      kafka: new TcpProxy(),
      redis: new TcpProxy(onRedisData),
      postgres: new TcpProxy(),
      presence: new TcpProxy(),
    };
  }

  async listen(): Promise<void> {
    // The coordinator is to have its proxy's port at the other address: one that no outgoing connection takes.
    const listening = this.names.map(async (name) =>
      name === 'presence'
        ? this.proxies.presence.listen(PRESENCE_PROXY_HOST, await freePort())
        : this.proxies[name].listen(),
    );
    await Promise.all(listening);
  }

  /** Leads the links to the servers; returns the settings that lead a process to the links. */
  lead(servers: ServerAddresses): Record<string, string> {
    this.proxies.kafka.target(servers.kafka);
    this.proxies.redis.target(servers.redis.host);
    this.proxies.postgres.target(servers.postgres.host);
    return {
      ...(this.names.includes('presence') && this.#presence()),
      TIDEMARK_KAFKA_BROKERS: `127.0.0.1:${this.proxies.kafka.port}`,
      TIDEMARK_REDIS_URL: through(servers.redis, this.proxies.redis),
      TIDEMARK_POSTGRES_URL: through(servers.postgres, this.proxies.postgres),
    };
  }

  /** The coordinator listens at the proxy's port, and tells workers the proxy's host. */
  #presence(): Record<string, string> {
    const { presence } = this.proxies;
    presence.target(`127.0.0.1:${presence.port}`);
    return {
      TIDEMARK_PRESENCE_HOST: '127.0.0.1',
      TIDEMARK_PRESENCE_PORT: String(presence.port),
      TIDEMARK_PRESENCE_ADVERTISED_HOST: PRESENCE_PROXY_HOST,
    };
  }

  /** Starts the fault; returns what ends it. */
  harm(name: LinkName, fault: LinkFault, random: Random): () => void {
    const proxy = this.proxies[name];
    switch (fault) {
      case 'cut':
        proxy.cut();
        return () => {};
      case 'half_close':
        proxy.halfClose(random.one(['client', 'server']));
        return () => {};
      case 'delay':
        proxy.delay(random.between(LINK_DELAY_MIN_MS, LINK_DELAY_MAX_MS));
        return () => proxy.delay(0);
      case 'hold':
        proxy.hold();
        return () => proxy.letGo();
      case 'refuse':
        proxy.refuse(true);
        proxy.cut();
        return () => proxy.refuse(false);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.names.map((name) => this.proxies[name].close()));
  }
}

function through(server: URL, proxy: TcpProxy): string {
  const url = new URL(server);
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  return url.href;
}
