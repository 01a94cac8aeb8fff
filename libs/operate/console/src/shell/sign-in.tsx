/** Owns signing in: a key, tried before it is kept, for this tab alone. */

import { type FormEvent, useState } from 'react';
import { Failure } from '../parts/answers.tsx';
import { signIn } from './client.ts';

export function SignIn() {
  const [key, setKey] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await signIn(key.trim());
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <main className="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M2 8.500c2.600-3 4.600-3 7 0s4.600 3 7 0 4.200-2.900 6-1" />
          <path d="M2 15.500c2.600-3 4.600-3 7 0s4.600 3 7 0 4.200-2.900 6-1" opacity=".5" />
        </svg>
        <h1>Sign in to Tidemark</h1>
        <p>This server asks who you are. Give an API key, or a token of your organisation’s issuer.</p>
        <div className="field">
          <label htmlFor="key">API key or token</label>
          <input
            id="key"
            type="password"
            className="mono"
            autoComplete="off"
            autoFocus
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
          <small>Kept until this tab is closed, and sent to this server alone.</small>
        </div>
        {error === null ? null : <Failure error={error} />}
        <button type="submit" className="primary" disabled={key.trim() === '' || isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </main>
  );
}
