/**
 * Owns a coordinator's side of presence: a TCP server to which workers keep a connection, so that it notices a process's end when its
 * kernel closes the connection. A client sends `hello TOKEN HOLDER` and `from ADDRESS PORT`, its own end of the connection,
 * receives `ok`, and `share N` when it is to keep N leases alone, and may send `bye`. The token is random and published
 * through Redis alone: a process that can't read Redis can't pose as a worker. Everything an unauthenticated client can send or keep open
 * is bounded. Must not judge by beats: it knows connections.
 *
 * P1 A holder is gone, for certain, when its last connection ended (FIN) without a `bye`, and both ends name the same address. A client
 *    says `bye` before it closes a connection, so no process that lives, stopped or not, ends one without it; the kernel does when the process
 *    has ended. A reset, a time-out, a proxy and a translated address prove nothing.
 */

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { ConfigError, type HolderId, messageOf } from '@tidemark/core';
import { PRESENCE_HELLO_MS, PRESENCE_KEEPALIVE_MS } from './limits.ts';
import { UNAUTHENTICATED_LIMITS, Unauthenticated, type UnauthenticatedLimits } from './presence-unauthenticated.ts';

/** Time that a holder has to reconnect before it counts as gone, in milliseconds. */
const PRESENCE_GRACE_MS = 50;
/** Longest line of the presence protocol, in bytes: a word, a token and a holder's name. */
export const PRESENCE_LINE_MAX_BYTES = 1_024;
/** Connections of workers that one coordinator takes. */
const PRESENCE_CONNECTIONS_MAX = 10_000;
/** Connections that wait in the kernel to be accepted; it may allow fewer. */
const PRESENCE_BACKLOG_COUNT = 4_096;
/** Time for which a closed connection is remembered, in milliseconds: longer than any earlier beat counts. */
const PRESENCE_GONE_KEPT_MS = 30_000;
/** Holders whose end is remembered, at most: a lease may show in rows long after it. */
const PRESENCE_ENDED_MAX = 10_000;

/** PEM texts: the own certificate and key, and the authorities whose certificates the other side may show. */
export interface PresenceTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface PresenceServerOptions {
  readonly host: string;
  /** 0: any. */
  readonly port: number;
  readonly tls?: PresenceTls | undefined;
  /** Called once the grace after the last connection's unannounced close has passed. */
  readonly onGone: (holder: HolderId) => void;
  /** Default: `UNAUTHENTICATED_LIMITS`. */
  readonly unauthenticated?: UnauthenticatedLimits;
}

const TOKEN_BYTES = 24;

export class PresenceServer {
  readonly token = randomBytes(TOKEN_BYTES).toString('hex');
  readonly #options: PresenceServerOptions;
  readonly #server: Server;
  readonly #unauthenticated: Unauthenticated;
  readonly #connected = new Map<HolderId, Set<Socket>>();
  #connectedCount = 0;
  /** When the last connection of a holder closed without a farewell (`performance.now`), and whether the grace has passed. */
  readonly #closed = new Map<HolderId, { readonly atMs: number; isGone: boolean }>();
  /** Holders that are gone for certain (P1), the newest last. */
  readonly #ended = new Set<HolderId>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #isClosing = false;

  constructor(options: PresenceServerOptions) {
    this.#options = options;
    this.#unauthenticated = new Unauthenticated(options.unauthenticated ?? UNAUTHENTICATED_LIMITS);
    this.#server = this.#listening();
  }

