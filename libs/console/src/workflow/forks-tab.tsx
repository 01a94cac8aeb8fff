/** Owns where this run came from, and comparing it with another. */

import type { WorkflowView } from './page.tsx';

export function ForksTab({ view }: { readonly view: WorkflowView; readonly query: URLSearchParams }) {
  return <p className="dim">Checkpoints 0 to {view.sequence_number} can be forked from.</p>;
}
