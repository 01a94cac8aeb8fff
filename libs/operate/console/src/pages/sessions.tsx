/** Owns sessions: the state of one, its hand-overs, the words of earlier workflows, and what is remembered of its user. */

import type { Answer as AnswerOf } from '@tidemark/client';
import { shownBelief } from '@tidemark/core';
import { useEffect, useState } from 'react';
import type { Json } from '../belief/changes.ts';
import { Answer, Empty } from '../parts/answers.tsx';
import { Card } from '../parts/card.tsx';
import { Field } from '../parts/dialog.tsx';
import { JsonTree, Lines } from '../parts/json-tree.tsx';
import { DataTable } from '../parts/table.tsx';
import { Ago, Fact, Name, State } from '../parts/words.tsx';
import { useAsk } from '../shell/ask.ts';
import { Link, WorkflowLink } from '../shell/link.tsx';
import { addressOf, go } from '../shell/router.ts';
import { plain, words } from '../text/format.ts';
import { Recall, RecallUse, useRecentWorkflows } from './recall.tsx';

export function SessionsPage({ session }: { readonly session: string | undefined }) {
  const [named, setNamed] = useState(session ?? '');
  useEffect(() => setNamed(session ?? ''), [session]);
  return (
    <div className="page">
      <header>
        <h1>Sessions</h1>
      </header>
      <form
        className="bar"
        onSubmit={(event) => {
          event.preventDefault();
          if (named.trim() !== '') go(addressOf(['sessions', named.trim()]));
        }}
      >
        <Field name="Session" value={named} onChange={setNamed} mono />
        <button type="submit">Show</button>
      </form>
      {session === undefined ? <Newest /> : <Session key={session} session={session} />}
    </div>
  );
}

function Newest() {
  const found = useRecentWorkflows();
  return (
    <Answer query={found}>
      {({ workflows }) => {
        const sessions = [...Map.groupBy(workflows, ({ session }) => session)].flatMap(([session, of]) =>
          session === null ? [] : [{ session, of, newest: of[0]! }],
        );
        if (sessions.length === 0) {
          return (
            <Empty title="No recent workflow has a session.">
              A session is a scope in which workflows run one after another. Give its id above.
            </Empty>
          );
        }
        return (
          <>
            <Card title="Recent sessions">
              <DataTable
                label="Sessions"
                rows={sessions}
                keyOf={({ session }) => session}
                columns={[
                  {
                    name: 'Session',
                    of: ({ session }) => (
                      <Link to={addressOf(['sessions', session])}>
                        <Name of={session} />
                      </Link>
                    ),
                  },
                  { name: 'State', of: ({ newest }) => <State of={newest.activity} reason={newest.reason} /> },
                  { name: 'User', of: ({ newest }) => plain(newest.user ?? '–') },
                  { name: 'Workflows', of: ({ of }) => of.length, isNumber: true, isMinor: true },
                  { name: 'Changed', of: ({ newest }) => <Ago at={newest.updated_at} />, isNumber: true },
                ]}
              />
            </Card>
            <RecallUse />
          </>
        );
      }}
    </Answer>
  );
}

function Session({ session }: { readonly session: string }) {
  const found = useAsk(['session', session], 'GET /v1/sessions/{session}', { params: { session } });
  return (
    <Answer query={found}>
      {(data) => {
        const { workflow, handovers = [], summaries = [] } = data;
        return (
          <div className="cards">
            <div className="cards-column">
              <Card title={data.is_live ? 'Under way' : 'Its newest workflow'}>
                <NewestWorkflow of={workflow ?? null} user={data.user} />
              </Card>
              <Card title="Earlier">
                <Earlier of={data.earlier} />
              </Card>
            </div>
            <div className="cards-column">
              {handovers.length === 0 ? null : <HandOvers of={handovers} />}
              <Card title="Summaries">
                {summaries.length === 0 ? (
                  <p className="dim">Nothing yet.</p>
                ) : (
                  summaries.map((summary, index) => <Summary key={index} of={{ ...summary }} />)
                )}
              </Card>
              {workflow?.recall == null ? null : <RecallUse />}
              {data.user === null ? null : <Recall user={data.user} />}
            </div>
          </div>
        );
      }}
    </Answer>
  );
}

type SessionAnswer = AnswerOf<'GET /v1/sessions/{session}'>;

function NewestWorkflow({
  of: workflow,
  user,
}: {
  readonly of: SessionAnswer['workflow'];
  readonly user: SessionAnswer['user'];
}) {
  return workflow == null ? (
    <p className="dim">None.</p>
  ) : (
    <>
      <dl className="facts">
        <Fact name="Workflow">
          <WorkflowLink of={workflow.workflow} className="body-link" />
        </Fact>
        <Fact name="State">
          <State of={workflow.status} reason={workflow.reason} />
        </Fact>
        <Fact name="User">{plain(user ?? '–')}</Fact>
        {workflow.recall === null ? null : (
          <Fact name="Recall">{workflow.recall === 'control' ? 'none, for comparison' : 'injected'}</Fact>
        )}
        <Fact name="Last action">
          <bdi>{plain(workflow.last_action)}</bdi>
        </Fact>
      </dl>
      {workflow.goal.map((goal) => (
        <p key={goal}>{plain(goal)}</p>
      ))}
      {workflow.belief === null ? null : <JsonTree value={shownBelief(workflow.belief as Json)} label="Belief" />}
    </>
  );
}

function Earlier({ of: earlier }: { readonly of: SessionAnswer['earlier'] }) {
  return earlier.length === 0 ? (
    <p className="dim">None: this one is the first.</p>
  ) : (
    <table>
      <tbody>
        {earlier.map((one) => (
          <tr key={one.workflow}>
            <td>
              <State of={one.status} />
            </td>
            <td>
              <WorkflowLink of={one.workflow} />
            </td>
            <td className="num dim">
              <Ago at={one.opened_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const HandOvers = ({ of: handovers }: { readonly of: NonNullable<SessionAnswer['handovers']> }) => (
  <Card title="Hand-overs">
    {handovers.map(({ from, to, message }, index) => (
      <p key={index}>
        <b>{plain(from)}</b> to <b>{plain(to)}</b>: {plain(message)}
      </p>
    ))}
  </Card>
);

/** A moment in its own words. */
const Saying = ({ text }: { readonly text: string }) =>
  /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? <Ago at={text} /> : <Lines text={text} />;

/** Its parts in words, without the empty ones. */
function Summary({ of }: { readonly of: Readonly<Record<string, Json>> }) {
  const parts = Object.entries(of).filter(
    ([name, value]) =>
      name !== 'session_id' && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0),
  );
  return (
    <dl className="summary">
      {parts.map(([name, value]) => (
        <div key={name}>
          <dt>{plain(words(name))}</dt>
          <dd>
            {Array.isArray(value) && value.every((each) => typeof each === 'string') ? (
              <ul>
                {(value as readonly string[]).map((each, index) => (
                  <li key={index}>{plain(each)}</li>
                ))}
              </ul>
            ) : typeof value === 'object' ? (
              <JsonTree value={value} label={name} />
            ) : (
              <Saying text={String(value)} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
