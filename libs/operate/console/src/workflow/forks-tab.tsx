/** Owns forking a run from any of its checkpoints, and comparing it with another one, side by side. */

import { shownBelief } from '@tidemark/core';
import { useState } from 'react';
import type { Json } from '../belief/changes.ts';
import { Answer } from '../parts/answers.tsx';
import { Card } from '../parts/card.tsx';
import { Field } from '../parts/dialog.tsx';
import { ChangesTree } from '../parts/json-tree.tsx';
import { Chip, State } from '../parts/words.tsx';
import { useAsk } from '../shell/ask.ts';
import { WorkflowLink } from '../shell/link.tsx';
import { useMay } from '../shell/rights.ts';
import { go, workflowAddress } from '../shell/router.ts';
import { count, duration, moneyOf, plain, tokensOf } from '../text/format.ts';
import { ForkDialog } from './fork-dialog.tsx';
import type { WorkflowView } from './workflow-view.ts';

export function ForksTab({ view, query }: { readonly view: WorkflowView; readonly query: URLSearchParams }) {
  const { workflow, fork } = view;
  const at = Number(query.get('at') ?? view.sequence_number);
  const other = query.get('with') ?? fork?.workflow ?? '';
  const [named, setNamed] = useState(other);
  const [isForking, setForking] = useState(false);
  const may = useMay();
  const compareWith = (id: string): void =>
    go(workflowAddress(workflow, { tab: 'forks', with: id.trim() }), { replaces: true });
  return (
    <div className="forks">
      {may('operate') ? (
        <Card title="Fork" note="a new run that continues from one of its checkpoints">
          <p>
            It shares the history up to there, without a copy. Its effects are answered from the record, or called again
            under new keys.
          </p>
          <p>
            <button type="button" onClick={() => setForking(true)}>
              Fork from a checkpoint
            </button>
          </p>
        </Card>
      ) : null}
      {may('content') ? (
        <Card title="Compare" note="how two runs ended, and where they differ">
          <form
            className="bar"
            onSubmit={(event) => {
              event.preventDefault();
              compareWith(named);
            }}
          >
            <Field name="With the workflow" value={named} onChange={setNamed} mono />
            <button type="submit" disabled={named.trim() === ''}>
              Compare
            </button>
          </form>
          {other === '' ? null : <Comparison workflow={workflow} other={other} />}
        </Card>
      ) : null}
      {isForking ? <ForkDialog view={view} at={at} onClose={() => setForking(false)} /> : null}
    </div>
  );
}

function Comparison({ workflow, other }: { readonly workflow: string; readonly other: string }) {
  const comparison = useAsk(['comparison', workflow, other], 'GET /v1/workflows/{workflow}/comparison/{other}', {
    params: { workflow, other },
  });
  return (
    <Answer query={comparison}>
      {({ workflows, same_outcome: isSame, first_difference: parts }) => {
        const [left, right] = parts?.checkpoints ?? [];
        return (
          <>
            <p>
              <Chip tone={isSame ? 'good' : 'warn'}>{isSame ? 'same outcome' : 'different outcomes'}</Chip>{' '}
              {parts === null ? 'They never differ.' : `They differ from checkpoint ${parts.sequence_number} on.`}
            </p>
            <table className="compared">
              <thead>
                <tr>
                  <th />
                  {workflows.map((one) => (
                    <th key={one.workflow}>
                      <WorkflowLink of={one.workflow} />
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                <Line name="State">
                  {workflows.map((one) => (
                    <State key={one.workflow} of={one.status} reason={one.reason} />
                  ))}
                </Line>
                <Line name="Took">{workflows.map((one) => duration(one.took_ms))}</Line>
                <Line name="Checkpoints">
                  {workflows.map(
                    (one) =>
                      `${count(one.checkpoints)}${one.shared.checkpoints > 0 ? `, ${count(one.shared.checkpoints)} shared` : ''}`,
                  )}
                </Line>
                <Line name="Tokens">{workflows.map(tokensOf)}</Line>
                <Line name="Cost">{workflows.map(moneyOf)}</Line>
                <Line name="Effects called">
                  {workflows.map(
                    (one) =>
                      `${one.called_effects}${one.replayed_effects > 0 ? `, ${one.replayed_effects} replayed` : ''}`,
                  )}
                </Line>
              </tbody>
            </table>
            {parts === null ? null : (
              <>
                <h3>
                  At checkpoint {parts.sequence_number}: {reachedBy(left)} on the left, {reachedBy(right)} on the right
                </h3>
                <ChangesTree before={madeBy(left)} after={madeBy(right)} onlyChanges label="Differences" />
              </>
            )}
          </>
        );
      }}
    </Answer>
  );
}

const reachedBy = (side: { readonly step: string | null } | null | undefined): string =>
  side == null ? 'already ended' : side.step === null ? 'as opened' : `after step ${plain(side.step)}`;

const madeBy = (side: { readonly belief?: unknown; readonly output?: unknown } | null | undefined) =>
  side == null ? undefined : ({ belief: shownBelief(side.belief as Json), output: side.output } as Json);

const Line = ({ name, children }: { readonly name: string; readonly children: readonly React.ReactNode[] }) => (
  <tr>
    <th scope="row">{name}</th>
    {children.map((child, index) => (
      <td key={index}>{child}</td>
    ))}
  </tr>
);
