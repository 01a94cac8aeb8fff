/** Owns a checkpoint for readers: what its step changed in belief and frontier, compared with any other checkpoint, and what it left behind. */

import { shownBelief } from '@tidemark/core';
import type { CheckpointEntry } from '@tidemark/core/timeline';
import { useState } from 'react';
import type { Json } from '../belief/changes.ts';
import { Answer } from '../parts/answers.tsx';
import { ChangesTree, JsonTree } from '../parts/json-tree.tsx';
import { useAsk } from '../shell/ask.ts';
import { Link } from '../shell/link.tsx';
import { useMay } from '../shell/rights.ts';
import { workflowAddress } from '../shell/router.ts';
import { plain } from '../text/format.ts';
import { Frontier } from './frontier.tsx';
import { hasPhases, Memory } from './memory.tsx';
import { Part } from './part.tsx';
import type { WorkflowView } from './workflow-view.ts';

export function CheckpointPanel({ view, row }: { readonly view: WorkflowView; readonly row: CheckpointEntry }) {
  const { workflow } = view;
  const may = useMay();
  const [other, setOther] = useState(row.sequence - 1);
  const [onlyChanges, setOnlyChanges] = useState(true);
  const here = usePast(workflow, row.sequence);
  const there = usePast(workflow, other);
  return (
    <>
      {row.lastAction === '' ? null : <p className="said">{plain(row.lastAction)}</p>}
      <section>
        <header className="bar">
          <h3>Belief</h3>
          <label>
            against{' '}
            <input
              type="number"
              aria-label="Compare with checkpoint"
              min={0}
              max={view.sequence_number}
              value={other}
              onChange={(event) => setOther(clamp(event.target.valueAsNumber, view.sequence_number))}
            />
          </label>
          <label>
            <input type="checkbox" checked={onlyChanges} onChange={(event) => setOnlyChanges(event.target.checked)} />{' '}
            only what differs
          </label>
        </header>
        <Answer query={here}>
          {(after) => (
            <Answer query={there}>
              {(before) =>
                after.belief === undefined ? (
                  <p className="dim">You may not see its content.</p>
                ) : (
                  <ChangesTree
                    before={shownBelief(before.belief as Json)}
                    after={shownBelief(after.belief as Json)}
                    onlyChanges={onlyChanges}
                    label="Belief"
                  />
                )
              }
            </Answer>
          )}
        </Answer>
      </section>
      <section>
        <h3>Frontier after it</h3>
        <Answer query={here}>
          {(after) => (
            <Frontier
              workflow={workflow}
              tasks={after.frontier}
              before={there.data?.frontier.map(({ task }) => task)}
            />
          )}
        </Answer>
      </section>
      {here.data !== undefined && hasPhases(here.data) ? (
        <section>
          <h3>Working memory after it</h3>
          <Memory of={here.data} />
        </section>
      ) : null}
      <Left view={view} sequence={row.sequence} />
      {may('operate') ? (
        <p>
          <Link className="body-link" to={workflowAddress(workflow, { tab: 'forks', at: row.sequence })}>
            Fork from here
          </Link>
        </p>
      ) : null}
    </>
  );
}

const clamp = (value: number, max: number): number => (Number.isNaN(value) ? 0 : Math.max(0, Math.min(max, value)));

/** What its step left for later ones, its log, and its standing, which a later checkpoint or an undo may change. */
function Left({ view, sequence }: { readonly view: WorkflowView; readonly sequence: number }) {
  const { workflow, status, sequence_number: newest } = view;
  const checkpoint = useAsk(
    ['workflow', workflow, 'checkpoint', sequence, status, newest],
    'GET /v1/workflows/{workflow}/checkpoints',
    { params: { workflow }, query: { from: sequence, limit: 1 } },
    // An undo progresses without any change of the workflow that it compensates.
    { staleTime: status === 'compensating' ? 0 : Number.POSITIVE_INFINITY },
  );
  return (
    <Answer query={checkpoint}>
      {({ checkpoints: [found] }) =>
        found === undefined ? null : (
          <>
            {found.output_state == null ? null : <Part name="Output of the step" value={found.output_state} />}
            {found.log === undefined || found.log.length === 0 ? null : (
              <section>
                <h3>Log</h3>
                <ul className="log">
                  {found.log.map(({ at, action, detail }, index) => (
                    <li key={index}>
                      <time dateTime={at}>{at.slice(11, 19)}</time> <bdi>{plain(action)}</bdi>
                      {detail === undefined ? null : <JsonTree value={detail} label="Detail" />}
                    </li>
                  ))}
                </ul>
              </section>
            )}
            <section>
              <h3>Identity</h3>
              <dl className="identity">
                <dt>checkpoint</dt>
                <dd>{found.checkpoint_id ?? '–'}</dd>
                <dt>status</dt>
                <dd>
                  {found.status ?? 'not known'}
                  {found.superseded_by === null ? '' : ` (corrected by ${found.superseded_by})`}
                </dd>
                {found.supersedes === null ? null : (
                  <>
                    <dt>corrects</dt>
                    <dd>{found.supersedes}</dd>
                  </>
                )}
                <dt>parent</dt>
                <dd>{found.parent_checkpoint_id ?? 'the opening'}</dd>
                <dt>step</dt>
                <dd>
                  {plain(found.step_definition_ref ?? '–')} v{found.step_version}
                </dd>
                <dt>input</dt>
                <dd title={found.input_state_hash}>sha256 {found.input_state_hash.slice(0, 16)}…</dd>
              </dl>
            </section>
          </>
        )
      }
    </Answer>
  );
}

/** The state after a checkpoint never changes, so it is read once. */
const usePast = (workflow: string, sequence: number) =>
  useAsk(
    ['past', workflow, sequence],
    'GET /v1/workflows/{workflow}/at/{sequence}',
    { params: { workflow, sequence } },
    { staleTime: Number.POSITIVE_INFINITY },
  );
