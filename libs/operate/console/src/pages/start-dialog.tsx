/** Owns starting a workflow by hand: which definition, its input, its id. The server checks the input. */

import { useState } from 'react';
import { Ask, Field, isJson } from '../parts/dialog.tsx';
import { useAsk } from '../shell/ask.ts';
import { api } from '../shell/client.ts';
import { go, workflowAddress } from '../shell/router.ts';

export function StartDialog({ onClose }: { readonly onClose: () => void }) {
  const known = useAsk(['definitions'], 'GET /v1/definitions', {});
  const names = [...new Set(known.data?.definitions.map(({ name }) => name))].sort();
  const [chosen, setChosen] = useState('');
  const [input, setInput] = useState('{}');
  const [id, setId] = useState('');
  const definition = chosen === '' ? (names[0] ?? '') : chosen;
  const start = async (): Promise<void> => {
    const run = await api.start(definition, JSON.parse(input) as unknown, id.trim() === '' ? {} : { id: id.trim() });
    go(workflowAddress(run.id));
  };
  return (
    <Ask title="Start a workflow" verb="Start" missing={missing(definition, input)} onDo={start} onClose={onClose}>
      <div className="field">
        <label htmlFor="definition">Definition</label>
        <select id="definition" value={definition} onChange={(event) => setChosen(event.target.value)}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
      <Field
        name="Input"
        value={input}
        onChange={setInput}
        lines={7}
        mono
        hint="JSON, as the definition’s schema has it."
      />
      <Field
        name="Id"
        value={id}
        onChange={setId}
        mono
        hint="The same id answers the same run. If it is empty, one is made."
      />
    </Ask>
  );
}

function missing(definition: string, input: string): string | null {
  if (definition === '') return 'No definition is loaded here.';
  return isJson(input) ? null : 'The input is not JSON.';
}
