/** Owns links within the console: real links for the browser, without loading the page again. */

import type { MouseEvent, ReactNode } from 'react';
import { Name } from '../parts/words.tsx';
import { go, workflowAddress } from './router.ts';

export interface LinkProps {
  readonly to: string;
  readonly className?: string | undefined;
  readonly title?: string | undefined;
  readonly current?: boolean | undefined;
  readonly label?: string | undefined;
  readonly children: ReactNode;
}

export function Link({ to, className, title, current = false, label, children }: LinkProps) {
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a
      href={to}
      className={className}
      title={title}
      aria-label={label}
      aria-current={current ? 'page' : undefined}
      onClick={follow}
    >
      {children}
    </a>
  );
}

/** To a workflow, by its id. */
export const WorkflowLink = ({ of, className }: { readonly of: string; readonly className?: string }) => (
  <Link to={workflowAddress(of)} className={className}>
    <Name of={of} />
  </Link>
);
