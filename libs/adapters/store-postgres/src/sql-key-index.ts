/** Owns the KeyIndex on any client of a Postgres-like database. Its tables are the store's; the caller has ensured them. */

import type { AppliedBatch, KeyBatch, KeyFilter, KeyIndex, KeyOffsets, StoredKey } from '@tidemark/ports';
import { faultOf } from './faults.ts';
import { KEYS_PAGE_ROWS } from './limits.ts';
import * as keys from './sql/data-keys.ts';
import { BEGIN, COMMIT, type Rows, type SqlClient, type Statement, textAt } from './sql-client.ts';

/** Ends the transaction without an error from the database. */
class MovedElsewhere extends Error {}

export class SqlKeyIndex implements KeyIndex {
  readonly #client: SqlClient;
  readonly #address: string;

  constructor(client: SqlClient, address: string) {
    this.#client = client;
    this.#address = address;
  }

  async applied(): Promise<KeyOffsets> {
    return new Map((await this.#read(keys.readKeyOffsets)).map(keys.keyOffsetOf));
  }

  async apply({ puts, destroyed, from, next }: KeyBatch): Promise<AppliedBatch> {
    try {
      return await this.#guarded(() =>
        this.#client.session(async (runner) => {
          const [, elsewhere = []] = await runner.run([BEGIN, keys.moveKeyOffsets(from, next)]);
          if (elsewhere.length > 0) throw new MovedElsewhere();
          const [, stored = []] = await runner.run([keys.destroyKeys(destroyed), keys.putKeys(puts), COMMIT]);
          const known = new Set(stored.map((row) => textAt(row, 0)));
          return { isApplied: true as const, refused: puts.flatMap(({ id }) => (known.has(id) ? [] : [id])) };
        }),
      );
    } catch (error) {
      if (error instanceof MovedElsewhere) return { isApplied: false };
      throw error;
    }
  }

  async get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredKey | null>> {
    return new Map((await this.#read(keys.findKeys(ids))).map(keys.foundOf));
  }

  async *list(filter: KeyFilter): AsyncIterable<StoredKey> {
    for (let after = ''; ; ) {
      const page = (await this.#read(keys.listKeys(filter, after, KEYS_PAGE_ROWS))).map(keys.keyOf);
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < KEYS_PAGE_ROWS) return;
      after = last.id;
    }
  }

  async #read(statement: Statement): Promise<Rows> {
    const [rows = []] = await this.#guarded(() => this.#client.run([statement]));
    return rows;
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof MovedElsewhere ? error : faultOf(error, this.#address);
    }
  }
}
