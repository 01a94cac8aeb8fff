/** Owns the jobs with which the contract of JobQueue is tested. */

import { type Dispatch, lamport, offset, partition, tenantId, workflowId } from '@tidemark/core';
import type { Job, Route } from '@tidemark/ports';

export const job = (
  workflow: string,
  fields: {
    definition?: string;
    version?: number;
    pinned?: boolean;
    build?: string;
    lamport?: number;
    tenant?: string;
    dispatch?: Dispatch;
    trace?: string;
  } = {},
): Job => ({
  workflow: workflowId(workflow),
  tenant: tenantId(fields.tenant ?? 'tenant:a b'),
  definition: fields.definition ?? 'audit:repo é/1',
  version: fields.version ?? 1,
  pinned: fields.pinned ?? false,
  ...(fields.build !== undefined && { build: fields.build }),
  partition: partition(3),
  offset: offset(11),
  lamport: lamport(fields.lamport ?? 7),
  ...(fields.dispatch !== undefined && { dispatch: fields.dispatch }),
  ...(fields.trace !== undefined && { trace: fields.trace }),
});

export const definition = job('x').definition;
/** Routes of these definitions' jobs, unless a test gives others. */
export const routesOf = (...definitions: readonly string[]): readonly Route[] =>
  definitions.map((each) => ({ definition: each, version: 1, pinned: false }));
