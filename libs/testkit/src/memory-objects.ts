/**
 * Owns an ObjectStore in memory with faults that the test chooses: refusals, lost answers, changed and cut bytes, stale listings, archived
 * objects. For unit tests and simulation; it survives nothing. Several processes of a simulation share one instance. Without a fault it
 * keeps the contract; it is as strict as the strictest store (no object where a folder of others would be).
 */

import { UnavailableError } from '@tidemark/core';
import { checkObjectName, checkObjectSize, type ObjectStore, type Recall } from '@tidemark/ports';

export type ObjectOperation = 'create' | 'put' | 'read' | 'list' | 'remove' | 'recall';

export class MemoryObjects implements ObjectStore {
  readonly place: string;
  /** True: writes are refused, as by a full disk. */
  full = false;
  /** Calls of each operation, refused ones included. */
  readonly calls: Record<ObjectOperation, number> = { create: 0, put: 0, read: 0, list: 0, remove: 0, recall: 0 };
  readonly #objects = new Map<string, Uint8Array>();
  readonly #failing: { times: number; readonly operation: ObjectOperation | undefined }[] = [];
  #lostAnswers = 0;
  readonly #lying = new Map<string, (bytes: Uint8Array) => Uint8Array>();
  readonly #hidden = new Set<string>();
  #frozen: readonly string[] | undefined;
  /** Recalls that archived objects still need. */
  readonly #archived = new Map<string, number>();

  constructor(place = 'memory') {
    this.place = place;
  }

  /** The next calls (of the operation, or of any) throw `UnavailableError`, and do nothing. */
  fail(times: number, operation?: ObjectOperation): void {
    this.#failing.push({ times, operation });
  }

  /** The next writes do their work, then throw `UnavailableError`, as when the answer was lost. */
  loseAnswers(times: number): void {
    this.#lostAnswers += times;
  }

  /** From now on `read` returns other bytes: as many, the last one changed. An empty object becomes one byte. */
  lie(name: string): void {
    this.#lying.set(name, (bytes) => {
      const changed = bytes.length === 0 ? new Uint8Array(1) : new Uint8Array(bytes);
      changed[changed.length - 1]! ^= 1;
      return changed;
    });
  }

  /** From now on `read` returns the first half alone. */
  truncate(name: string): void {
    this.#lying.set(name, (bytes) => bytes.slice(0, bytes.length >> 1));
  }

  /** From now on `list` lacks the names. */
  hide(...names: readonly string[]): void {
    for (const name of names) this.#hidden.add(name);
  }

  /** From now on `list` answers as of this moment: it lacks what is created, and has what is removed. */
  freezeList(): void {
    this.#frozen = this.names();
  }

  /** `read` throws `object-archived` until the object was recalled so many times; the last recall finds it ready. */
  archive(name: string, recalls = 1): void {
    this.#archived.set(name, recalls);
  }

  /** Ends `lie`, `truncate`, `hide` and `archive` of the name; without one, every fault. */
  heal(name?: string): void {
    if (name === undefined) {
      this.full = false;
      this.#failing.length = 0;
      this.#lostAnswers = 0;
      this.#frozen = undefined;
    }
    for (const faults of [this.#lying, this.#hidden, this.#archived]) {
      if (name === undefined) faults.clear();
      else faults.delete(name);
    }
  }

  /** Its content, whatever the faults; in the order of `list`. */
  names(): string[] {
    return [...this.#objects.keys()].sort();
  }

  /** Its bytes as they were stored, whatever the faults. */
  poll(name: string): Uint8Array | undefined {
    const bytes = this.#objects.get(name);
    return bytes && new Uint8Array(bytes);
  }

  /** Silently loses the object: for tests of what detects that. */
  lose(name: string): void {
    this.#objects.delete(name);
  }

  async create(name: string, bytes: Uint8Array): Promise<boolean> {
    return this.#write('create', name, bytes, this.#objects.has(name));
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    this.#write('put', name, bytes, false);
  }

  /** Whether it was written: not if `keeps`. */
  #write(operation: 'create' | 'put', name: string, bytes: Uint8Array, keeps: boolean): boolean {
    checkObjectName(name);
    checkObjectSize(bytes);
    this.#enter(operation);
    if (this.full) throw this.#unavailable('it is full');
    if (this.#isInTheWay(name)) throw this.#unavailable(`a folder of ${name} is an object, or it is a folder itself`);
    // A copy: `slice` of a Buffer would be a view.
    if (!keeps) this.#objects.set(name, new Uint8Array(bytes));
    if (this.#lostAnswers > 0) {
      this.#lostAnswers--;
      throw this.#unavailable('the answer was lost');
    }
    return !keeps;
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    checkObjectName(name);
    this.#enter('read');
    const bytes = this.poll(name);
    if (bytes === undefined) return undefined;
    if (this.#archived.has(name)) {
      const message = `The objects in ${this.place}: ${name} is in an archive class: recall it first`;
      throw new UnavailableError('object-archived', message, { place: this.place, name });
    }
    return this.#lying.get(name)?.(bytes) ?? bytes;
  }

  async *list(prefix: string): AsyncIterable<string> {
    this.#enter('list');
    for (const name of this.#frozen ?? this.names()) {
      if (name.startsWith(prefix) && !this.#hidden.has(name)) yield name;
    }
  }

  async remove(name: string): Promise<void> {
    checkObjectName(name);
    this.#enter('remove');
    this.#objects.delete(name);
    this.#archived.delete(name);
  }

  async recall(name: string): Promise<Recall> {
    checkObjectName(name);
    this.#enter('recall');
    if (!this.#objects.has(name)) return { state: 'absent' };
    const left = (this.#archived.get(name) ?? 1) - 1;
    if (left > 0) {
      this.#archived.set(name, left);
      return { state: 'recalling', expectedAtMs: null };
    }
    this.#archived.delete(name);
    return { state: 'ready' };
  }

  async close(): Promise<void> {}

  #enter(operation: ObjectOperation): void {
    this.calls[operation]++;
    const failing = this.#failing.find((each) => each.times > 0 && (each.operation ?? operation) === operation);
    if (failing === undefined) return;
    failing.times--;
    throw this.#unavailable(`${operation} fails`);
  }

  /** As in a folder, where `a` and `a/b` can't both be files. */
  #isInTheWay(name: string): boolean {
    for (let at = name.lastIndexOf('/'); at > 0; at = name.lastIndexOf('/', at - 1)) {
      if (this.#objects.has(name.slice(0, at))) return true;
    }
    for (const each of this.#objects.keys()) if (each.startsWith(`${name}/`)) return true;
    return false;
  }

  #unavailable(reason: string): UnavailableError {
    return new UnavailableError('objects-unavailable', `The objects in ${this.place}: ${reason}`, {
      place: this.place,
    });
  }
}
