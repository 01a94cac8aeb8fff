/** Owns searching the memory of a user for words, with how well each entry fits. */

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Json } from '../belief/changes.ts';
import { Answer } from '../parts/answers.tsx';
import { Card } from '../parts/card.tsx';
import { Field } from '../parts/dialog.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { Ago, Chip } from '../parts/words.tsx';
import { api } from '../shell/client.ts';
import { plain } from '../text/format.ts';

export function Recall({ user }: { readonly user: string }) {
  const [words, setWords] = useState('');
  const [asked, setAsked] = useState('');
  const found = useQuery({
    queryKey: ['recall', user, asked],
    queryFn: ({ signal }) =>
      api.ask(
        'POST /v1/memory/{about}/recall',
        { params: { about: `user:${user}` }, body: { query: asked, limit: 10 } },
        { signal, isRepeatable: true },
      ),
    enabled: asked !== '',
  });
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
