/** Owns what each workflow of a load run must come to, computed from how many steps it was given: no step is run for it. */

import type { Expected, ExpectedAction } from '../../chaos/expected.ts';
import { receiptOf } from '../../chaos/ledger.ts';
import { STEPS_PER_EFFECT } from './limits.ts';

/** Every so many steps an effect, a wire first and a deposit next, for as much as the step's number. */
export function expectedOf(workflow: string, steps: number): Expected {
  const actions: ExpectedAction[] = [];
  let receipts = 0;
  for (let n = STEPS_PER_EFFECT; n <= steps; n += STEPS_PER_EFFECT) {
    const action = `${workflow}/${n}`;
    actions.push({ action, receiver: (n / STEPS_PER_EFFECT) % 2 === 0 ? 'dedupe' : 'probed' });
    receipts += receiptOf(action, n);
  }
  return { end: 'completed', output: { done: steps, receipts }, actions, undone: [] };
}
