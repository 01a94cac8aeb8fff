/** Owns the workflows that a workflow's tasks have started: each with its state, page by page, and its own children below it. */

import { useState } from 'react';
import { Empty, Failure, Loading } from '../parts/answers.tsx';
import { More } from '../parts/table.tsx';
import { Ago, State } from '../parts/words.tsx';
import { api, LIST_PERIOD_MS } from '../shell/client.ts';
import { WorkflowLink } from '../shell/link.tsx';
import { type PageAt, usePages } from '../shell/pages.ts';
import { isFree, moneyOf, plain, short } from '../text/format.ts';
import type { WorkflowView } from './workflow-view.ts';

const PAGE_COUNT = 100;
/** Generations that are opened in one table; deeper ones on their own pages. */
const DEPTH_MAX = 6;

const askChildren = (workflow: string, signal: AbortSignal, cursor: PageAt) =>
  api.ask(
    'GET /v1/workflows/{workflow}/children',
    { params: { workflow }, query: { limit: PAGE_COUNT, cursor } },
    { signal },
  );
type Child = Awaited<ReturnType<typeof askChildren>>['children'][number];

const useChildren = (workflow: string) =>
  usePages(
    ['workflow', workflow, 'children'],
    (signal, at) => askChildren(workflow, signal, at),
    () => LIST_PERIOD_MS,
  );

export function ChildrenTab({ view }: { readonly view: WorkflowView }) {
  const { found, pages } = useChildren(view.workflow);
  const rows = pages.flatMap(({ children }) => children);
  if (found.error !== null && rows.length === 0)
    return <Failure error={found.error} again={() => void found.refetch()} />;
  if (found.isPending) return <Loading />;
  if (rows.length === 0)
    return <Empty title="It has no children.">Workflows that its tasks wait for would be listed here.</Empty>;
  const states = [...Map.groupBy(rows, ({ activity }) => activity)];
  return (
    <section className="card">
      <header>
        <h2>Children</h2>
        <span className="child-states">
          {states.map(([state, of]) => (
            <State key={state} of={state} reason={short(of.length)} />
          ))}
          {found.hasNextPage ? <span className="dim">of those read so far</span> : null}
        </span>
      </header>
      <div className="table-box">
        <table aria-label="Children">
          <thead>
            <tr>
              <th scope="col">Workflow</th>
              <th scope="col">State</th>
              <th scope="col" className="minor">
                Definition
              </th>
              <th scope="col" className="minor">
                Last action
              </th>
              <th scope="col" className="num minor">
                Steps
              </th>
              <th scope="col" className="num">
                Cost
              </th>
              <th scope="col" className="num minor">
                Changed
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <ChildRow key={row.workflow} row={row} depth={0} />
            ))}
          </tbody>
        </table>
      </div>
      <More of={found} what="children" />
    </section>
  );
}

function ChildRow({ row, depth }: { readonly row: Child; readonly depth: number }) {
  const { workflow, activity, reason, definition, definition_version: version } = row;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <tr>
        <td>
          <span className="child" style={{ paddingLeft: depth * 18 }}>
            <button
              type="button"
              className="twig"
              disabled={depth >= DEPTH_MAX}
              aria-expanded={isOpen}
              aria-label={`Children of ${plain(workflow)}`}
              onClick={() => setOpen(!isOpen)}
            >
              <span className="caret" aria-hidden="true" />
            </button>
            <WorkflowLink of={workflow} />
          </span>
        </td>
        <td>
          <State of={activity} reason={reason} />
        </td>
        <td className="minor">
          {plain(definition)} <span className="dim">v{version}</span>
        </td>
        <td className="dim minor cut">
          <bdi>{plain(row.last_action)}</bdi>
        </td>
        <td className="num minor">{short(row.sequence_number)}</td>
        <td className="num">{isFree(row) ? <span className="dim">–</span> : moneyOf(row)}</td>
        <td className="num dim minor">
          <Ago at={row.updated_at} />
        </td>
      </tr>
      {isOpen ? <Inner workflow={workflow} depth={depth + 1} /> : null}
    </>
  );
}

function Inner({ workflow, depth }: { readonly workflow: string; readonly depth: number }) {
  const { found, pages } = useChildren(workflow);
  const rows = pages.flatMap(({ children }) => children);
  if (rows.length > 0) {
    return (
      <>
        {rows.map((row) => (
          <ChildRow key={row.workflow} row={row} depth={depth} />
        ))}
        {found.hasNextPage ? (
          <tr>
            <td colSpan={7}>
              <More of={found} what={`of ${plain(workflow)}`} />
            </td>
          </tr>
        ) : null}
      </>
    );
  }
  return (
    <tr>
      <td colSpan={7}>
        <span className="child dim" style={{ paddingLeft: depth * 18 + 22 }}>
          {found.error !== null ? plain(String(found.error)) : found.isPending ? 'Loading…' : 'It has none.'}
        </span>
      </td>
    </tr>
  );
}
