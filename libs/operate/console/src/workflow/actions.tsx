/** Owns the actions on a workflow from its page, each after a confirmation that says what follows. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Ask, Field, isJson } from '../parts/dialog.tsx';
import { api } from '../shell/client.ts';
import { useMay } from '../shell/rights.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { plain } from '../text/format.ts';
import type { WorkflowView } from './workflow-view.ts';

type Action = 'pause' | 'resume' | 'cancel' | 'terminate' | 'pin' | 'unpin' | 'revoke';

interface ActionTexts {
  readonly title: string;
  readonly verb: string;
  readonly follows?: string;
  readonly danger?: true;
  readonly isReasoned: boolean;
}

const saidOf = ({ definition_version: version }: WorkflowView): Readonly<Record<Action, ActionTexts>> => ({
  pause: {
    ...{ title: 'Pause it?', verb: 'Pause', isReasoned: true },
    follows: 'Steps under way finish, and nothing further starts until it is resumed.',
  },
  resume: {
    ...{ title: 'Resume it?', verb: 'Resume', isReasoned: true },
    follows: 'It continues with the tasks that are ready, and with what arrived meanwhile.',
  },
  cancel: {
    ...{ title: 'Cancel it?', verb: 'Cancel', isReasoned: true, danger: true },
    follows: 'No further task starts. What was done is compensated where that is registered, and it ends.',
  },
  terminate: {
    ...{ title: 'Terminate it?', verb: 'Terminate', isReasoned: true, danger: true },
    follows: 'It ends at once, even while a worker holds it, and nothing is compensated.',
  },
  pin: { title: `Keep it to version ${version}?`, verb: 'Pin', isReasoned: true },
  unpin: { title: 'Let it use newer versions?', verb: 'Unpin', isReasoned: true },
  revoke: {
    ...{ title: 'Revoke its lease?', verb: 'Revoke it', isReasoned: false, danger: true },
    follows: 'Another worker resumes from the last checkpoint. Whatever the present holder still writes is rejected.',
  },
});

export function Actions({ view }: { readonly view: WorkflowView }) {
  const [asked, setAsked] = useState<Action | 'signal' | null>(null);
  const may = useMay();
  const isOpen = may('operate') && ['open', 'parked'].includes(view.status);
  useShortcuts('Actions', isOpen ? [{ keys: 's', what: 'Send a signal', run: () => setAsked('signal') }] : []);
  if (!isOpen) return null;
  const said = saidOf(view);
  const acts: readonly Action[] = [
    ...([view.reason === 'paused' ? 'resume' : 'pause', 'cancel', 'terminate'] as const),
    view.pinned ? 'unpin' : 'pin',
    ...(view.holder === null ? [] : (['revoke'] as const)),
  ];
  return (
    <span className="end">
      <button type="button" onClick={() => setAsked('signal')}>
        Signal
      </button>
      {acts.map((act) => (
        <button
          key={act}
          type="button"
          className={act === 'terminate' ? 'danger' : undefined}
          onClick={() => setAsked(act)}
        >
          {act === 'revoke' ? 'Revoke its lease' : said[act].verb}
        </button>
      ))}
      {asked === null ? null : asked === 'signal' ? (
        <SignalDialog view={view} onClose={() => setAsked(null)} />
      ) : (
        <ActDialog view={view} act={asked} onClose={() => setAsked(null)} />
      )}
    </span>
  );
}

interface Props {
  readonly view: WorkflowView;
  readonly onClose: () => void;
}

function useDone(workflow: string): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ queryKey: ['workflow', workflow] });
}

function SignalDialog({ view, onClose }: Props) {
  const awaited = view.frontier.flatMap(({ blocked_on }) =>
    blocked_on.flatMap((on) => (on.on === 'signal' ? on.names : [])),
  );
  const [name, setName] = useState(awaited[0] ?? '');
  const [value, setValue] = useState('null');
  const signals = useSignals(view);
  const schema = signals?.[name.trim()];
  const done = useDone(view.workflow);
  return (
    <Ask
      title="Send a signal"
      verb="Send"
      missing={name.trim() === '' ? 'It needs a name.' : isJson(value) ? null : 'The value is not JSON.'}
      onDo={async () => {
        await api.run(view.workflow).signal(name.trim(), JSON.parse(value) as unknown);
        done();
      }}
      onClose={onClose}
    >
      <Field
        name="Name"
        value={name}
        onChange={setName}
        mono
        autoFocus={awaited.length === 0}
        hint={[
          awaited.length === 0
            ? 'No task waits for one now; it is kept until one does.'
            : `Waited for: ${awaited.map(plain).join(', ')}`,
          ...(signals === null ? [] : [`Declared: ${Object.keys(signals).map(plain).join(', ') || 'none'}`]),
        ].join(' · ')}
      />
      <Field
        name="Value"
        value={value}
        onChange={setValue}
        lines={4}
        mono
        hint={schema === undefined ? 'JSON, as the definition’s schema has it.' : 'JSON that fits this schema:'}
      />
      {schema === undefined ? null : <pre>{JSON.stringify(schema, null, 2)}</pre>}
    </Ask>
  );
}

/** Signals that it takes, where the server knows its definition; null otherwise. */
function useSignals({ definition, definition_version }: WorkflowView) {
  const known = useQuery({
    queryKey: ['definitions'],
    queryFn: ({ signal }) => api.ask('GET /v1/definitions', {}, { signal }),
  });
  const own = known.data?.definitions.find(
    ({ name, version }) => name === definition && version === definition_version,
  );
  return own?.signals ?? null;
}

function ActDialog({ view, act, onClose }: Props & { readonly act: Action }) {
  const done = useDone(view.workflow);
  const { title, verb, follows, danger, isReasoned } = saidOf(view)[act];
  const perform = async (why: string): Promise<void> => {
    const run = api.run(view.workflow);
    if (act === 'revoke') await run.revoke();
    else if (act === 'pin' || act === 'unpin') await run.pin(act === 'pin', why);
    else await run[act](why);
    done();
  };
  return (
    <Ask
      {...{ title, verb, danger, onClose }}
      why={isReasoned ? 'Kept in the history, with your name.' : undefined}
      onDo={perform}
    >
      {follows === undefined ? null : <p>{follows}</p>}
    </Ask>
  );
}
