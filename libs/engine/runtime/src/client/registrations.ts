/**
 * Owns the definitions that workers register: a record of the system's own for each name and version, kept in the log like paused queues, so
 * that a process without the code knows what may be started and sent. It does not know what a record says of its definition.
 */

import { canonicalJson } from '@tidemark/codec';
import { type Json, LimitError, SYSTEM_TENANT } from '@tidemark/core';
import { DEFINITIONS_SUBJECT, ownContent, type Ports, rowsRebuilding } from '../kernel/index.ts';
import type { ClientMemory } from './client-memory.ts';

/** Registered versions of all definitions together, and bytes of what is said of one. */
const REGISTERED_MAX_COUNT = 1_000;
const REGISTRATION_MAX_BYTES = 64 * 1_024;
/** Newest versions of one definition that stay registered when another is. */
const VERSIONS_KEPT_COUNT = 5;

export interface Registration {
  readonly name: string;
  readonly version: number;
  /** What it says of itself. */
  readonly card: Json;
}

export class Registrations {
  readonly #ports: Pick<Ports, 'store'>;
  readonly #memory: Pick<ClientMemory, 'keepOwn'>;

  constructor(ports: Pick<Ports, 'store'>, memory: Pick<ClientMemory, 'keepOwn'>) {
    this.#ports = ports;
    this.#memory = memory;
  }

  /**
   * Writes what differs from what is registered; the newest word on a version counts. Resolves once rows show it. Throws `LimitError`
   * (`definition-too-large`, once the others are written; `definitions-too-many`), `UnavailableError`.
   */
  async register(registrations: readonly Registration[]): Promise<void> {
    const known = await this.#rows();
    let tooLarge: LimitError | undefined;
    const written = registrations.flatMap(({ name, version, card }) => {
      const key = keyOf(name, version);
      const value = { name, version, card } as unknown as Json;
      const text = canonicalJson(value);
      const before = known.get(key);
      if (Buffer.byteLength(text) > REGISTRATION_MAX_BYTES) {
        const message = `${name} v${version}: what it says of itself takes more than ${REGISTRATION_MAX_BYTES} bytes. Make its schemas smaller.`;
        tooLarge = new LimitError('definition-too-large', message, { definition: name, limit: REGISTRATION_MAX_BYTES });
        return [];
      }
      return before !== undefined && canonicalJson(before) === text ? [] : [{ key, value }];
    });
    const keys = new Set([...known.keys(), ...written.map(({ key }) => key)]);
    const stale = staleOf(keys, registrations);
    const count = keys.size - stale.length;
    if (count > REGISTERED_MAX_COUNT) {
      const message = `${count} versions of definitions would be registered, and at most ${REGISTERED_MAX_COUNT} can be.`;
      throw new LimitError('definitions-too-many', message, { limit: REGISTERED_MAX_COUNT });
    }
    const gone = written.length === 0 ? [] : stale.map((key) => ({ key }));
    for (const record of [...written, ...gone]) {
      await this.#memory.keepOwn(SYSTEM_TENANT, DEFINITIONS_SUBJECT, ownContent('system', [record]));
    }
    if (tooLarge !== undefined) throw tooLarge;
  }

  /** In the order of names. Throws `UnavailableError`. */
  async list(): Promise<readonly Registration[]> {
    return [...(await this.#rows()).values()] as unknown as Registration[];
  }

  /** By name and version. */
  async #rows(): Promise<ReadonlyMap<string, Json>> {
    const { store } = this.#ports;
    // Rows that are being made show less than the log has.
    if (!(await store.ready())) throw rowsRebuilding();
    const rows = await store.memories({
      ...{ tenant: SYSTEM_TENANT, subject: DEFINITIONS_SUBJECT, kind: 'record' },
      limit: REGISTERED_MAX_COUNT,
    });
    return new Map(rows.map(({ key, value }) => [key, JSON.parse(value) as Json]));
  }
}

const keyOf = (name: string, version: number): string => `${name}@${version}`;

/** Keys of versions that are older than those that stay, of the definitions that are registered now. */
function staleOf(keys: ReadonlySet<string>, now: readonly Registration[]): readonly string[] {
  const own = new Set(now.map(({ name, version }) => keyOf(name, version)));
  return [...new Set(now.map(({ name }) => name))].flatMap((name) => {
    const versions = [...keys].flatMap((key) => {
      const at = key.lastIndexOf('@');
      return key.slice(0, at) === name ? [Number(key.slice(at + 1))] : [];
    });
    const old = versions.sort((a, b) => b - a).slice(VERSIONS_KEPT_COUNT);
    return old.map((version) => keyOf(name, version)).filter((key) => !own.has(key));
  });
}
