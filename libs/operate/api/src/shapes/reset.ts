/** Owns who makes a reset, and how its outcome is reported. */

import { AccessError } from '@tidemark/core';
import { mayDo, type Principal } from '@tidemark/ports';
import type { ResetOptions } from '@tidemark/runtime';
import type { Backend } from '../backend.ts';

export const resetBy = (
  principal: Principal,
  { definitions }: Backend,
): Pick<ResetOptions, 'by' | 'admit' | 'definitions'> => ({
  by: principal.subject,
  definitions,
  admit: mayDo(principal, 'decide') ? undefined : refuseUndecided,
});

function refuseUndecided(why: string): never {
  throw new AccessError(
    'right-missing',
    `This reset goes on from what people were asked about, which needs the right 'decide': ${why}. Let somebody with that right do it.`,
  );
}

export const resetJson = ({
  at,
  callCount,
  calls,
  children,
  ...done
}: Awaited<ReturnType<Backend['client']['reset']>>) => ({
  ...{ workflow: done.workflow, run: done.run, sequence_number: at, created: done.created, undo: done.undo },
  calls: calls.map(({ key, ...call }) => ({ idempotency_key: key, ...call })),
  call_count: callCount,
  children: [...children],
});
