/** Owns what is shown in place of an answer: while it loads, where it failed, where it is empty. */

import type { ReactNode } from 'react';
import { codeOf, messageOf } from '../shell/client.ts';
import { Link } from '../shell/link.tsx';
import { plain } from '../text/format.ts';

/** A remedy, where the problem itself names none. */
const REMEDIES: Readonly<Record<string, string>> = {
  unreachable: 'Lists are loaded again by themselves.',
  'right-missing': 'Somebody with the role for it can show you, or give it to your key.',
  'workflow-unknown': 'It may be another tenant’s, or have been deleted.',
};

export function Failure({ error, again }: { readonly error: unknown; readonly again?: (() => void) | undefined }) {
  const code = codeOf(error);
  return (
    <div className="failure" role="alert">
      <strong>{plain(messageOf(error))}</strong>
      <code>{plain(code)}</code>
      {REMEDIES[code] === undefined ? null : <span className="dim">{REMEDIES[code]}</span>}
      {code === 'workflow-unknown' ? (
        <Link to="/workflows" className="body-link">
          All workflows
        </Link>
      ) : null}
      {again === undefined ? null : (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <svg viewBox="0 0 120 40" aria-hidden="true">
        <path d="M4 16c12-12 22-12 34 0s22 12 34 0 22-12 34 0" />
        <path d="M14 28c12-12 22-12 34 0s22 12 34 0 20-11 30-3" />
      </svg>
      <strong>{title}</strong>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  );
}

export function Loading({ label = 'Loading' }: { readonly label?: string }) {
  return (
    <div className="loading" role="status">
      <span aria-hidden="true" />
      <span className="unseen">{label}</span>
    </div>
  );
}

interface QueryState<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isPending: boolean;
  refetch(): unknown;
}

/** The previous answer stays during a refresh; a failure is then shown beside it. */
export function Answer<T>({
  query,
  children,
}: {
  readonly query: QueryState<T>;
  readonly children: (data: T) => ReactNode;
}) {
  const { data, error, isPending, refetch } = query;
  if (data !== undefined) return <>{children(data)}</>;
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  return isPending ? <Loading /> : null;
}
