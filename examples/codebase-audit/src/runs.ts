// Owns which run of the workflow a command means. Runs of one tree into one report folder are numbered: the newest is the one to
// go on with, or to answer with; another is begun only when that one is over. Two processes that begin at the same moment name
// the same run.

import { createHash } from 'node:crypto';
import type { Host } from '@tidemark/host';
import { type AuditInput, type AuditResult, auditResultSchema } from './workflow.ts';
import { isInPlace } from './write-report.ts';

type Client = Host['client'];
type Newest = { id: string; number: number; status: string; reason: string | null };

export type Choice =
  /** `why`: what is wrong with the run before; null when there is none. `superseded`: it is under way, and is to end. */
  | { what: 'begin'; id: string; why: string | null; superseded: string | null }
  | { what: 'go-on'; id: string }
  | { what: 'answer'; id: string; result: AuditResult };

/** What to do for this input, by the newest run of its tree. */
export async function chooseRun(client: Client, input: AuditInput, fresh: boolean): Promise<Choice> {
  const newest = await newestRun(client, input);
  if (newest === undefined) return { what: 'begin', id: runId(input, 1), why: null, superseded: null };
  const { id, number, status, reason } = newest;
  const begin = (why: string): Choice => {
    return { what: 'begin', id: runId(input, number + 1), why, superseded: status === 'open' ? id : null };
  };
  if (fresh) return begin('--fresh');
  if (status === 'open') return { what: 'go-on', id };
  if (status !== 'completed') return begin(`run ${id} ended without a report (${reason ?? status})`);
  const result = auditResultSchema.safeParse(await client.run(id).result());
  if (!result.success) return begin(`run ${id} was made by another version`);
  if (result.data.fingerprint !== input.fingerprint) return begin(`the tree has changed since run ${id}`);
  if (!(await isInPlace(input.out, result.data.report)))
    return begin(`the report of run ${id} is no longer as it was written`);
  return { what: 'answer', id, result: result.data };
}

async function newestRun(client: Client, input: AuditInput): Promise<Newest | undefined> {
  let newest: Newest | undefined;
  for (let number = 1; ; number++) {
    const id = runId(input, number);
    const summary = await client.run(id).summary();
    if (summary === undefined) return newest;
    newest = { id, number, status: summary.status, reason: summary.reason };
  }
}

/** Letters and digits of the folder's name for people, a digest of where it and the report lie, and the number. */
function runId({ root, out, label }: AuditInput, number: number): string {
  const name =
    label
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 24) || 'tree';
  const place = createHash('sha256')
    .update(JSON.stringify([root, out]))
    .digest('hex')
    .slice(0, 10);
  return `audit-${name}-${place}-${number}`;
}
