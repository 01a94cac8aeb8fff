/** Owns the KeyIndex on any client of a Postgres-like database. Its tables are the store's; the caller has ensured them. */

import type { AppliedBatch, KeyBatch, KeyFilter, KeyIndex, KeyOffsets, StoredKey } from '@tidemark/ports';
import { withFaults } from './faults.ts';
import * as keys from './sql/data-keys.ts';
import { BEGIN, COMMIT, ROLLBACK, type SqlClient, textAt } from './sql-client.ts';
import { SqlReads } from './sql-reads.ts';

/** Data keys that one page of a listing reads. */
const KEYS_PAGE_ROWS = 1_000;

export class SqlKeyIndex extends SqlReads implements KeyIndex {
  constructor(client: SqlClient, address: string) {
    super(withFaults(client, address));
  }

  async applied(): Promise<KeyOffsets> {
    return new Map((await this.read(keys.readKeyOffsets)).map(keys.keyOffsetOf));
  }

  apply({ puts, destroyed, from, next }: KeyBatch): Promise<AppliedBatch> {
    return this.client.session(async (runner) => {
      const [, elsewhere = []] = await runner.run([BEGIN, keys.moveKeyOffsets(from, next)]);
      if (elsewhere.length > 0) {
        await runner.run([ROLLBACK]);
        return { isApplied: false };
      }
      const [, stored = []] = await runner.run([keys.destroyKeys(destroyed), keys.putKeys(puts), COMMIT]);
      const known = new Set(stored.map((row) => textAt(row, 0)));
      return { isApplied: true, refused: puts.flatMap(({ id }) => (known.has(id) ? [] : [id])) };
    });
  }

  async get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredKey | null>> {
    return new Map((await this.read(keys.findKeys(ids))).map(keys.foundOf));
  }

  async *list(filter: KeyFilter): AsyncIterable<StoredKey> {
    for (let after = ''; ; ) {
      const page = await this.readAll(keys.listKeys(filter, after, KEYS_PAGE_ROWS), keys.keyOf);
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < KEYS_PAGE_ROWS) return;
      after = last.id;
    }
  }
}
