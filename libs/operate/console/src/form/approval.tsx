/** Owns the question of a task to a person: its text, its background, and the form of the answer. */

import { useQueryClient } from '@tanstack/react-query';
import { TidemarkApiError } from '@tidemark/client';
import { useRef, useState } from 'react';
import '../styles/form.css';
import type { Json } from '../belief/changes.ts';
import { Failure } from '../parts/answers.tsx';
import { Ask, Field as TextLine } from '../parts/dialog.tsx';
import { JsonTree, Lines } from '../parts/json-tree.tsx';
import { Ago } from '../parts/words.tsx';
import { api, noteRefusal } from '../shell/client.ts';
import { plain, words } from '../text/format.ts';
import { type Draft, draftOf, fieldOf, type Problems, problemsAfter, problemsOf, readForm } from './fields.ts';
import { FormField } from './form.tsx';

export type Approval = Awaited<ReturnType<typeof askApprovals>>['approvals'][number];

interface Page {
  readonly limit?: number;
  readonly cursor?: string;
  readonly content?: 'false';
}

export const askApprovals = (query: Page, signal: AbortSignal) => api.ask('GET /v1/approvals', { query }, { signal });

export function ApprovalCard({ approval, onDone }: { readonly approval: Approval; readonly onDone: () => void }) {
  const { name, title, detail, assignee, asked_at: askedAt, form, answerable, step } = approval;
  return (
    <section className="question" aria-label="Approval">
      <h2>{title == null || title === '' ? plain(words(name)) : <Lines text={title} />}</h2>
      <p className="dim">
        Asked <Ago at={askedAt} /> of {assignee === null ? 'anyone who may decide' : plain(assignee)}. Step{' '}
        {plain(step)} waits for it.
      </p>
      {detail == null ? null : <JsonTree value={detail as Json} label="Details" />}
      {answerable ? (
        <AnswerForm approval={approval} form={form as Json} onDone={onDone} />
      ) : (
        <p className="note-line">
          You can read it. {assignee === null ? 'Anyone who may decide' : plain(assignee)} can answer.
        </p>
      )}
    </section>
  );
}

function AnswerForm(props: {
  readonly approval: Approval;
  readonly form: Json | undefined;
  readonly onDone: () => void;
}) {
  const { approval, form, onDone } = props;
  const [field] = useState(() => fieldOf(form));
  const [draft, setDraft] = useState(() => draftOf(field));
  const [why, setWhy] = useState('');
  const [problems, setProblems] = useState<Problems>(new Map());
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [isRejecting, setRejecting] = useState(false);
  const box = useRef<HTMLFormElement>(null);
  const answer = useAnswer(approval);

  /** Moves to the first wrong field, once it is marked. */
  const report = (wrong: Problems): void => {
    setProblems(wrong);
    requestAnimationFrame(() => {
      const places = [...(box.current?.querySelectorAll<HTMLElement>('[data-place]') ?? [])];
      const first = places.find(({ dataset }) => wrong.has(dataset.place ?? ''));
      first?.focus();
      first?.scrollIntoView({ block: 'nearest' });
    });
  };
  /** Messages about earlier input are removed, or shown again. */
  const type = (next: Draft): void => {
    setProblems(problemsAfter(problems, field, draft, next));
    setError(null);
    setDraft(next);
  };
  const approve = async (): Promise<void> => {
    const { value, problems: wrong } = readForm(field, draft);
    setError(null);
    report(wrong);
    if (wrong.size > 0) return;
    setBusy(true);
    try {
      await answer({ approved: true, value, ...(why.trim() !== '' && { why }) });
      onDone();
    } catch (failed) {
      noteRefusal(failed);
      const reported = failed instanceof TidemarkApiError ? problemsOf(failed.fields) : new Map<string, string>();
      if (reported.size > 0) report(reported);
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <form
        ref={box}
        className="answer"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy) void approve();
        }}
      >
        <FormField {...{ field, draft, problems }} name="" isNeeded place="" onChange={type} />
        <TextLine
          name="Why"
          value={why}
          onChange={setWhy}
          hint="May be left empty. Kept with the answer, in the history."
        />
        {error === null ? null : <Failure error={error} />}
        <Answers isBusy={isBusy} onReject={() => setRejecting(true)} />
      </form>
      {isRejecting ? <Reject {...{ answer, onDone }} onClose={() => setRejecting(false)} /> : null}
    </>
  );
}

const Answers = ({ isBusy, onReject }: { readonly isBusy: boolean; readonly onReject: () => void }) => (
  <div className="answers">
    <button type="submit" className="primary" disabled={isBusy}>
      {isBusy ? 'Sending…' : 'Approve'}
    </button>
    <button type="button" className="danger" disabled={isBusy} onClick={onReject}>
      Reject
    </button>
  </div>
);

type Answer = (body: {
  readonly approved: boolean;
  readonly value?: Json | undefined;
  readonly why?: string;
}) => Promise<void>;

function useAnswer({ workflow, task }: Approval): Answer {
  const queries = useQueryClient();
  return async (body) => {
    const params = { workflow, task };
    await api.ask('POST /v1/workflows/{workflow}/approvals/{task}', { params, body }, { isRepeatable: true });
    for (const queryKey of [['approvals'], ['inbox-count'], ['workflow', workflow]]) {
      void queries.invalidateQueries({ queryKey });
    }
  };
}

function Reject({
  answer,
  onDone,
  onClose,
}: {
  readonly answer: Answer;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const [why, setWhy] = useState('');
  return (
    <Ask
      title="Reject it?"
      verb="Reject"
      danger
      onDo={async () => {
        await answer({ approved: false, ...(why.trim() !== '' && { why }) });
        onDone();
      }}
      onClose={onClose}
    >
      <p>The step runs and receives the rejection, and who rejected it.</p>
      <TextLine name="Why" value={why} onChange={setWhy} hint="Kept with the answer, in the history." autoFocus />
    </Ask>
  );
}
