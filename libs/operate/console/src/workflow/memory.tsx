/** Owns the view of memory scopes: the content of working memory, and how the keys of two hand-overs between phases differ. */

import type { Answer as AnswerOf } from '@tidemark/client';
import { useState } from 'react';
import { Answer } from '../parts/answers.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { Fact } from '../parts/words.tsx';
import { useAsk } from '../shell/ask.ts';
import { count, plain } from '../text/format.ts';

type Past = AnswerOf<'GET /v1/workflows/{workflow}/at/{sequence}'>;
type Handover = AnswerOf<'GET /v1/workflows/{workflow}/handovers'>['handovers'][number];

/** Whether there is anything to show: a workflow without phases has none. */
export const hasPhases = ({ memory_scope_snapshot: { working_memory } }: Pick<Past, 'memory_scope_snapshot'>) =>
  working_memory.phase !== null || working_memory.keys.length > 0;

/** Contents are absent for readers who may not see them. */
type Scopes = Pick<Past, 'memory_scope_snapshot'> & Partial<Pick<Past, 'working_memory'>>;

export function Memory({ of }: { readonly of: Scopes }) {
  const { system_context: system, working_memory: working, trace } = of.memory_scope_snapshot;
  const budget = working.budget_tokens === null ? '' : ` of ${count(working.budget_tokens)}`;
  return (
    <>
      <dl className="facts">
        <Fact name="Phase">{plain(working.phase ?? '–')}</Fact>
        {working.tokens === null ? null : <Fact name="Tokens">{`${count(working.tokens)}${budget}`}</Fact>}
        {system.keys === null ? null : <Fact name="System context">{system.keys.join(', ') || 'none'}</Fact>}
        <Fact name="Trace">{count(trace.length)}</Fact>
      </dl>
      {of.working_memory === undefined ? (
        <Keys of={working.keys} />
      ) : (
        <JsonTree value={of.working_memory} label="Working memory" />
      )}
    </>
  );
}

const Keys = ({ of }: { readonly of: readonly string[] }) => (
  <span>{of.length === 0 ? '–' : of.map(plain).join(', ')}</span>
);

/** `sequence`: of the newest checkpoint; a newer one may bring another hand-over. */
export function PhaseHandovers({ workflow, sequence }: { readonly workflow: string; readonly sequence: number }) {
  const [against, setAgainst] = useState<number | undefined>(undefined);
  const found = useAsk(
    ['workflow', workflow, 'handovers', sequence, against],
    'GET /v1/workflows/{workflow}/handovers',
    { params: { workflow }, query: against === undefined ? {} : { against } },
  );
  return (
    <Answer query={found}>
      {({ handovers }) =>
        handovers.length === 0 ? (
          <p className="dim">No phase has handed over yet.</p>
        ) : (
          <>
            <label>
              Compare keys with{' '}
              <select
                aria-label="Compare hand-overs with"
                value={against ?? ''}
                onChange={({ target }) => setAgainst(target.value === '' ? undefined : Number(target.value))}
              >
                <option value="">the one before each</option>
                {handovers.map(({ sequence_number: at, from_phase: from, to_phase: to }) => (
                  <option key={at} value={at}>
                    {`#${at} ${plain(from ?? '')} → ${plain(to)}`}
                  </option>
                ))}
              </select>
            </label>
            {handovers.map((one) => (
              <OneHandover key={one.sequence_number} of={one} />
            ))}
          </>
        )
      }
    </Answer>
  );
}

function OneHandover({ of }: { readonly of: Handover }) {
  return (
    <section aria-label={`Hand-over #${of.sequence_number}`}>
      <h3>
        #{of.sequence_number} {plain(of.from_phase ?? '')} → {plain(of.to_phase)}
      </h3>
      {of.summary === undefined ? null : <p>{plain(of.summary)}</p>}
      <dl className="facts">
        <Fact name="Not carried">
          <Keys of={of.left_keys} />
        </Fact>
        <Fact name={of.against === null ? 'Carried' : `Added to #${of.against}`}>
          <Keys of={of.added_keys} />
        </Fact>
        {of.against === null ? null : (
          <>
            <Fact name="Removed">
              <Keys of={of.removed_keys} />
            </Fact>
            <Fact name="Kept">
              <Keys of={of.kept_keys} />
            </Fact>
          </>
        )}
      </dl>
    </section>
  );
}
