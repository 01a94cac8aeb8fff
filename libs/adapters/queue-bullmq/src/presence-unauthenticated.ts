/**
 * Owns the connections that haven't said yet whose they are. Their number is bounded, in all and for each remote address, and
 * what makes room is the oldest: a worker says its name within a round trip, so whoever is silent goes first and can't keep
 * workers out. Must not know what is said on a connection.
 */

import type { Socket } from 'node:net';
import { PRESENCE_STRANGERS_MAX, PRESENCE_STRANGERS_PER_ADDRESS_MAX } from './limits.ts';

export interface UnauthenticatedLimits {
  readonly inAllMax: number;
  readonly perAddressMax: number;
}

export const UNAUTHENTICATED_LIMITS: UnauthenticatedLimits = {
  inAllMax: PRESENCE_STRANGERS_MAX,
  perAddressMax: PRESENCE_STRANGERS_PER_ADDRESS_MAX,
};

export class Unauthenticated {
  readonly #limits: UnauthenticatedLimits;
  /** By remote address; both in order of arrival. */
  readonly #sockets = new Map<string, Set<Socket>>();
  readonly #addresses = new Map<Socket, string>();

  constructor(limits: UnauthenticatedLimits) {
    this.#limits = limits;
  }

  /** Takes it, and closes an older one where there are too many. */
  add(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const ofAddress = this.#sockets.get(address) ?? new Set();
    if (ofAddress.size >= this.#limits.perAddressMax) this.#closeOldest(ofAddress);
    else if (this.#addresses.size >= this.#limits.inAllMax) this.#closeOldest(this.#fullest());
    this.#sockets.set(address, ofAddress.add(socket));
    this.#addresses.set(socket, address);
  }

  /** It isn't one any more: it said its name, or closed. */
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

  /** Of the address that has most: who comes from many addresses gains nothing on those that have few. */
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
