/**
 * Owns a TCP proxy before one server, which cuts, delays, half-closes and holds connections, as networks do. Knows nothing
 * of what it carries. One proxy is one link: that of one process to one server.
 */

import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export type Side = 'client' | 'server';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

export class TcpProxy {
  readonly #pairs = new Set<Pair>();
  readonly #listener: Server;
  readonly #onClientData: ((chunk: Buffer) => void) | undefined;
  #target: { readonly host: string; readonly port: number } | undefined;
  #delayMs = 0;
  #held: PromiseWithResolvers<void> | undefined;
  #isRefusing = false;

  /** `onClientData` sees what clients send, as it arrives here. */
  constructor(onClientData?: (chunk: Buffer) => void) {
    this.#onClientData = onClientData;
    this.#listener = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  /** Listens on that port of the local address; 0: on a free one. */
  async listen(host = '127.0.0.1', port = 0): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#listener.once('error', reject);
    this.#listener.listen(port, host, resolve);
    await promise;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  get connectionCount(): number {
    return this.#pairs.size;
  }

  /** Where connections go from now on; until the first call they are refused. `host:port`. */
  target(address: string): void {
    const separator = address.lastIndexOf(':');
    this.#target = { host: address.slice(0, separator), port: Number(address.slice(separator + 1)) };
  }

  /** Resets every connection; new ones are taken. */
  cut(): void {
    for (const pair of this.#pairs) reset(pair);
  }

  /** New connections are reset at once while it lasts; those that stand are left alone. */
  refuse(isRefusing: boolean): void {
    this.#isRefusing = isRefusing;
  }

  /** Adds so much to the way of each chunk, in both directions. 0 ends it. */
  delay(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Tells one side of every connection that the other has nothing more to send (FIN), while the other may go on sending. */
  halfClose(side: Side): void {
    for (const pair of this.#pairs) pair[side].end();
  }

  /** Carries nothing, and closes nothing, until it is let go: nobody can tell it from a slow network. */
  hold(): void {
    this.#held ??= Promise.withResolvers();
  }

  letGo(): void {
    this.#held?.resolve();
    this.#held = undefined;
  }

  async close(): Promise<void> {
    this.letGo();
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()));
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
    await closed;
  }

  #accept(client: Socket): void {
    client.on('error', () => {});
    if (this.#target === undefined || this.#isRefusing) {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ ...this.#target, allowHalfOpen: true });
    const pair = { client, server };
    this.#pairs.add(pair);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => reset(pair));
      socket.on('close', (hadError) => {
        this.#pairs.delete(pair);
        if (hadError) reset(pair);
      });
    }
    client.on('data', (chunk) => this.#onClientData?.(chunk));
    this.#carry(client, server);
    this.#carry(server, client);
  }

  /** Carries chunks and the end, in order, each after what the link's state asks for. */
  #carry(from: Socket, to: Socket): void {
    let last: Promise<void> = Promise.resolve();
    let pendingCount = 0;
    const inTurn = (send: () => void): void => {
      // The common case costs no turn of the loop.
      if (pendingCount === 0 && this.#delayMs === 0 && this.#held === undefined) {
        send();
        return;
      }
      pendingCount++;
      const delayed = this.#wait();
      last = last
        .then(() => delayed)
        .then(() => this.#held?.promise)
        .then(() => {
          pendingCount--;
          send();
        });
    };
    from.on('data', (chunk) =>
      inTurn(() => {
        if (!to.writable) return;
        if (to.write(chunk)) return;
        from.pause();
        to.once('drain', () => from.resume());
      }),
    );
    from.on('end', () => inTurn(() => to.end()));
  }

  #wait(): Promise<void> {
    const delayMs = this.#delayMs;
    return delayMs === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, delayMs));
  }
}

function reset({ client, server }: Pair): void {
  if (!client.destroyed) client.resetAndDestroy();
  if (!server.destroyed) server.resetAndDestroy();
}
