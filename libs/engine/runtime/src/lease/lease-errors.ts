/** Owns how it is told that a lease is lost, or that its stream can't be followed any further. */

import { FencedError, type StreamState } from '@tidemark/core';

export const streamUnreadable = (workflow: string, type: string, what: string): FencedError =>
  new FencedError('stream-unreadable', `Workflow ${workflow} holds a ${type} ${what}.`, { workflow });

export const leaseLost = (
  { workflow, epoch }: Pick<StreamState, 'workflow' | 'epoch'>,
  why: string,
  reason = 'revoked',
): FencedError =>
  new FencedError(
    'lease-lost',
    `The lease of epoch ${epoch} on workflow ${workflow} is lost: ${why}. Another worker goes on.`,
    { workflow, epoch, reason },
  );
