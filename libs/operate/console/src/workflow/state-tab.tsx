/** Owns the workflow's current state: its belief, what remains to be done, its input and its output. */

import { shownBelief } from '@tidemark/core';
import { Card } from '../parts/card.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { counted } from '../text/format.ts';
import { Flow } from './flow.tsx';
import { Frontier } from './frontier.tsx';
import { hasPhases, Memory, PhaseHandovers } from './memory.tsx';
import type { WorkflowView } from './workflow-view.ts';

export function StateTab({ view }: { readonly view: WorkflowView }) {
  const { belief, frontier, input, output, flow, forgotten } = view;
  if (forgotten) return <p className="dim">Its content is gone for good: its key was destroyed.</p>;
  return (
    <div className="cards">
      <Card title="Belief" note={`after checkpoint ${view.sequence_number}`}>
        {belief === undefined ? (
          <p className="dim">You may not see its content.</p>
        ) : belief === null ? (
          <p className="dim">There is none.</p>
        ) : (
          <JsonTree value={shownBelief(belief)} label="Belief" />
        )}
      </Card>
      <div className="cards-column">
        {hasPhases(view) ? (
          <Card title="Working memory" note="of the phase">
            <Memory of={view} />
            <PhaseHandovers workflow={view.workflow} sequence={view.sequence_number} />
          </Card>
        ) : null}
        <Card title="Frontier" note={counted(view.pending_task_count, 'task')}>
          <Frontier workflow={view.workflow} tasks={frontier} />
        </Card>
        {flow === null ? null : (
          <Card title="Flow" note="which steps each step may add">
            <div className="flow-box">
              <Flow starts={flow.starts ?? []} steps={flow.steps} at={view.frontier.map(({ step }) => step)} />
            </div>
          </Card>
        )}
        {output === undefined ? null : (
          <Card title="Output">
            <JsonTree value={output} label="Output" />
          </Card>
        )}
        {input === undefined ? null : (
          <Card title="Input">
            <JsonTree value={input} label="Input" />
          </Card>
        )}
      </div>
    </div>
  );
}
