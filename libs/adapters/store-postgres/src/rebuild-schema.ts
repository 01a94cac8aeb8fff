/**
 * Owns the schema in which rows are rebuilt: its ownership, its creation and removal, and the check that tables in use may be replaced.
 * Must not touch a schema that no rebuild created (R4 in schema-rebuild.ts).
 */

import { ConfigError } from '@tidemark/core';
import type { UnfinishedRebuild } from '@tidemark/ports';
import { migrate } from './migrate.ts';
import { MIGRATIONS, type Migration } from './migrations.ts';
import { isRebuilding } from './rebuild-lock.ts';
import { planOf, readSchema } from './schema-state.ts';
import {
  DROP_SCHEMA,
  FIND_DEPENDENTS,
  MAKE_SCHEMA,
  MARK_SCHEMA,
  READ_MAKER,
  READ_SCHEMA,
  SEED_PLACEMENTS,
} from './sql/rebuild/rebuild-schema.ts';
import { inSchemas, type Schemas } from './sql/rebuild/switch-tables.ts';
import { booleanAt, numberAt, once, type Row, type SqlClient, type SqlRunner, textAt } from './sql-client.ts';

/** Bytes of the longest name that Postgres doesn't cut. */
const NAME_MAX_BYTES = 63;

/** The purpose of the new rows: to replace those in use, or to be compared with them. */
export type RebuildPurpose = 'switch' | 'compare';

/** Throws `ConfigError` (`schema-name-long`, `schema-name-odd`) where no name for the new schema follows from that of the one in use. */
export function schemasOf(live: string, purpose: RebuildPurpose): Schemas {
  const fresh = `${live}_${purpose === 'switch' ? 'rebuild' : 'compare'}`;
  if (Buffer.byteLength(fresh) > NAME_MAX_BYTES) {
    throw new ConfigError(
      'schema-name-long',
      `New rows would be made in the schema ${fresh}, whose name Postgres cuts to ${NAME_MAX_BYTES} bytes. Rename the schema ${live} (alter schema … rename to …). Nothing was changed.`,
      { schema: live },
    );
  }
  if (/[%'$\\]/.test(live)) {
    throw new ConfigError(
      'schema-name-odd',
      `The schema ${live} has one of the characters % ' $ \\ in its name: rename it (alter schema … rename to …). Nothing was changed.`,
      { schema: live },
    );
  }
  return { live, fresh };
}

export interface RebuildSchemaOptions {
  /** Client of the rows in use. */
  readonly live: SqlClient;
  /** Client of the new rows: it resolves names in their schema alone, so that it can't reach the rows in use. */
  readonly fresh: SqlClient;
  readonly schemas: Schemas;
  readonly address: string;
}

export class RebuildSchema {
  readonly #options: RebuildSchemaOptions;

  constructor(options: RebuildSchemaOptions) {
    this.#options = options;
  }

  /** Creates the schema, or keeps what the same version has folded into it. */
  async begin(madeBy: string, isFromNothing: boolean): Promise<void> {
    const { live, schemas } = this.#options;
    if (isFromNothing || (await this.#maker())?.madeBy !== madeBy) await this.drop();
    if ((await this.#maker()) !== undefined) return;
    await live.script(inSchemas(MAKE_SCHEMA, schemas));
    await live.run([once(inSchemas(MARK_SCHEMA, schemas), [madeBy])]);
  }

  /** Creates the tables, and copies the placements known by then, so that workflows folded later find them. */
  async ensure(): Promise<void> {
    const { live, fresh, schemas, address } = this.#options;
    await migrate(fresh, address, { migrations: await this.#migrationsInUse(), mayContract: true });
    await live.script(inSchemas(SEED_PLACEMENTS, schemas));
  }

  /** Migrations of the tables in use. Processes would not know the tables of any others, or would miss what those lack. */
  async #migrationsInUse(): Promise<readonly Migration[]> {
    const { live, address } = this.#options;
    const { due, deferred, unknown } = planOf(await readSchema(live), address, MIGRATIONS, false);
    if (due.length === 0 && unknown.length === 0)
      return MIGRATIONS.filter((migration) => !deferred.includes(migration));
    const what =
      unknown.length > 0
        ? `has what only a newer version of Tidemark makes (${unknown.join(', ')}): run this with that version`
        : `lacks what this version of Tidemark makes (${due.map(({ name }) => name).join(', ')}): run tidemark admin migrate first`;
    throw new ConfigError(
      unknown.length > 0 ? 'store-newer' : 'store-older',
      `The store at ${address} ${what}. Nothing was changed.`,
      { address, unknown, lacking: due.map(({ name }) => name) },
    );
  }

  /** What others have put on the tables in use would go with them. */
  async refuseDependents(runner: SqlRunner = this.#options.live): Promise<void> {
    const [rows = []] = await runner.run([once(inSchemas(FIND_DEPENDENTS, this.#options.schemas))]);
    if (rows.length > 0) throw dependedOn(rows.map((row) => textAt(row, 0)));
  }

  async drop(): Promise<void> {
    if ((await this.#maker()) !== undefined) {
      await this.#options.live.script(inSchemas(DROP_SCHEMA, this.#options.schemas));
    }
  }

  /** Undefined: the schema is missing or empty. Throws `ConfigError` (`schema-foreign`). */
  async #maker(): Promise<{ readonly madeBy: string; readonly begunAtMs: number } | undefined> {
    const { live, schemas } = this.#options;
    const [isThere, isEmpty, isOurs] = flagsOf(await only(live, inSchemas(READ_SCHEMA, schemas)));
    if (!isThere || isEmpty) return undefined;
    if (!isOurs) throw foreign(schemas.fresh);
    // The mark is empty: its process ended before it wrote one.
    const row = await only(live, inSchemas(READ_MAKER, schemas));
    return row.length === 0 ? { madeBy: '', begunAtMs: 0 } : { madeBy: textAt(row, 0), begunAtMs: numberAt(row, 1) };
  }
}

/** Reads what a process left in the schema for new rows; that process may still be at work. */
export async function unfinishedIn(client: SqlClient, liveSchema: string): Promise<UnfinishedRebuild | undefined> {
  const schemas = schemasOf(liveSchema, 'switch');
  const [, , isOurs] = flagsOf(await only(client, inSchemas(READ_SCHEMA, schemas)));
  if (!isOurs) return undefined;
  const row = await only(client, inSchemas(READ_MAKER, schemas));
  const isUnderWay = await isRebuilding(client, schemas.fresh);
  return { begunAtMs: row.length === 0 ? 0 : numberAt(row, 1), isUnderWay };
}

const flagsOf = (row: Row): readonly boolean[] => row.map((_, at) => booleanAt(row, at));

async function only(runner: SqlRunner, text: string): Promise<Row> {
  const [[row = []] = []] = await runner.run([once(text)]);
  return row;
}

const foreign = (schema: string): ConfigError =>
  new ConfigError(
    'schema-foreign',
    `The schema ${schema} is where new rows would be made, and it holds tables that no rebuild made. Nothing was changed; rename it, or drop it if nobody needs it.`,
    { schema },
  );

export const dependedOn = (names: readonly string[]): ConfigError =>
  new ConfigError(
    'rows-depended-on',
    `Others' things are on the tables of rows, and would be lost with them: ${names.join('; ')}. Nothing was changed; drop them, rebuild, and make them again.`,
    { names },
  );
