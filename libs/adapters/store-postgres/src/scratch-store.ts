/**
 * Owns stores in memory that come and go, as tests open them. Starting Postgres takes longer than most tests, so a closed store is emptied
 * and kept for the next one that opens. No store may see what another left, or keep the process alive.
 */

import { UnavailableError } from '@tidemark/core';
import type { RowStore } from '@tidemark/ports';
import { assemblePglite } from './pglite-store.ts';
import { EMPTY_TABLES } from './sql/rebuild/empty-tables.ts';
import type { SqlClient, SqlRunner } from './sql-client.ts';
import { SqlProjectionStore } from './sql-projection-store.ts';

type Engine = ReturnType<typeof assemblePglite>;

let idle: Engine | undefined;

/** Opens an empty store. Close it; later calls then fail. */
export function openScratchStore(): RowStore {
  const engine = idle ?? assemblePglite({ memory: true });
  idle = undefined;
  engine.thread.ref();
  const client = untilClosed(engine.client);
  let gaveBack: Promise<void> | undefined;
  return new SqlProjectionStore({
    kind: 'pglite',
    client,
    address: 'memory',
    ensure: () => client.whileOpen(() => engine.store.ensure()),
    closed: () => {
      gaveBack ??= giveBack(engine);
      return gaveBack;
    },
  });
}

async function giveBack(engine: Engine): Promise<void> {
  const isEmpty =
    idle === undefined &&
    (await engine.client.script(EMPTY_TABLES).then(
      () => true,
      // It was never ensured, or its thread has ended, so the next store starts from nothing.
      () => false,
    ));
  if (!isEmpty || idle !== undefined) {
    await engine.store.close();
    return;
  }
  idle = engine;
  engine.thread.unref();
}

/** The client as one store sees it. */
function untilClosed(client: SqlClient) {
  let isClosed = false;
  const whileOpen = async <T>(work: (open: SqlClient) => Promise<T>): Promise<T> => {
    if (isClosed) throw new UnavailableError('store-closed', 'The store in memory was closed.');
    return work(client);
  };
  return {
    whileOpen,
    run: (statements: Parameters<SqlClient['run']>[0]) => whileOpen((open) => open.run(statements)),
    script: (text: string) => whileOpen((open) => open.script(text)),
    session: <T>(work: (runner: SqlRunner) => Promise<T>) => whileOpen((open) => open.session(work)),
    close: async () => {
      isClosed = true;
    },
  };
}
