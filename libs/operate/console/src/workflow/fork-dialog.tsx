/** Owns choosing from where and how a run is forked, or reset. */

import { useState } from 'react';
import { Ask, Field } from '../parts/dialog.tsx';
import { api } from '../shell/client.ts';
import { go, workflowAddress } from '../shell/router.ts';
import type { WorkflowView } from './workflow-view.ts';

type Effects = 'replay' | 'live' | 'keep' | 'undo' | 'ask';

const FORKS: readonly (readonly [Effects, string])[] = [
  ['replay', 'answered by what was recorded; nothing is called'],
  ['live', 'called, under keys of their own'],
];
const RESETS: readonly (readonly [Effects, string])[] = [
  ['keep', 'kept: the same calls get what was recorded'],
  ['undo', 'compensated first, then called again'],
  ['ask', 'asked about before they are called again'],
];

export function ForkDialog(props: { readonly view: WorkflowView; readonly at: number; readonly onClose: () => void }) {
  const { view, onClose } = props;
  const [at, setAt] = useState(String(props.at));
  const [effects, setEffects] = useState<Effects>('replay');
  const [id, setId] = useState('');
  const sequence = Number(at);
  const isFine = /^\d+$/.test(at) && sequence <= view.sequence_number;
  const isReset = effects !== 'replay' && effects !== 'live';
  const reset = async (why: string): Promise<void> => {
    const params = { workflow: view.workflow };
    const body = { at: sequence, effects: effects as 'keep' | 'undo' | 'ask', why };
    go(workflowAddress((await api.ask('POST /v1/workflows/{workflow}/reset', { params, body })).run));
  };
  const fork = async (): Promise<void> => {
    const forked = await api.ask('POST /v1/workflows/{workflow}/forks', {
      params: { workflow: view.workflow },
      body: { at: sequence, effects: effects as 'replay' | 'live', ...(id.trim() !== '' && { id: id.trim() }) },
    });
    go(workflowAddress(forked.workflow));
  };
  return (
    <Ask
      title="Fork or reset this run"
      verb={isReset ? 'Reset' : 'Fork'}
      danger={isReset ? true : undefined}
      why={isReset ? 'Kept in the history, with your name.' : undefined}
      missing={isFine ? null : `There are checkpoints 0 to ${view.sequence_number}.`}
      onDo={isReset ? reset : fork}
      onClose={onClose}
    >
      <Field name="After checkpoint" value={at} onChange={setAt} hint="0 is the opening." />
      <Choice legend="A fork beside it: its effects are" of={FORKS} chosen={effects} onChoose={setEffects} />
      <Choice
        legend="A reset, so that its id goes on to answer: later effects are"
        of={RESETS}
        chosen={effects}
        onChoose={setEffects}
      />
      {isReset ? null : <Field name="Id" value={id} onChange={setId} mono hint="If it is empty, one is made." />}
    </Ask>
  );
}

function Choice(props: {
  readonly legend: string;
  readonly of: readonly (readonly [Effects, string])[];
  readonly chosen: Effects;
  readonly onChoose: (effects: Effects) => void;
}) {
  return (
    <fieldset className="choice">
      <legend>{props.legend}</legend>
      {props.of.map(([effects, words]) => (
        <label key={effects}>
          <input
            type="radio"
            name="effects"
            checked={props.chosen === effects}
            onChange={() => props.onChoose(effects)}
          />{' '}
          {words}
        </label>
      ))}
    </fieldset>
  );
}
