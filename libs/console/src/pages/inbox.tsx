/** Owns the inbox: every workflow that waits for a person, what it asks, and answering it here. */

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import '../styles/workflow.css';
import '../styles/inbox.css';
import { Answer, Empty } from '../parts/answers.tsx';
import { Ago, Name } from '../parts/words.tsx';
import { api, LIST_PERIOD_MS } from '../shell/client.ts';
import { Link } from '../shell/link.tsx';
import { workflowAddress } from '../shell/router.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { counted, plain, words } from '../text/format.ts';
import { QuestionCard } from '../workflow/question.tsx';

/** Questions that are listed. */
const SHOWN_COUNT = 200;

export function InboxPage() {
  const parked = useQuery({
    queryKey: ['inbox'],
    queryFn: ({ signal }) =>
      api.ask('GET /v1/workflows', { query: { status: 'parked', limit: SHOWN_COUNT } }, { signal }),
    refetchInterval: LIST_PERIOD_MS,
  });
  const rows = parked.data?.workflows ?? [];
  const [picked, setPicked] = useState<string | null>(null);
  const at = Math.max(
    0,
    rows.findIndex(({ workflow }) => workflow === picked),
  );
  const move = (by: number): void => setPicked(rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.workflow ?? null);
  useShortcuts('Inbox', [
    { keys: 'j', what: 'Next question', run: () => move(1) },
    { keys: 'k', what: 'Question before', run: () => move(-1) },
  ]);
  return (
    <div className="page whole inbox">
      <header>
        <h1>Inbox</h1>
        <span className="dim">{counted(rows.length, 'workflow')} waiting for a person</span>
      </header>
      <span />
      <Answer query={parked}>
        {() =>
          rows.length === 0 ? (
            <Empty title="Nobody waits for you.">Questions and approvals of workflows come here.</Empty>
          ) : (
            <div className="inbox-split">
              <ul aria-label="Questions">
                {rows.map(({ workflow, definition, reason, updated_at }, index) => (
                  <li key={workflow}>
                    <button type="button" aria-pressed={index === at} onClick={() => setPicked(workflow)}>
                      <b>{plain(words(reason ?? 'a question'))}</b>
                      <span className="dim">
                        <Ago at={updated_at} />
                      </span>
                      <Name of={workflow} />
                      <span className="dim">{plain(definition)}</span>
                    </button>
                  </li>
                ))}
              </ul>
              <Asked key={rows[at]!.workflow} workflow={rows[at]!.workflow} />
            </div>
          )
        }
      </Answer>
    </div>
  );
}

function Asked({ workflow }: { readonly workflow: string }) {
  const view = useQuery({
    queryKey: ['workflow', workflow],
    queryFn: ({ signal }) => api.run(workflow).get({ signal }),
  });
  return (
    <section className="asked">
      <header>
        <h2>
          <Link to={workflowAddress(workflow)} className="body-link">
            <Name of={workflow} />
          </Link>
        </h2>
      </header>
      <Answer query={view}>
        {({ question, last_action }) => (
          <>
            {last_action === '' ? null : (
              <p className="dim">
                Last it did: <bdi>{plain(last_action)}</bdi>
              </p>
            )}
            {question === null ? (
              <p className="dim">It no longer asks.</p>
            ) : (
              <QuestionCard {...{ workflow, question }} />
            )}
          </>
        )}
      </Answer>
    </section>
  );
}
