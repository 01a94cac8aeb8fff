/** Owns the search of the list, which stands in the address, so that it can be sent to somebody and restored. */

import { useEffect, useRef, useState } from 'react';
import { Key, State } from '../parts/words.tsx';
import { addressOf, go } from '../shell/router.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { filterOf, parsedSearch, STATUSES, type Status, searchText } from './search-text.ts';

/** Pause in typing after which the server is queried, in milliseconds. */
const TYPED_PAUSE_MS = 200;

function goWith(filter: Readonly<Record<string, string | undefined>>): void {
  go(addressOf(['workflows'], filter), { replaces: true });
}

export function Filters({ query }: { readonly query: URLSearchParams }) {
  const field = useRef<HTMLInputElement>(null);
  const filter = filterOf(query);
  const { status, children } = filter;
  const given = searchText(filter);
  const [text, setText] = useState(given);
  const typed = useRef(given);
  useEffect(() => {
    // The address counts unless the change came from here.
    if (typed.current !== given) setText(given);
    typed.current = given;
  }, [given]);
  useEffect(() => {
    const next = searchText(parsedSearch(text));
    if (next === typed.current) return;
    const timer = window.setTimeout(() => {
      typed.current = next;
      goWith({ ...parsedSearch(text), status, children });
    }, TYPED_PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [text, status, children]);
  const focus = (): void => {
    field.current?.focus();
    field.current?.select();
  };
  useShortcuts('Search', [{ keys: '/', what: 'Search', run: focus }]);
  const withStatus = (next: Status | undefined): void => goWith({ ...parsedSearch(text), status: next, children });
  return (
    <search className="filters">
      <div className="search">
        <input
          ref={field}
          type="search"
          aria-label="Search workflows"
          placeholder="Words, or definition: session: user: tag: reason: error:"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Key>/</Key>
      </div>
      <fieldset className="states" aria-label="State">
        <button type="button" aria-pressed={status === undefined} onClick={() => withStatus(undefined)}>
          All
        </button>
        {STATUSES.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={status === each}
            onClick={() => withStatus(status === each ? undefined : each)}
          >
            <State of={each} />
          </button>
        ))}
      </fieldset>
      <label>
        <input
          type="checkbox"
          checked={children === 'true'}
          onChange={({ target }) =>
            goWith({ ...parsedSearch(text), status, children: target.checked ? 'true' : undefined })
          }
        />{' '}
        Children
      </label>
    </search>
  );
}