  #listening(): Server {
    const { tls } = this.#options;
    const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: PRESENCE_KEEPALIVE_MS };
    if (tls === undefined) return createServer(options).on('connection', (socket) => this.#take(socket));
    const secured = { ...options, ...tls, requestCert: true, rejectUnauthorized: true };
    const server = createTlsServer({ ...secured, handshakeTimeout: PRESENCE_HELLO_MS });
    // A connection is unauthenticated until its certificate is verified, and then until it names its holder.
    const shaking = new Map<string, Socket>();
    const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
    server.on('connection', (socket: Socket) => {
      const name = nameOf(socket);
      shaking.set(name, socket);
      this.#unauthenticated.add(socket);
      socket.once('close', () => {
        if (shaking.get(name) === socket) shaking.delete(name);
        this.#unauthenticated.delete(socket);
      });
    });
    server.on('tlsClientError', () => {});
    return server.on('secureConnection', (socket) => {
      const below = shaking.get(nameOf(socket));
      if (below !== undefined) this.#unauthenticated.delete(below);
      this.#take(socket);
    });
  }

  /** Resolves to the port it listens on; throws `ConfigError` (`presence-address`) when it can't. */
  async listen(): Promise<number> {
    const { host, port } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen({ port, host, backlog: PRESENCE_BACKLOG_COUNT }, resolve);
    try {
      await promise;
    } catch (error) {
      const reason = messageOf(error);
      throw new ConfigError('presence-address', `Can't listen for workers on ${host}:${port}: ${reason}`, {
        host,
        port,
      });
    }
    this.#server.off('error', reject);
    // The worker retries a connection that can't be accepted (no descriptor left).
    this.#server.on('error', () => {});
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  isConnected(holder: HolderId): boolean {
    return this.#connected.has(holder);
  }

  /** Holders whose last connection closed, and when, by `performance.now`; without those that may still reconnect, or have. */
  gone(): ReadonlyMap<HolderId, number> {
    const gone = new Map<HolderId, number>();
    for (const [holder, { atMs, isGone }] of this.#closed) if (isGone) gone.set(holder, atMs);
    return gone;
  }

  /** Whether the holder's process has ended, for certain (P1). */
  hasEnded(holder: HolderId): boolean {
    return this.#ended.has(holder);
  }

  share(holder: HolderId, max: number): void {
    for (const socket of this.#connected.get(holder) ?? []) socket.write(`share ${max}\n`);
  }

  /** Closes every connection, and reports none of them. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const timer of this.#timers) clearTimeout(timer);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#unauthenticated.closeAll();
    for (const sockets of this.#connected.values()) for (const socket of sockets) socket.destroy();
    await closed;
  }

  #take(socket: Socket): void {
    socket.on('error', () => {});
    this.#unauthenticated.add(socket);
    const late = this.#after(PRESENCE_HELLO_MS, () => socket.destroy());
    let holder: HolderId | undefined;
    let isFarewell = false;
    let isDirect = false;
    let isEnded = false;
    onLines(socket, (line) => {
      if (holder !== undefined) {
        isFarewell ||= line === 'bye';
        isDirect ||= line === fromLine(socket.remoteAddress, socket.remotePort);
        if (isFarewell) socket.end();
        return;
      }
      holder = this.#connectedCount < PRESENCE_CONNECTIONS_MAX ? this.#nameIn(line) : undefined;
      if (holder === undefined) {
        socket.destroy();
        return;
      }
      this.#forget(late);
      this.#unauthenticated.delete(socket);
      this.#arrived(holder, socket);
    });
    socket.once('end', () => {
      isEnded = isDirect && !isFarewell;
    });
    socket.once('close', () => {
      this.#forget(late);
      this.#unauthenticated.delete(socket);
      if (holder !== undefined) this.#left(holder, socket, isFarewell, isEnded);
    });
  }

  #nameIn(line: string): HolderId | undefined {
    const [word, token = '', name = '', ...rest] = line.split(' ');
    if (word !== 'hello' || !isSame(token, this.token) || name === '' || rest.length > 0) return undefined;
    try {
      return decodeURIComponent(name) as HolderId;
    } catch {
      return undefined;
    }
  }

  #arrived(holder: HolderId, socket: Socket): void {
    const sockets = this.#connected.get(holder) ?? new Set();
    this.#connected.set(holder, sockets.add(socket));
    this.#connectedCount++;
    this.#closed.delete(holder);
    this.#ended.delete(holder);
    socket.write('ok\n');
  }

  #hasEnded(holder: HolderId): void {
    this.#ended.add(holder);
    if (this.#ended.size <= PRESENCE_ENDED_MAX) return;
    const [oldest] = this.#ended;
    this.#ended.delete(oldest!);
  }

  #left(holder: HolderId, socket: Socket, isFarewell: boolean, isEnded: boolean): void {
    const sockets = this.#connected.get(holder);
    if (sockets?.delete(socket)) this.#connectedCount--;
    if (sockets === undefined || sockets.size > 0) return;
    this.#connected.delete(holder);
    if (isFarewell || this.#isClosing) return;
    if (isEnded) this.#hasEnded(holder);
    const closed = { atMs: performance.now(), isGone: false };
    this.#closed.set(holder, closed);
    this.#after(PRESENCE_GRACE_MS, () => {
      if (this.#closed.get(holder) !== closed) return;
      closed.isGone = true;
      this.#options.onGone(holder);
    });
    this.#after(PRESENCE_GONE_KEPT_MS, () => {
      if (this.#closed.get(holder) === closed) this.#closed.delete(holder);
    });
  }

  #after(ms: number, work: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms).unref();
    this.#timers.add(timer);
    return timer;
  }

  #forget(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.#timers.delete(timer);
  }
}

/** A client's own end of its connection, or what the server sees of it. They are the same unless something in between speaks for the client. */
export const fromLine = (address: string | undefined, port: number | undefined): string =>
  `from ${address?.replace(/^::ffff:/, '')} ${port}`;

/** Both as the bytes that lines are read from, since an unauthenticated client may send any. */
function isSame(given: string, token: string): boolean {
  const [left, right] = [Buffer.from(given, 'latin1'), Buffer.from(token, 'latin1')];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Reads lines of at most `PRESENCE_LINE_MAX_BYTES`, and closes the connection at a longer one. */
export function onLines(socket: Socket, take: (line: string) => void): void {
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf('\n'); end >= 0 && end <= PRESENCE_LINE_MAX_BYTES; end = text.indexOf('\n')) {
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      take(line);
    }
    if (text.length > PRESENCE_LINE_MAX_BYTES) socket.destroy();
  });
}
