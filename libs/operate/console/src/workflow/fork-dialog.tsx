/** Owns choosing from where and how a run is forked. */

import { useState } from 'react';
import { Ask, Field } from '../parts/dialog.tsx';
import { api } from '../shell/client.ts';
import { go, workflowAddress } from '../shell/router.ts';
import type { WorkflowView } from './workflow-view.ts';

export function ForkDialog(props: { readonly view: WorkflowView; readonly at: number; readonly onClose: () => void }) {
  const { view, onClose } = props;
  const [at, setAt] = useState(String(props.at));
  const [effects, setEffects] = useState<'replay' | 'live'>('replay');
  const [id, setId] = useState('');
  const sequence = Number(at);
  const isFine = /^\d+$/.test(at) && sequence <= view.sequence_number;
  const fork = async (): Promise<void> => {
    const forked = await api.ask('POST /v1/workflows/{workflow}/forks', {
      params: { workflow: view.workflow },
      body: { at: sequence, effects, ...(id.trim() !== '' && { id: id.trim() }) },
    });
    go(workflowAddress(forked.workflow));
  };
  return (
    <Ask
      title="Fork this run"
      verb="Fork"
      missing={isFine ? null : `There are checkpoints 0 to ${view.sequence_number}.`}
      onDo={fork}
      onClose={onClose}
    >
      <Field name="After checkpoint" value={at} onChange={setAt} hint="0 is the opening." />
      <fieldset className="choice">
        <legend>Its effects</legend>
        <label>
          <input type="radio" name="effects" checked={effects === 'replay'} onChange={() => setEffects('replay')} />{' '}
          answered by what was recorded; nothing is called
        </label>
        <label>
          <input type="radio" name="effects" checked={effects === 'live'} onChange={() => setEffects('live')} /> called,
          under keys of their own
        </label>
      </fieldset>
      <Field name="Id" value={id} onChange={setId} mono hint="If it is empty, one is made." />
    </Ask>
  );
}
