/** Owns what history takes and where it lies: rows, log and archive, by tenant and by workflow. */

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import '../styles/list.css';
import { Answer, Empty } from '../parts/answers.tsx';
import { Fact, Name } from '../parts/words.tsx';
import { api } from '../shell/client.ts';
import { Link } from '../shell/link.tsx';
import { workflowAddress } from '../shell/router.ts';
import { bytes, count } from '../text/format.ts';

const SHOWN_COUNT = 100;

export function StoragePage() {
  const [by, setBy] = useState<'tenant' | 'workflow'>('workflow');
  const storage = useQuery({
    queryKey: ['storage', by],
    queryFn: ({ signal }) => api.ask('GET /v1/storage', { query: { by, limit: SHOWN_COUNT } }, { signal }),
    // It reads all rows: not in a loop.
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });
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
                <Fact name="Log (hot)">{bytes(log)}</Fact>
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
                <table>
                  <thead>
                    <tr>
                      <th>{by === 'tenant' ? 'Tenant' : 'Workflow'}</th>
                      <th className="num">Rows</th>
                      <th className="num">Archived events</th>
                      <th className="num">In the log, they took</th>
                      <th className="num">Archived</th>
                      <th />
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map((row) => (
                      <tr key={row.name}>
                        <td>
                          {by === 'tenant' ? (
                            <Name of={row.name} />
                          ) : (
                            <Link to={workflowAddress(row.name)}>
                              <Name of={row.name} />
                            </Link>
                          )}
                        </td>
                        <td className="num">{bytes(row.hot_bytes)}</td>
                        <td className="num">{count(row.archived_event_count)}</td>
                        <td className="num">{row.archived_raw_bytes === 0 ? '–' : bytes(row.archived_raw_bytes)}</td>
                        <td className="num">{row.archived_bytes === 0 ? '–' : bytes(row.archived_bytes)}</td>
                        <td className="bar-cell">
                          <svg className="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
                            <rect className="fill" width={(100 * row.hot_bytes) / most} height={6} />
                            <rect
                              className="fill-model"
                              x={(100 * row.hot_bytes) / most}
                              width={(100 * row.archived_bytes) / most}
                              height={6}
                            />
                          </svg>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              )}
            </>
          );
        }}
      </Answer>
    </div>
  );
}
