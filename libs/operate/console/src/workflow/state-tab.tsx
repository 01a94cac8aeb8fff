/** Owns the workflow's current state: its belief, what remains to be done, its input and its output. */

import { JsonTree } from '../parts/json-tree.tsx';
import { counted } from '../text/format.ts';
import { Flow } from './flow.tsx';
import { Frontier } from './frontier.tsx';
import { hasPhases, Memory, PhaseHandovers } from './memory.tsx';
import type { WorkflowView } from './workflow-view.ts';

export function StateTab({ view }: { readonly view: WorkflowView }) {
  const { belief, frontier, input, output, flow, forgotten } = view;
  if (forgotten) return <p className="dim">What it held is gone for good: its key was destroyed.</p>;
  return (
    <div className="cards">
      <section className="card">
        <header>
          <h2>Belief</h2>
          <span className="dim">after checkpoint {view.sequence_number}</span>
        </header>
        {belief === undefined ? (
          <p className="dim">You may not see its content.</p>
        ) : (
          <JsonTree value={belief} label="Belief" />
        )}
      </section>
      <div className="cards-column">
        {hasPhases(view) ? (
          <section className="card">
            <header>
              <h2>Working memory</h2>
              <span className="dim">of the phase</span>
            </header>
            <Memory of={view} />
            <PhaseHandovers workflow={view.workflow} sequence={view.sequence_number} />
          </section>
        ) : null}
        <section className="card">
          <header>
            <h2>Frontier</h2>
            <span className="dim">{counted(view.pending_task_count, 'task')}</span>
          </header>
          <Frontier workflow={view.workflow} tasks={frontier} />
        </section>
        {flow === null ? null : (
          <section className="card">
            <header>
              <h2>Flow</h2>
              <span className="dim">what each step may add</span>
            </header>
            <Flow starts={flow.starts ?? []} steps={flow.steps} at={view.frontier.map(({ step }) => step)} />
          </section>
        )}
        {output === undefined ? null : (
          <section className="card">
            <header>
              <h2>Output</h2>
            </header>
            <JsonTree value={output} label="Output" />
          </section>
        )}
        {input === undefined ? null : (
          <section className="card">
            <header>
              <h2>Input</h2>
            </header>
            <JsonTree value={input} label="Input" />
          </section>
        )}
      </div>
    </div>
  );
}
