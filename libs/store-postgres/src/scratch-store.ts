/**
 * Owns stores in memory that come and go, as tests open them. Starting Postgres takes longer than most tests, so one that was
 * closed is emptied and kept for whoever opens the next. Must not let one see what another left, nor keep the process alive.
 */

import { UnavailableError } from '@tidemark/core';
import { noTelemetry, type ProjectionStore } from '@tidemark/ports';
import { assemblePglite } from './pglite-store.ts';
import { EMPTY_TABLES } from './sql/empty-tables.ts';
import type { SqlClient } from './sql-client.ts';
import { SqlProjectionStore } from './sql-projection-store.ts';

type Engine = ReturnType<typeof assemblePglite>;

let idle: Engine | undefined;

/** An empty store of one's own. Close it; whoever still calls it then is refused. */
export function openScratchStore(): ProjectionStore {
  const engine = idle ?? assemblePglite({ memory: true });
  idle = undefined;
  engine.thread.ref();
  return new SqlProjectionStore({
    kind: 'pglite',
    client: untilClosed(engine.client),
    address: 'memory',
    telemetry: noTelemetry,
    ensure: () => engine.store.ensure(),
    closed: () => giveBack(engine),
  });
}

async function giveBack(engine: Engine): Promise<void> {
  const isEmpty =
    idle === undefined &&
    (await engine.client.script(EMPTY_TABLES).then(
      () => true,
      // It was never ensured, or its thread has ended: the next one begins anew.
      () => false,
    ));
  if (!isEmpty || idle !== undefined) {
    await engine.store.close();
    return;
  }
  idle = engine;
  engine.thread.unref();
}

/** The client as one store has it. */
function untilClosed(client: SqlClient): SqlClient {
  let isClosed = false;
  const given = (): SqlClient => {
    if (isClosed) throw new UnavailableError('store-closed', 'The store in memory was closed.');
    return client;
  };
  return {
    run: async (statements) => given().run(statements),
    script: async (text) => given().script(text),
    session: async (work) => given().session(work),
    close: async () => {
      isClosed = true;
    },
  };
}
