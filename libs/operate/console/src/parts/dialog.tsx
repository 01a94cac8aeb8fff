/** Owns the confirmation before an action: a dialog that says what will happen, takes the input, and shows why it failed. */

import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { noteRefusal } from '../shell/client.ts';
import { Failure } from './answers.tsx';

export interface AskProps {
  readonly title: string;
  readonly children?: ReactNode;
  /** Label of the button. */
  readonly verb: string;
  readonly danger?: boolean | undefined;
  /** Null: the input is complete; a text: what is missing. */
  readonly missing?: string | null | undefined;
  /** Asks for a reason, with this hint. */
  readonly why?: string | undefined;
  readonly onDo: (why: string) => Promise<unknown>;
  readonly onClose: () => void;
}

export function Ask({ title, children, verb, danger = false, missing: other = null, why, onDo, onClose }: AskProps) {
  const box = useRef<HTMLDialogElement>(null);
  const name = useId();
  const [reason, setReason] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const missing = other ?? (why !== undefined && reason.trim() === '' ? 'Say why.' : null);
  useEffect(() => {
    const { current } = box;
    current?.showModal();
    return () => current?.close();
  }, []);
  const act = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await onDo(reason);
      onClose();
    } catch (failed) {
      noteRefusal(failed);
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  return (
    <dialog ref={box} aria-labelledby={name} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (missing === null && !isBusy) void act();
        }}
      >
        <h2 id={name}>{title}</h2>
        {children}
        {why === undefined ? null : <Field name="Why" value={reason} onChange={setReason} hint={why} autoFocus />}
        {error === null ? null : <Failure error={error} />}
        <footer>
          {missing === null ? null : <span className="dim">{missing}</span>}
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" className={danger ? 'danger' : 'primary'} disabled={missing !== null || isBusy}>
            {isBusy ? 'Sending…' : verb}
          </button>
        </footer>
      </form>
    </dialog>
  );
}

/** A text field with its name. */
export function Field(props: {
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: string | undefined;
  readonly lines?: number | undefined;
  readonly mono?: boolean | undefined;
  readonly autoFocus?: boolean | undefined;
}) {
  const { name, value, onChange, hint, lines = 1, mono = false, autoFocus = false } = props;
  const id = useId();
  const common = {
    id,
    value,
    autoFocus,
    className: mono ? 'mono' : undefined,
    spellCheck: false,
    autoComplete: 'off',
    'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
  } as const;
  return (
    <div className="field">
      <label htmlFor={id}>{name}</label>
      {lines === 1 ? (
        <input {...common} onChange={(event) => onChange(event.target.value)} />
      ) : (
        <textarea {...common} rows={lines} onChange={(event) => onChange(event.target.value)} />
      )}
      {hint === undefined ? null : <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}

/** Whether typed text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
