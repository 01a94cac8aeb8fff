/**
 * Owns a holder's side of presence: one connection to each advertised coordinator, kept until it breaks, and reopened at once. Must not
 * close a connection because an advert is gone: a flushed Redis would then look like a death. Must not close one without a farewell either:
 * that is how coordinators know that a process has ended (P1 of presence-server.ts).
 */

import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { HolderId } from '@tidemark/core';
import { PRESENCE_HELLO_MS, PRESENCE_KEEPALIVE_MS, RECONNECT_FIRST_MS, RECONNECT_MAX_MS } from './limits.ts';
import { fromLine, onLines, type PresenceTls } from './presence-server.ts';

/** How long a farewell waits for the other side to close, in milliseconds. */
const PRESENCE_FAREWELL_MS = 200;
/** Coordinators that a worker keeps connections to, at most. */
const PRESENCE_COORDINATORS_MAX = 16;

/** Where a coordinator accepts connections, as Redis has it. */
export interface PresenceAdvert {
  /** Names one incarnation of a coordinator. */
  readonly id: string;
  readonly host: string;
  readonly port: number;
  readonly token: string;
}

interface Link {
  advert: PresenceAdvert;
  socket: Socket | undefined;
  isConnected: boolean;
  failureCount: number;
  retry: NodeJS.Timeout | undefined;
}

/** The connection closes once the kernel has both. Nobody has heard of one that is not open yet. */
function farewell(socket: Socket): void {
  if (socket.connecting) socket.destroy();
  else socket.end('bye\n', () => socket.destroy());
}

export class PresenceClient {
  readonly #holder: HolderId;
  readonly #tls: PresenceTls | undefined;
  readonly #onShare: ((max: number) => void) | undefined;
  readonly #links = new Map<string, Link>();
  #advertised: ReadonlySet<string> = new Set();
  #isOver = false;

  constructor(holder: HolderId, tls?: PresenceTls | undefined, onShare?: (max: number) => void) {
    this.#holder = holder;
    this.#tls = tls;
    this.#onShare = onShare;
  }

  /** Ids of the coordinators with a standing connection. */
  get standing(): readonly string[] {
    return [...this.#links.values()].filter((link) => link.isConnected).map((link) => link.advert.id);
  }

  /** Connects to the coordinators that are advertised now. */
  meet(adverts: readonly PresenceAdvert[]): void {
    if (this.#isOver) return;
    this.#advertised = new Set(adverts.map((advert) => advert.id));
    for (const advert of adverts) {
      if (this.#links.has(advert.id) || this.#links.size >= PRESENCE_COORDINATORS_MAX) continue;
      const link: Link = { advert, socket: undefined, isConnected: false, failureCount: 0, retry: undefined };
      this.#links.set(advert.id, link);
      this.#connect(link);
    }
  }

  /** Sends a farewell on every connection, and waits shortly until they are closed. */
  async leave(): Promise<void> {
    const sockets = this.#end();
    const closed = sockets.map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())));
    for (const socket of sockets) socket.end('bye\n');
    const timer = setTimeout(() => sockets.map((socket) => socket.destroy()), PRESENCE_FAREWELL_MS);
    await Promise.all(closed);
    clearTimeout(timer);
  }

  /** Closes every connection without a farewell, as the end of the process does. For tests. */
  vanish(): void {
    for (const socket of this.#end()) socket.destroy();
  }

  /** Closes every connection, and waits for nothing. */
  abandon(): void {
    for (const socket of this.#end()) farewell(socket);
  }

  #end(): readonly Socket[] {
    this.#isOver = true;
    const links = [...this.#links.values()];
    for (const link of links) clearTimeout(link.retry);
    return links.flatMap(({ socket }) => (socket === undefined || socket.destroyed ? [] : [socket]));
  }

  #connect(link: Link): void {
    const { host, port, token } = link.advert;
    const { socket, ready } = this.#open(host, port);
    link.socket = socket;
    socket.on('error', () => {});
    socket.once(ready, () => {
      const from = fromLine(socket.localAddress, socket.localPort);
      socket.write(`hello ${token} ${encodeURIComponent(this.#holder)}\n${from}\n`);
    });
    const late = setTimeout(() => farewell(socket), PRESENCE_HELLO_MS);
    onLines(socket, (line) => {
      const [, max] = /^share ([1-9]\d*)$/.exec(line) ?? [];
      if (max !== undefined && link.isConnected) this.#onShare?.(Number(max));
      if (line !== 'ok') return;
      clearTimeout(late);
      link.isConnected = true;
      link.failureCount = 0;
    });
    socket.once('close', () => {
      clearTimeout(late);
      const wasConnected = link.isConnected;
      link.isConnected = false;
      this.#lost(link, wasConnected);
    });
  }

  /** Where both sides show certificates, neither sends anything before both are verified. */
  #open(host: string, port: number): { readonly socket: Socket; readonly ready: 'connect' | 'secureConnect' } {
    const tls = this.#tls;
    const to = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: PRESENCE_KEEPALIVE_MS };
    if (tls === undefined) return { socket: connect(to), ready: 'connect' };
    // Addresses of coordinators change with each of their starts: the authority vouches for them, not a name.
    return { socket: connectTls({ ...to, ...tls, checkServerIdentity: () => undefined }), ready: 'secureConnect' };
  }

  /** Reconnects at once where a connection stood: its coordinator waits for no more than its grace. */
  #lost(link: Link, wasConnected: boolean): void {
    if (this.#isOver) return;
    if (!this.#advertised.has(link.advert.id)) {
      this.#links.delete(link.advert.id);
      return;
    }
    const pauseMs = wasConnected
      ? 0
      : Math.min(RECONNECT_FIRST_MS * 2 ** Math.min(link.failureCount++, 10), RECONNECT_MAX_MS);
    link.retry = setTimeout(() => this.#connect(link), pauseMs);
  }
}
