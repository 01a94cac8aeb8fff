/** Owns the view of a schedule that several parts share: its type, whether it is over, its state. */

import type { Answer } from '@tidemark/client';
import { State } from '../parts/words.tsx';

export type Schedule = Answer<'GET /v1/schedules'>['schedules'][number];

export const isOver = ({ status }: Pick<Schedule, 'status'>): boolean => status !== 'open' && status !== 'parked';

/** Its state: a schedule that waits for its slot is `on`. */
export function Standing({ of }: { readonly of: Schedule }) {
  const { status, reason } = of;
  if (status === 'open' && reason === 'paused') return <State of="waiting" says="Paused" />;
  if (status === 'open') return <State of="completed" says="On" />;
  return isOver(of) ? <State of="ready" says="Ended" reason={reason} /> : <State of={status} reason={reason} />;
}
