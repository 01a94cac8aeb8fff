/** Owns the search of the list: it stands in the address, so that it can be sent to somebody and gone back to. */

import { useEffect, useRef, useState } from 'react';
import { Key, State } from '../parts/words.tsx';
import { addressOf, go } from '../shell/router.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { plain } from '../text/format.ts';

const STATUSES = ['open', 'parked', 'compensating', 'completed', 'failed', 'compensated'] as const;
type Status = (typeof STATUSES)[number];

/** Pause in typing after which the server is asked, in milliseconds. */
const TYPED_PAUSE_MS = 200;

export interface Filter {
  readonly status?: Status;
  readonly definition?: string;
  readonly reason?: string;
}

export function filterOf(query: URLSearchParams): Filter {
  const status = STATUSES.find((each) => each === query.get('status'));
  const named = (name: string): string | undefined => query.get(name) ?? undefined;
  const [definition, reason] = [named('definition'), named('reason')];
  return {
    ...(status !== undefined && { status }),
    ...(definition !== undefined && { definition }),
    ...(reason !== undefined && { reason }),
  };
}

const NAMES = ['status', 'definition', 'reason'] as const;

function goWith(query: URLSearchParams, changed: Readonly<Record<string, string | undefined>>): void {
  const all = Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? undefined]));
  go(addressOf(['workflows'], { ...all, ...changed }), { replaces: true });
}

export function Filters({ query }: { readonly query: URLSearchParams }) {
  const field = useRef<HTMLInputElement>(null);
  const given = query.get('definition') ?? '';
  const [text, setText] = useState(given);
  useEffect(() => setText(given), [given]);
  useEffect(() => {
    if (text === given) return;
    const timer = window.setTimeout(() => goWith(query, { definition: text.trim() }), TYPED_PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [text, given, query]);
  useShortcuts('Search', [
    {
      keys: '/',
      what: 'Search',
      run: () => {
        field.current?.focus();
        field.current?.select();
      },
    },
  ]);
  const status = query.get('status');
  const reason = query.get('reason');
  return (
    <search className="filters">
      <div className="search">
        <input
          ref={field}
          type="search"
          aria-label="Search workflows"
          placeholder="Name of a definition"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Key>/</Key>
      </div>
      <fieldset className="states" aria-label="State">
        <button type="button" aria-pressed={status === null} onClick={() => goWith(query, { status: undefined })}>
          All
        </button>
        {STATUSES.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={status === each}
            onClick={() => goWith(query, { status: status === each ? undefined : each })}
          >
            <State of={each} />
          </button>
        ))}
      </fieldset>
      {reason === null ? null : (
        <button type="button" className="quiet" onClick={() => goWith(query, { reason: undefined })}>
          reason {plain(reason)} ✕
        </button>
      )}
    </search>
  );
}
