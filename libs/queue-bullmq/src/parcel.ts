/**
 * Owns the form in which jobs lie in BullMQ. A parcel is one BullMQ job; it carries one or more of ours, all of one
 * route. A queue holds one route's parcels. What lies in Redis may be foreign or damaged: reading drops what
 * it doesn't understand, since a job is a hint and the dispatcher makes a lost one again.
 */

import { createHash } from 'node:crypto';
import type { Lamport, Offset, Partition, TenantId, WorkflowId } from '@tidemark/core';
import type { Job, Route } from '@tidemark/ports';
import { QUEUE_NAME_MAX_CHARS } from './limits.ts';

/** workflow, tenant, partition, offset, lamport */
type PackedJob = readonly [string, string, number, number, number];

export type ParcelData = readonly PackedJob[];

/** Part of Redis keys; BullMQ allows no colon. Different definitions have different names, none longer than the limit. */
export function definitionName(definition: string): string {
  const name = encodeURIComponent(definition.toWellFormed());
  if (name.length <= QUEUE_NAME_MAX_CHARS) return name;
  // No encoded name has a dollar sign.
  const digest = createHash('sha256').update(name).digest('base64url');
  return `${name.slice(0, QUEUE_NAME_MAX_CHARS - digest.length - 1)}$${digest}`;
}

/** What tells the routes of one definition apart: `2`, or `2.pinned`. */
export const routeName = ({ version, pinned }: Omit<Route, 'definition'>): string =>
  `${version}${pinned ? '.pinned' : ''}`;

/** The other way round; undefined for what is none. */
export function parseRouteName(name: string): Omit<Route, 'definition'> | undefined {
  const found = /^(0|[1-9]\d{0,15})(\.pinned)?$/.exec(name);
  return found === null ? undefined : { version: Number(found[1]), pinned: found[2] !== undefined };
}

/** A queue for each route. No encoded definition has an at sign, so that no two routes share a name. */
export const queueName = (route: Route): string => `${definitionName(route.definition)}@${routeName(route)}`;

/** A job's identity among those waiting: workflow and offset. */
export const jobIdentity = (job: Job): string => `${job.offset} ${job.workflow}`;

export const packJobs = (jobs: readonly Job[]): ParcelData =>
  jobs.map((job) => [job.workflow, job.tenant, job.partition, job.offset, job.lamport]);

export function unpackJobs({ definition, version, pinned }: Route, data: unknown): Job[] {
  if (!Array.isArray(data)) return [];
  return data.filter(isPackedJob).map(([workflow, tenant, partition, offset, lamport]) => ({
    definition,
    version,
    pinned,
    workflow: workflow as WorkflowId,
    tenant: tenant as TenantId,
    partition: partition as Partition,
    offset: offset as Offset,
    lamport: lamport as Lamport,
  }));
}

function isPackedJob(value: unknown): value is PackedJob {
  if (!Array.isArray(value) || value.length !== 5) return false;
  const [workflow, tenant, ...numbers] = value as unknown[];
  if (typeof workflow !== 'string' || workflow === '' || typeof tenant !== 'string') return false;
  return numbers.every((number) => Number.isSafeInteger(number) && (number as number) >= 0);
}
