/**
 * Owns the names under which a route's jobs lie in Redis, and the form of a job there. Foreign or damaged entries may lie in Redis: reading
 * drops what it doesn't understand, since a job is a hint and the dispatcher sends a lost one again.
 */

import { createHash } from 'node:crypto';
import {
  type Dispatch,
  type Lamport,
  type Offset,
  PARTITION_MAX,
  type Partition,
  PRIORITY_DEFAULT,
  type Priority,
  type TenantId,
  type WorkflowId,
} from '@tidemark/core';
import { type Job, type Route, routeKey } from '@tidemark/ports';

/** Longest name of a definition in Redis keys, in characters; longer ones are cut and distinguished by their digest. */
const QUEUE_NAME_MAX_CHARS = 400;

/**
 * workflow, tenant, partition, offset, lamport; its priority and fair share where a `Dispatch` has them, which scripts read; `traceparent`
 * where traces are on, else null; whether the workflow begins.
 */
type PackedJob = readonly [string, string, number, number, number, (Dispatch | null)?, (string | null)?, true?];

/** Part of Redis keys; BullMQ allows no colon. Different definitions have different names, none longer than the limit. */
export function definitionName(definition: string): string {
  const name = encodeURIComponent(definition.toWellFormed());
  if (name.length <= QUEUE_NAME_MAX_CHARS) return name;
  // No encoded name has a dollar sign.
  const digest = createHash('sha256').update(name).digest('base64url');
  return `${name.slice(0, QUEUE_NAME_MAX_CHARS - digest.length - 1)}$${digest}`;
}

/** The part that distinguishes the routes of one definition: `2`, or `2.pinned`, of one build `2~BUILD`. */
export const routeName = ({ version, pinned, build }: Omit<Route, 'definition'>): string =>
  `${version}${pinned ? '.pinned' : ''}${build === undefined ? '' : `~${encodeURIComponent(build)}`}`;

/** Parses that part; undefined when it is none. */
export function parseRouteName(name: string): Omit<Route, 'definition'> | undefined {
  const [, version, pinned, encoded] = /^(0|[1-9]\d{0,15})(\.pinned)?(?:~([!-~]{1,1000}))?$/.exec(name) ?? [];
  if (version === undefined) return undefined;
  const route = { version: Number(version), pinned: pinned !== undefined };
  if (encoded === undefined) return route;
  try {
    return { ...route, build: decodeURIComponent(encoded) };
  } catch {
    return undefined;
  }
}

/** Each route has a queue. No encoded definition has an at sign, so no two routes share a name. */
export const queueName = (route: Route): string => `${definitionName(route.definition)}@${routeName(route)}`;

/** Keeps one of several equal routes. */
export const distinctRoutes = (routes: readonly Route[]): readonly Route[] => [
  ...new Map(routes.map((route) => [routeKey(route), route])).values(),
];

/** A job's identity among those waiting: a workflow, and its Lamport time. */
export const jobIdentity = (job: Job): string => `${job.lamport} ${job.workflow}`;

export const priorityOf = ({ dispatch }: Job): Priority => dispatch?.priority ?? PRIORITY_DEFAULT;

export function packJob({ workflow, tenant, partition, offset, lamport, dispatch, trace, begins }: Job): string {
  const plain = [workflow, tenant, partition, offset, lamport] as const;
  const packed = (): PackedJob => {
    if (begins === true) return [...plain, dispatch ?? null, trace ?? null, true];
    if (trace !== undefined) return [...plain, dispatch ?? null, trace];
    return dispatch === undefined ? plain : [...plain, dispatch];
  };
  return JSON.stringify(packed());
}

/** Undefined for anything but a job. */
export function unpackJob({ definition, version, pinned, build }: Route, text: string): Job | undefined {
  const value = parsed(text);
  if (!isPackedJob(value)) return undefined;
  const [workflow, tenant, partition, offset, lamport, dispatch, trace, begins] = value;
  return {
    definition,
    version,
    pinned,
    ...(build !== undefined && { build }),
    workflow: workflow as WorkflowId,
    tenant: tenant as TenantId,
    partition: partition as Partition,
    offset: offset as Offset,
    lamport: lamport as Lamport,
    ...(dispatch != null && { dispatch }),
    ...(trace != null && { trace }),
    ...(begins === true && { begins }),
  };
}

/** Undefined for a text that is no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isPackedJob(value: unknown): value is PackedJob {
  if (!Array.isArray(value) || value.length < 5 || value.length > 8) return false;
  const [workflow, tenant, ...rest] = value as unknown[];
  if (typeof workflow !== 'string' || workflow === '' || typeof tenant !== 'string') return false;
  const [dispatch, trace, begins] = rest.splice(3);
  if (dispatch !== undefined && typeof dispatch !== 'object') return false;
  if (begins !== undefined && begins !== true) return false;
  if (trace === undefined && dispatch === null) return false;
  if (trace === null ? begins === undefined : trace !== undefined && typeof trace !== 'string') return false;
  if (Number(value[2]) > PARTITION_MAX) return false;
  return rest.every((number) => Number.isSafeInteger(number) && (number as number) >= 0);
}
