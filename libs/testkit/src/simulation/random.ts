/** Owns the simulation's randomness: every draw follows from the seed alone. Must not use any other source. */

import type { Prng } from '@tidemark/ports';

/** A 32-bit digest of a text, to seed generators from names (MurmurHash3's mixing). */
export function hash32(text: string, seed = 0): number {
  let hash = (0x9e3779b9 ^ seed) >>> 0;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0xcc9e2d51);
    hash = (hash << 13) | (hash >>> 19);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Small fast counter generator (sfc32, of PractRand): 128 bits of state, seeded by a name. */
export class SeededRandom implements Prng {
  readonly #name: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(name: string) {
    this.#name = name;
    this.#a = hash32(name, 1);
    this.#b = hash32(name, 2);
    this.#c = hash32(name, 3);
    for (let round = 0; round < 12; round++) this.#next32();
  }

  #next32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  /** In [0, 1). */
  unit(): number {
    return this.#next32() / 0x1_0000_0000;
  }

  /** A whole number in [0, below). */
  int(below: number): number {
    return Math.floor(this.unit() * below);
  }

  /** A number in [from, to). */
  between(from: number, to: number): number {
    return from + this.unit() * (to - from);
  }

  /** A whole number in [from, to]. */
  count(from: number, to: number): number {
    return from + this.int(to - from + 1);
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)]!;
  }

  bytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count; at += 4) {
      const word = this.#next32();
      for (let shift = 0; shift < 4 && at + shift < count; shift++) bytes[at + shift] = word >>> (8 * shift);
    }
    return bytes;
  }

  /** An independent generator: its draws affect no other's. */
  fork(name: string): SeededRandom {
    return new SeededRandom(`${this.#name}/${name}`);
  }
}
