/** Owns `tidemark du`: what history takes, in rows and in the archive. */

import { Option } from '@commander-js/extra-typings';
import type { Answer } from '@tidemark/client';
import { wholeNumber } from '../arguments.ts';
import { LIST_DEFAULT_COUNT, PAGE_COUNT } from '../limits.ts';
import type { ProgramKit } from '../program/program-kit.ts';
import { places } from '../program/shared-options.ts';
import { type Columns, tableOf } from '../text/table.ts';
import { bytes, count } from '../text/units.ts';

type Use = Answer<'GET /v1/storage'>['storage'][number];

export function addDu({ command, asks }: ProgramKit): void {
  places(command('du', 'show what history takes, in rows and in the archive'))
    .addOption(new Option('--by <what>', 'add up by').choices(['tenant', 'workflow']).default('tenant'))
    .option('--limit <count>', 'at most this many', wholeNumber(1, PAGE_COUNT), LIST_DEFAULT_COUNT)
    .action(
      asks(
        'read',
        ({ by, limit }) =>
          async ({ client, report, terminal }) => {
            const answer = await client.ask('GET /v1/storage', { query: { by, limit } });
            const columns: Columns<Use> = [
              [by.toUpperCase(), ({ name }) => name, by === 'tenant' ? 12 : undefined],
              ['WORKFLOWS', (use) => count(use.workflow_count), 'right'],
              ['ROWS', (use) => bytes(use.hot_bytes), 'right'],
              ['ARCHIVED', (use) => bytes(use.archived_bytes), 'right'],
              ['LOG BYTES', (use) => bytes(use.archived_raw_bytes), 'right'],
              ['ARCHIVED EVENTS', (use) => count(use.archived_event_count), 'right'],
              ['SAVED', savedBy, 'right'],
              ...(answer.storage.some((use) => use.fork_of !== undefined) ? [FORK_OF] : []),
            ];
            const log = answer.log_bytes === null ? [] : [`Log: ${bytes(answer.log_bytes)}.`];
            report(answer, ...log, ...tableOf(columns, answer.storage, terminal.width));
          },
        'own-by',
      ),
    );
}

const FORK_OF: Columns<Use>[number] = ['FORK OF', ({ fork_of: base }) => base ?? '', 12];

const savedBy = ({ archived_raw_bytes: raw, archived_bytes: packed }: Use): string =>
  raw === 0 || packed > raw ? '' : `${(100 * (1 - packed / raw)).toFixed(1)} %`;
