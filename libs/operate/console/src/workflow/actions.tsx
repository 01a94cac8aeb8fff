/** Owns the actions on a workflow from its page, each after a confirmation that says what follows. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Ask, Field } from '../parts/dialog.tsx';
import { api } from '../shell/client.ts';
import { useMay } from '../shell/rights.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { plain } from '../text/format.ts';
import type { WorkflowView } from './workflow-view.ts';

type Life = 'pause' | 'resume' | 'cancel' | 'terminate';
type Action = 'signal' | 'pin' | 'revoke' | Life;

const LIFE: Readonly<Record<Life, { readonly title: string; readonly follows: string; readonly danger?: true }>> = {
  pause: { title: 'Pause it?', follows: 'Steps under way finish, and nothing further starts until it is resumed.' },
  resume: { title: 'Resume it?', follows: 'It goes on with whatever is ready, and what came meanwhile.' },
  cancel: {
    title: 'Cancel it?',
    follows: 'No further task starts. What was done is compensated where that is registered, and it ends.',
    danger: true,
  },
  terminate: {
    title: 'Terminate it?',
    follows: 'It ends at once, whoever holds it, and nothing is compensated.',
    danger: true,
  },
};

export function Actions({ view }: { readonly view: WorkflowView }) {
  const [asked, setAsked] = useState<Action | null>(null);
  const may = useMay();
  const isOpen = may('operate') && ['open', 'parked'].includes(view.status);
  const isPaused = view.reason === 'paused';
  const close = (): void => setAsked(null);
  useShortcuts('Actions', isOpen ? [{ keys: 's', what: 'Send a signal', run: () => setAsked('signal') }] : []);
  if (!isOpen) return null;
  return (
    <span className="end">
      <button type="button" onClick={() => setAsked('signal')}>
        Signal
      </button>
      <button type="button" onClick={() => setAsked(isPaused ? 'resume' : 'pause')}>
        {isPaused ? 'Resume' : 'Pause'}
      </button>
      <button type="button" onClick={() => setAsked('cancel')}>
        Cancel
      </button>
      <button type="button" className="danger" onClick={() => setAsked('terminate')}>
        Terminate
      </button>
      <button type="button" onClick={() => setAsked('pin')}>
        {view.pinned ? 'Unpin' : 'Pin'}
      </button>
      {view.holder === null ? null : (
        <button type="button" onClick={() => setAsked('revoke')}>
          Take its lease
        </button>
      )}
      {asked === 'signal' ? <SignalDialog view={view} onClose={close} /> : null}
      {asked === 'pin' ? <PinDialog view={view} onClose={close} /> : null}
      {asked !== null && asked in LIFE ? <LifeDialog view={view} act={asked as Life} onClose={close} /> : null}
      {asked === 'revoke' ? <RevokeDialog view={view} onClose={close} /> : null}
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
  const isJson = (() => {
    try {
      JSON.parse(value);
      return true;
    } catch {
      return false;
    }
  })();
  return (
    <Ask
      title="Send a signal"
      verb="Send"
      missing={name.trim() === '' ? 'It needs a name.' : isJson ? null : 'The value is no JSON.'}
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

function LifeDialog({ view, act, onClose }: Props & { readonly act: Life }) {
  const [why, setWhy] = useState('');
  const done = useDone(view.workflow);
  const { title, follows, danger } = LIFE[act];
  return (
    <Ask
      title={title}
      verb={`${act[0]!.toUpperCase()}${act.slice(1)}`}
      danger={danger}
      missing={why.trim() === '' ? 'Say why.' : null}
      onDo={async () => {
        const asked = { params: { workflow: view.workflow }, body: { why } };
        await api.ask(`POST /v1/workflows/{workflow}/${act}`, asked);
        done();
      }}
      onClose={onClose}
    >
      <p>{follows}</p>
      <Field name="Why" value={why} onChange={setWhy} hint="Kept in the history, with your name." autoFocus />
    </Ask>
  );
}

function PinDialog({ view, onClose }: Props) {
  const [why, setWhy] = useState('');
  const done = useDone(view.workflow);
  const pins = !view.pinned;
  return (
    <Ask
      title={pins ? `Keep it to version ${view.definition_version}?` : 'Let it go on with newer versions?'}
      verb={pins ? 'Pin' : 'Unpin'}
      missing={why.trim() === '' ? 'Say why.' : null}
      onDo={async () => {
        await api.run(view.workflow).pin(pins, why);
        done();
      }}
      onClose={onClose}
    >
      <Field name="Why" value={why} onChange={setWhy} autoFocus />
    </Ask>
  );
}

function RevokeDialog({ view, onClose }: Props) {
  const done = useDone(view.workflow);
  return (
    <Ask
      title="Take its lease?"
      verb="Take it"
      danger
      onDo={async () => {
        await api.run(view.workflow).revoke();
        done();
      }}
      onClose={onClose}
    >
      <p>Another worker goes on from the last checkpoint. The one that has it now can do nothing more that counts.</p>
    </Ask>
  );
}
