/** Owns the buttons and dialogs of operations that are declared beside their routes: what follows, the reason, and the request. */

import type { Endpoint } from '@tidemark/client';
import { EDGES } from '@tidemark/client/declared-edges';
import { type Edge, type FormEdge, type Given, holds, inWords, requestOf } from '@tidemark/client/edges';
import { useState } from 'react';
import { api } from '../shell/client.ts';
import { useMay } from '../shell/rights.ts';
import { plain } from '../text/format.ts';
import { Ask } from './dialog.tsx';

interface Props {
  readonly on: FormEdge['on'];
  /** What is shown: forms say by its fields when they fit. */
  readonly view: object;
  /** Of the request. */
  readonly given: Given;
  readonly onDone: () => void;
}

const FORMS = EDGES.flatMap((edge) => (edge.forms ?? []).map((form) => ({ edge, form })));

/** For callers who may operate; others see none. */
export function DeclaredForms({ on, view, given, onDone }: Props) {
  const [asked, setAsked] = useState<{ readonly edge: Edge; readonly form: FormEdge } | null>(null);
  if (!useMay()('operate')) return null;
  const fitting = FORMS.filter(
    ({ form: { on: where, when } }) => where === on && (when === undefined || holds(when, [view as Given])),
  );
  return (
    <>
      {fitting.map((each) => (
        <button
          key={each.form.title}
          type="button"
          className={each.form.isDangerous === true ? 'danger' : undefined}
          onClick={() => setAsked(each)}
        >
          {each.form.verb}
        </button>
      ))}
      {asked === null ? null : (
        <Ask
          title={inWords(asked.form.title, [view as Given], (_, value) => plain(String(value)))}
          verb={asked.form.verb}
          danger={asked.form.isDangerous}
          why={
            asked.edge.fields.some(({ name }) => name === 'why') ? 'Kept in the history, with your name.' : undefined
          }
          onDo={async (why) => {
            const request = requestOf(asked.edge, { ...given, ...asked.form.sends, why });
            // A person repeats it: another holder may have the lease by then.
            await api.ask(asked.edge.endpoint as Endpoint, request as never);
            onDone();
          }}
          onClose={() => setAsked(null)}
        >
          {asked.form.follows === undefined ? null : <p>{asked.form.follows}</p>}
        </Ask>
      )}
    </>
  );
}
