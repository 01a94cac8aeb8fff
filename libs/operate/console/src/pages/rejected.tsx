/** Owns dead letters: events that changed nothing, each with the reason and an explanation. */

import { useState } from 'react';
import type { Json } from '../belief/changes.ts';
import { Answer, Empty } from '../parts/answers.tsx';
import { JsonTree, Lines } from '../parts/json-tree.tsx';
import { type Column, DataTable, More } from '../parts/table.tsx';
import { Ago, Chip } from '../parts/words.tsx';
import { api, LIST_PERIOD_MS } from '../shell/client.ts';
import { useContent } from '../shell/content.ts';
import { WorkflowLink } from '../shell/link.tsx';
import { type PageAt, usePages } from '../shell/pages.ts';
import { count, plain, words } from '../text/format.ts';

const SHOWN_COUNT = 500;

/** For every reason of a rejection; a newer server may have more. */
const MEANS: Readonly<Record<string, string>> = {
  'stale-epoch': 'its writer had lost the lease before',
  'wrong-holder': 'its writer was not the holder',
  duplicate: 'a second copy of one that counts',
  'ordinal-gap': 'something before it was lost, so nothing may build on it',
  'wrong-parent': 'it was not made from the newest checkpoint',
  'lamport-regression': 'its clock went back',
  'clock-regression': 'older than its parent by more than a second',
  closed: 'the workflow had ended',
  'wrong-generation': 'meant for another workflow of the partition',
  malformed: 'its bytes are not an event',
  parked: 'the workflow waits for a person, or is paused',
  'unknown-task': 'for a task or timer that does not exist (any more)',
  'not-intended': 'of an effect that was not begun',
  'request-changed': 'the effect was intended before with another request',
  'not-asked': 'it answers a question that isn’t open (any more)',
  'signals-full': 'the workflow keeps no more signals, and waits for none of this name',
  'stale-version': 'from an older version than the workflow has reached',
};

const TONES: Readonly<Record<string, string>> = { duplicate: '', malformed: 'bad' };

const askRejected = (signal: AbortSignal, content: 'true' | 'false', cursor: PageAt) =>
  api.ask('GET /v1/rejected', { query: { limit: SHOWN_COUNT, content, cursor } }, { signal });
type Rejected = Awaited<ReturnType<typeof askRejected>>['rejected'][number];

const keyOf = ({ partition, offset }: Rejected): string => `${partition} ${offset}`;

const COLUMNS: readonly Column<Rejected>[] = [
  {
    name: 'Reason',
    of: ({ reason }) => <Chip tone={TONES[reason] ?? 'warn'}>{plain(words(reason))}</Chip>,
  },
  { name: 'Type', of: ({ type }) => plain(type ?? '–'), isMinor: true },
  {
    name: 'Workflow',
    of: ({ workflow }) => (workflow === null ? <span className="dim">–</span> : <WorkflowLink of={workflow} />),
  },
  {
    name: 'Partition:offset',
    of: ({ partition, offset }) => `${partition}:${count(offset)}`,
    isMinor: true,
    className: 'mono',
  },
  {
    name: 'Evidence',
    of: ({ evidence }) =>
      evidence === undefined ? null : (
        <details>
          <summary>Show</summary>
          <Evidence text={evidence} />
        </details>
      ),
  },
  { name: 'When', of: ({ at }) => (at === null ? '–' : <Ago at={at} />), isNumber: true, className: 'dim' },
];

export function RejectedPage() {
  const { found, pages, starts } = usePages(
    ['rejected'],
    (signal, at) => askRejected(signal, 'false', at),
    () => LIST_PERIOD_MS * 2,
  );
  const polled = pages.flatMap(({ rejected }) => rejected);
  const held = useContent(
    'rejected',
    found.data && polled.map(({ partition, offset }) => [partition, offset]),
    (signal) => Promise.all(starts.map((at) => askRejected(signal, 'true', at))),
  );
  const [reason, setReason] = useState<string | null>(null);
  return (
    <div className="page">
      <header>
        <h1>Rejected events</h1>
        <span className="dim">
          They changed nothing and are kept for audit. Most follow from take-overs, and are expected.
        </span>
      </header>
      <Answer query={found}>
        {() => {
          const known = new Map(held.data?.flatMap(({ rejected }) => rejected).map((row) => [keyOf(row), row]));
          const all = polled.map((row) => known.get(keyOf(row)) ?? row);
          if (all.length === 0) return <Empty title="No event was rejected." />;
          const by = [...Map.groupBy(all, (each) => each.reason)].sort(([, a], [, b]) => b.length - a.length);
          const shown = all.filter((each) => reason === null || each.reason === reason);
          return (
            <>
              <ul className="reasons">
                {by.map(([name, of]) => (
                  <li key={name}>
                    <button
                      type="button"
                      aria-pressed={name === reason}
                      onClick={() => setReason(name === reason ? null : name)}
                    >
                      <b>{count(of.length)}</b> {plain(words(name))} <span className="dim">{MEANS[name] ?? ''}</span>
                    </button>
                  </li>
                ))}
              </ul>
              <DataTable label="Rejected events" columns={COLUMNS} rows={shown} keyOf={keyOf} />
              <More of={found} what="rejected events" />
            </>
          );
        }}
      </Answer>
    </div>
  );
}

function Evidence({ text }: { readonly text: string }) {
  try {
    return <JsonTree value={JSON.parse(text) as Json} label="Evidence" />;
  } catch {
    return <Lines text={text} />;
  }
}
