/**
 * Owns the connections that haven't named their holder yet. Their number is bounded, in all and for each remote address, and a new one
 * replaces the oldest: a worker sends its name within a round trip, so silent clients go first and can't keep workers out. Must not know
 * what is sent on a connection.
 */

import type { Socket } from 'node:net';

/**
 * Most connections without a name, in all and from one remote address; beyond it the oldest is closed. A thousand workers behind one
 * address may come back at once.
 */
const PRESENCE_UNAUTHENTICATED_MAX = 4_096;
const PRESENCE_UNAUTHENTICATED_PER_ADDRESS_MAX = 2_048;

export const UNAUTHENTICATED_LIMITS = {
  inAllMax: PRESENCE_UNAUTHENTICATED_MAX,
  perAddressMax: PRESENCE_UNAUTHENTICATED_PER_ADDRESS_MAX,
};

export type UnauthenticatedLimits = Readonly<Record<keyof typeof UNAUTHENTICATED_LIMITS, number>>;

export class Unauthenticated {
  readonly #limits: UnauthenticatedLimits;
  /** By remote address; both in order of arrival. */
  readonly #sockets = new Map<string, Set<Socket>>();
  readonly #addresses = new Map<Socket, string>();

  constructor(limits: UnauthenticatedLimits) {
    this.#limits = limits;
  }

  /** Adds the connection, and closes an older one where there are too many. */
  add(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const ofAddress = this.#sockets.get(address) ?? new Set();
    if (ofAddress.size >= this.#limits.perAddressMax) this.#closeOldest(ofAddress);
    else if (this.#addresses.size >= this.#limits.inAllMax) this.#closeOldest(this.#fullest());
    this.#sockets.set(address, ofAddress.add(socket));
    this.#addresses.set(socket, address);
  }

  /** Removes a connection that named its holder, or closed. */
  delete(socket: Socket): void {
    const address = this.#addresses.get(socket);
    if (address === undefined) return;
    this.#addresses.delete(socket);
    const ofAddress = this.#sockets.get(address);
    ofAddress?.delete(socket);
    if (ofAddress?.size === 0) this.#sockets.delete(address);
  }

  closeAll(): void {
    for (const socket of this.#addresses.keys()) socket.destroy();
  }

  /** The oldest of the address with the most: a client with many addresses gains nothing on those with few. */
  #fullest(): ReadonlySet<Socket> {
    let fullest: ReadonlySet<Socket> = new Set();
    for (const sockets of this.#sockets.values()) if (sockets.size > fullest.size) fullest = sockets;
    return fullest;
  }

  #closeOldest(sockets: ReadonlySet<Socket>): void {
    for (const oldest of sockets) {
      this.delete(oldest);
      oldest.destroy();
      return;
    }
  }
}
