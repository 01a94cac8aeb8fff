/** Owns beginning a job from a search: the action, the number of workflows, and the confirmation. */

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Ask, Field, isJson } from '../parts/dialog.tsx';
import { api } from '../shell/client.ts';
import { useMay } from '../shell/rights.ts';
import { addressOf, go } from '../shell/router.ts';
import { count, counted, plain } from '../text/format.ts';
import { type Filter, OVER, searchText } from './search-text.ts';

const ACTS = {
  pause: ['Pause', 'Steps under way finish, and nothing further starts until they are resumed.'],
  resume: ['Resume', 'They continue with the tasks that are ready.'],
  cancel: ['Cancel', 'No further task starts; what was done is compensated where that is registered, and they end.'],
  terminate: ['Terminate', 'They end at once, and nothing is compensated.'],
  retry: ['Try again', 'Questions of parked ones are answered with retry.'],
  signal: ['Send a signal to', 'Each receives it once.'],
} as const;
type Act = keyof typeof ACTS;

interface Counted {
  readonly all: number;
  /** Closed ones, which refuse every action. */
  readonly over: number;
  readonly isMore: boolean;
}

function useCounted(filter: Filter): { readonly counted: Counted | undefined; readonly error: unknown } {
  const { data, error } = useQuery({
    queryKey: ['bulk-count', filter],
    queryFn: async ({ signal }): Promise<Counted> => {
      const body = { filter: jobFilterOf(filter) };
      const { count: all, has_more: isMore, statuses } = await api.ask('POST /v1/jobs/count', { body }, { signal });
      return { all, over: OVER.reduce((sum, status) => sum + (statuses[status] ?? 0), 0), isMore };
    },
    staleTime: 0,
    refetchOnWindowFocus: false,
  });
  return { counted: data, error };
}

const jobFilterOf = ({ tag, children, ...fits }: Filter) => ({
  ...fits,
  ...(tag !== undefined && { tags: [tag] }),
  ...(children === undefined && { roots: true as const }),
});

export function BulkDialog({ filter, onClose }: { readonly filter: Filter; readonly onClose: () => void }) {
  const may = useMay();
  const [act, setAct] = useState<Act>('pause');
  const [name, setName] = useState('');
  const [value, setValue] = useState('null');
  const [isMeant, setMeant] = useState(false);
  const [id] = useState(() => crypto.randomUUID());
  const { counted: found, error } = useCounted(filter);
  const isEverything = Object.keys(filter).every((key) => key === 'tenant' || key === 'children');
  const [verb, follows] = ACTS[act];
  const many = found === undefined ? '…' : sayingOf(found);
  const begin = async (why: string): Promise<void> => {
    await api.ask(
      'POST /v1/jobs',
      {
        body: {
          ...{ id, act, why, filter: jobFilterOf(filter) },
          ...(isEverything && { everything: true as const }),
          ...(act === 'signal' && { signal: { name: name.trim(), value: JSON.parse(value) as unknown } }),
        },
      },
      { isRepeatable: true },
    );
    go(addressOf(['jobs', id]));
  };
  const missing = missingOf({ found, error, isMeant, act, name, value });
  return (
    <Ask
      title="All of these"
      verb={`${verb} ${many}`}
      danger={act === 'cancel' || act === 'terminate'}
      why="Kept in the history of each, with your name."
      {...{ missing, onClose }}
      onDo={begin}
    >
      <p aria-live="polite">
        {isEverything ? <b>Every workflow you may see</b> : <Fits filter={filter} />}: <b>{many}</b>
        {found === undefined
          ? ' are being counted.'
          : found.over === 0
            ? '.'
            : `, of which ${count(found.over)} have ended and will refuse.`}{' '}
        <span className="dim">Workflows that start meanwhile are not included.</span>
      </p>
      <div className="field">
        <label htmlFor="act">Do</label>
        <select id="act" value={act} onChange={(event) => setAct(event.target.value as Act)}>
          {Object.entries(ACTS)
            .filter(([each]) => each !== 'retry' || may('decide'))
            .map(([each, [said]]) => (
              <option key={each} value={each}>
                {said}
              </option>
            ))}
        </select>
        <small>{follows}</small>
      </div>
      {act === 'signal' ? (
        <>
          <Field name="Signal" value={name} onChange={setName} mono />
          <Field name="Value" value={value} onChange={setValue} lines={3} mono hint="JSON." />
        </>
      ) : null}
      <label>
        <input type="checkbox" checked={isMeant} onChange={(event) => setMeant(event.target.checked)} /> I mean all{' '}
        {many}
      </label>
    </Ask>
  );
}

const Fits = ({ filter }: { readonly filter: Filter }) => (
  <>
    Workflows that match{' '}
    <bdi className="mono">
      {plain([filter.status === undefined ? '' : `state:${filter.status}`, searchText(filter)].join(' ').trim())}
    </bdi>
  </>
);

const sayingOf = ({ all, isMore }: Counted): string =>
  isMore ? `more than ${counted(all, 'workflow')}` : counted(all, 'workflow');

function missingOf(of: {
  readonly found: Counted | undefined;
  readonly error: unknown;
  readonly isMeant: boolean;
  readonly act: Act;
  readonly name: string;
  readonly value: string;
}): string | null {
  if (of.error !== null) return 'They could not be counted.';
  if (of.found === undefined) return 'They are being counted.';
  if (of.found.all === 0) return 'There are none.';
  if (of.act === 'signal' && of.name.trim() === '') return 'The signal needs a name.';
  if (of.act === 'signal' && !isJson(of.value)) return 'The value is not JSON.';
  return of.isMeant ? null : 'Confirm that you mean all of them.';
}
