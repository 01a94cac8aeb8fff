/** Owns searching the memory of a user for words, with how well each entry fits; and what recall is worth, by workflows with and without it. */

import { useState } from 'react';
import type { Json } from '../belief/changes.ts';
import { Answer } from '../parts/answers.tsx';
import { Card } from '../parts/card.tsx';
import { Field } from '../parts/dialog.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { DataTable } from '../parts/table.tsx';
import { Ago, Chip } from '../parts/words.tsx';
import { useAsk } from '../shell/ask.ts';
import { count, duration, plain } from '../text/format.ts';
import { byArm } from './recall-use.ts';

/** Workflows among which sessions are searched for. */
const READ_COUNT = 500;

export const useRecentWorkflows = () =>
  useAsk(['workflows', 'sessions'], 'GET /v1/workflows', { query: { limit: READ_COUNT } });

export function Recall({ user }: { readonly user: string }) {
  const [words, setWords] = useState('');
  const [asked, setAsked] = useState('');
  const found = useAsk(
    ['recall', user, asked],
    'POST /v1/memory/{about}/recall',
    { params: { about: `user:${user}` }, body: { query: asked, limit: 10 } },
    { enabled: asked !== '' },
  );
  return (
    <Card title="Recall" note={`what is remembered of ${plain(user)}`}>
      <form
        className="bar"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(words.trim());
        }}
      >
        <Field name="Words" value={words} onChange={setWords} />
        <button type="submit">Recall</button>
      </form>
      {asked === '' ? null : (
        <Answer query={found}>
          {({ by, warning, entries }) => (
            <>
              <p className="dim">
                {entries.length === 0 ? 'Nothing found' : `${entries.length} found`}, by {plain(by)}.{' '}
                {plain(warning ?? '')}
              </p>
              {entries.map(({ kind, key, score, at, source, value }) => (
                <article key={`${kind} ${key}`} className="recalled">
                  <header>
                    <Chip>{plain(kind)}</Chip>
                    <b>{Math.round(score * 100)} %</b>
                    <span className="dim">
                      {plain(source)}, <Ago at={at} />
                    </span>
                  </header>
                  {value === undefined ? null : <JsonTree value={value as Json} label={key} />}
                </article>
              ))}
            </>
          )}
        </Answer>
      )}
    </Card>
  );
}

/** Nothing where no definition compares its sessions. */
export function RecallUse() {
  const arms = byArm(useRecentWorkflows().data?.workflows ?? []);
  if (arms.length === 0) return null;
  return (
    <Card title="What recall is worth, by recent workflows that ended">
      <DataTable
        label="Recall by its use"
        rows={arms}
        keyOf={({ arm }) => arm}
        columns={[
          { name: 'Recall', of: ({ arm }) => (arm === 'control' ? 'none (control)' : 'injected') },
          { name: 'Workflows', of: ({ workflows }) => count(workflows), isNumber: true },
          { name: 'Completed', of: ({ completed }) => `${Math.round(completed * 100)} %`, isNumber: true },
          { name: 'Steps', of: ({ steps }) => steps.toFixed(1), isNumber: true },
          { name: 'Tokens', of: ({ tokens }) => count(Math.round(tokens)), isNumber: true },
          { name: 'Time', of: ({ ms }) => duration(ms), isNumber: true },
        ]}
      />
    </Card>
  );
}
