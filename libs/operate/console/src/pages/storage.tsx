/** Owns the size and place of history: rows, log and archive, by tenant and by workflow. */

import type { Answer as Wire } from '@tidemark/client';
import { useState } from 'react';
import { Answer, Empty } from '../parts/answers.tsx';
import { type Column, DataTable } from '../parts/table.tsx';
import { Fact, Name } from '../parts/words.tsx';
import { useAsk } from '../shell/ask.ts';
import { WorkflowLink } from '../shell/link.tsx';
import { bytes, count } from '../text/format.ts';

const SHOWN_COUNT = 100;

type By = 'tenant' | 'workflow';

type Use = Wire<'GET /v1/storage'>['storage'][number];

const columnsOf = (by: By, most: number): readonly Column<Use>[] => [
  {
    name: by === 'tenant' ? 'Tenant' : 'Workflow',
    of: ({ name }) => (by === 'tenant' ? <Name of={name} /> : <WorkflowLink of={name} />),
  },
  ...(by === 'tenant'
    ? [{ name: 'Workflows', of: ({ workflow_count: many }: Use) => count(many), isNumber: true, isMinor: true }]
    : []),
  { name: 'Rows', of: (use) => bytes(use.hot_bytes), isNumber: true },
  { name: 'Archived events', of: (use) => count(use.archived_event_count), isNumber: true, isMinor: true },
  { name: 'Bytes in the log', of: (use) => sized(use.archived_raw_bytes), isNumber: true, isMinor: true },
  { name: 'Archived', of: (use) => sized(use.archived_bytes), isNumber: true },
  { name: 'Share', of: (use) => <Share use={use} most={most} />, className: 'bar-cell', isMinor: true },
];

const sized = (size: number): string => (size === 0 ? '–' : bytes(size));

const Share = ({
  use: { hot_bytes: hot, archived_bytes: archived },
  most,
}: {
  readonly use: Use;
  readonly most: number;
}) => (
  <svg className="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect className="fill" width={(100 * hot) / most} height={6} />
    <rect className="fill-model" x={(100 * hot) / most} width={(100 * archived) / most} height={6} />
  </svg>
);

export function StoragePage() {
  const [by, setBy] = useState<By>('workflow');
  const storage = useAsk(
    ['storage', by],
    'GET /v1/storage',
    { query: { by, limit: SHOWN_COUNT } },
    // It reads all rows, so it is not polled.
    { staleTime: 60_000, refetchOnWindowFocus: false },
  );
  return (
    <div className="page">
      <header>
        <h1>Storage and tiers</h1>
        <fieldset className="states end" aria-label="By">
          {(['workflow', 'tenant'] as const).map((each) => (
            <button key={each} type="button" aria-pressed={by === each} onClick={() => setBy(each)}>
              By {each}
            </button>
          ))}
        </fieldset>
      </header>
      <Answer query={storage}>
        {({ log_bytes: log, storage: rows }) => {
          const sum = (of: (row: (typeof rows)[number]) => number): number =>
            rows.reduce((all, row) => all + of(row), 0);
          const raw = sum((row) => row.archived_raw_bytes);
          const archived = sum((row) => row.archived_bytes);
          const most = Math.max(...rows.map((row) => row.hot_bytes + row.archived_bytes), 1);
          return (
            <>
              <dl className="facts">
                {log === null ? null : <Fact name="Log (hot)">{bytes(log)}</Fact>}
                <Fact name="Payloads in rows">{bytes(sum((row) => row.hot_bytes))}</Fact>
                <Fact name="Archive (warm and cold)">{bytes(archived)}</Fact>
                <Fact name="Archived events">{count(sum((row) => row.archived_event_count))}</Fact>
                <Fact name="Compaction">
                  {raw === 0 ? '–' : `${(raw / Math.max(archived, 1)).toFixed(1)} times smaller`}
                </Fact>
              </dl>
              {rows.length === 0 ? (
                <Empty title="Nothing is stored yet." />
              ) : (
                <DataTable label="Storage" columns={columnsOf(by, most)} rows={rows} keyOf={({ name }) => name} />
              )}
            </>
          );
        }}
      </Answer>
    </div>
  );
}
