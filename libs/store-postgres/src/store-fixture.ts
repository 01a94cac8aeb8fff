/** Owns emptying a store's tables between tests: far cheaper than a new database for each. For tests alone. */

import type { SqlClient } from './sql-client.ts';

const EMPTY = `
truncate partitions, placements, workflows, tasks, checkpoints, effects, events, timers, rejected, owners, memories, memory_embeddings;
update ranges set owner = null;
update meta set ready = false`;

export const emptyTables = (client: SqlClient): Promise<void> => client.script(EMPTY);
