/** Owns the question of a parked workflow and its answers: what happened, the evidence, the possible decisions and what follows from each. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Json } from '../belief/changes.ts';
import { Ask, Field, isJson } from '../parts/dialog.tsx';
import { JsonTree, Lines } from '../parts/json-tree.tsx';
import { api } from '../shell/client.ts';
import { useMay } from '../shell/rights.ts';
import { plain, words } from '../text/format.ts';
import type { WorkflowView } from './workflow-view.ts';

type Question = NonNullable<WorkflowView['question']>;
type Resolution = 'retry' | 'done' | 'not-done' | 'compensate' | 'fail';

interface ResolutionTexts {
  readonly verb: string;
  readonly follows: string;
  readonly danger?: boolean;
}

const SAID: Readonly<Record<Resolution, ResolutionTexts>> = {
  retry: {
    verb: 'Try again',
    follows:
      'It continues as if nothing had failed. What became of an open call is determined by its probe; without one you are asked again.',
  },
  done: {
    verb: 'It was done',
    follows: 'What you say it answered is recorded as the effect’s response, and the workflow continues.',
  },
  'not-done': { verb: 'It was not done', follows: 'The effect is called again with the same key.' },
  compensate: {
    verb: 'Undo',
    follows: 'What was done is compensated, in reverse order, and the workflow ends.',
    danger: true,
  },
  fail: { verb: 'End it', follows: 'The workflow fails now, and nothing is compensated.', danger: true },
};

export function QuestionCard({ workflow, question }: { readonly workflow: string; readonly question: Question }) {
  const [chosen, setChosen] = useState<Resolution | null>(null);
  const mayDecide = useMay()('decide');
  const { code, task, idempotency_key: key, message, evidence } = question;
  const resolutions = question.resolutions.filter((each): each is Resolution => each in SAID);
  return (
    <section className="question" aria-label="Question for a person">
      <h2>{plain(words(code))}</h2>
      {message === undefined || message === '' ? null : (
        <p>
          <Lines text={message} />
        </p>
      )}
      <p className="dim">
        {task === null ? '' : `Task ${plain(task)}. `}
        {key === null ? '' : `Effect ${plain(key)}.`}
      </p>
      {evidence == null ? null : (
        <details>
          <summary>Evidence</summary>
          <JsonTree value={evidence as Json} label="Evidence" />
        </details>
      )}
      {mayDecide ? null : <p className="note-line">You can read it. Anyone with the right to decide can answer.</p>}
      <div className="answers" hidden={!mayDecide}>
        {resolutions.map((each) => (
          <button
            key={each}
            type="button"
            className={SAID[each].danger === true ? 'danger' : undefined}
            onClick={() => setChosen(each)}
          >
            {SAID[each].verb}
          </button>
        ))}
      </div>
      {chosen === null ? null : (
        <Decide {...{ workflow, question }} resolution={chosen} onClose={() => setChosen(null)} />
      )}
    </section>
  );
}

function Decide(props: {
  readonly workflow: string;
  readonly question: Question;
  readonly resolution: Resolution;
  readonly onClose: () => void;
}) {
  const { workflow, question, resolution, onClose } = props;
  const [response, setResponse] = useState('{}');
  const queries = useQueryClient();
  const { verb, follows, danger } = SAID[resolution];
  const wantsResponse = resolution === 'done' && question.idempotency_key !== null;
  const act = async (why: string): Promise<void> => {
    await api.run(workflow).decide({
      ...{ resolution, why, question: question.question_id },
      ...(wantsResponse && { response: JSON.parse(response) as unknown }),
    });
    for (const queryKey of [['workflow', workflow], ['inbox'], ['inbox-count'], ['workflows']]) {
      void queries.invalidateQueries({ queryKey });
    }
  };
  return (
    <Ask
      title={`${verb}?`}
      verb={verb}
      danger={danger}
      missing={wantsResponse && !isJson(response) ? 'The response is not JSON.' : null}
      why="Kept with the decision, in the history."
      onDo={act}
      onClose={onClose}
    >
      <p>{follows}</p>
      {wantsResponse ? <Field name="What it answered" value={response} onChange={setResponse} lines={4} mono /> : null}
    </Ask>
  );
}
