/** The contract of EventLog on SQLite, in both settings of `synchronous`. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventLogContract } from '@tidemark/testkit/contracts/event-log';
import { openSqliteLog } from './index.ts';

for (const synchronous of ['full', 'normal'] as const) {
  eventLogContract(`sqlite, synchronous ${synchronous}`, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-log-'));
    const open = () => openSqliteLog({ folder, partitions: 48, synchronous });
    let log = await open();
    return {
      log,
      async reopen() {
        await log.close();
        log = await open();
        return log;
      },
      async cleanup() {
        await log.close();
        await rm(folder, { recursive: true });
      },
    };
  });
}
