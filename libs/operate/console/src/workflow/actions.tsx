/** Owns the actions on a workflow from its page, each after a confirmation that says what follows. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { DeclaredForms } from '../parts/declared-forms.tsx';
import { Ask, Field, isJson } from '../parts/dialog.tsx';
import { useAsk } from '../shell/ask.ts';
import { api } from '../shell/client.ts';
import { useMay } from '../shell/rights.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { plain } from '../text/format.ts';
import type { WorkflowView } from './workflow-view.ts';

export function Actions({ view }: { readonly view: WorkflowView }) {
  const [isAsked, setAsked] = useState(false);
  const may = useMay();
  const done = useDone(view.workflow);
  const isOpen = may('operate') && ['open', 'parked'].includes(view.status);
  useShortcuts('Actions', isOpen ? [{ keys: 's', what: 'Send a signal', run: () => setAsked(true) }] : []);
  if (!isOpen) return null;
  return (
    <span className="end">
      <button type="button" onClick={() => setAsked(true)}>
        Signal
      </button>
      <DeclaredForms
        on="workflow"
        view={{ ...view, is_paused: ['paused', 'undoing'].includes(view.reason ?? '') }}
        given={{ workflow: view.workflow }}
        onDone={done}
      />
      {isAsked ? <SignalDialog view={view} onClose={() => setAsked(false)} /> : null}
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
  const known = useAsk(['definitions'], 'GET /v1/definitions', {});
  const own = known.data?.definitions.find(
    ({ name, version }) => name === definition && version === definition_version,
  );
  return own?.signals ?? null;
}
