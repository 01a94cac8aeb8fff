/**
 * Owns the form in which jobs lie in BullMQ. A parcel is one BullMQ job; it carries one or more of ours, all of one
 * definition. A queue holds one definition's parcels. What lies in Redis may be foreign or damaged: reading drops what
 * it doesn't understand, since a job is a hint and the dispatcher makes a lost one again.
 */

import type { Lamport, Offset, Partition, TenantId, WorkflowId } from '@tidemark/core';
import type { Job } from '@tidemark/ports';

/** workflow, tenant, partition, offset, lamport */
type PackedJob = readonly [string, string, number, number, number];

export type ParcelData = readonly PackedJob[];

/** Part of Redis keys; BullMQ allows no colon. Different definitions have different names. */
export const queueName = (definition: string): string => encodeURIComponent(definition.toWellFormed());

/** A job's identity among those waiting: workflow and offset. */
export const jobIdentity = (job: Job): string => `${job.offset} ${job.workflow}`;

export const packJobs = (jobs: readonly Job[]): ParcelData =>
  jobs.map((job) => [job.workflow, job.tenant, job.partition, job.offset, job.lamport]);

export function unpackJobs(definition: string, data: unknown): Job[] {
  if (!Array.isArray(data)) return [];
  return data.filter(isPackedJob).map(([workflow, tenant, partition, offset, lamport]) => ({
    definition,
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
