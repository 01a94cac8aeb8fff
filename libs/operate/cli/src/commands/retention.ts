/** Owns `tidemark retention`: how long a tenant's archived history is kept, and legal holds, which override that. */

import { EXIT } from '@tidemark/host/exit-codes';
import { UsageError } from '../failures.ts';
import { atPlace, type OfTenant } from '../place/place.ts';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { duration } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface SetRetentionOptions extends OfTenant {
  readonly warm?: number | undefined;
  /** Null: forever. */
  readonly keep?: number | null | undefined;
  readonly default?: boolean | undefined;
}

export interface HoldOptions extends OfTenant {
  readonly workflow?: string | undefined;
  readonly by?: string | undefined;
  readonly why: string;
}

export async function retentionShow(session: Session, options: OfTenant): Promise<number> {
  const answer = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('GET /v1/retention', { query: { tenant: options.tenant } }),
  );
  const { policy, holds } = answer;
  const { terminal } = session;
  terminal.answer(answer);
  terminal.line(
    policy === null
      ? 'No policy of its own: TIDEMARK_WARM and TIDEMARK_KEEP of the compactors decide.'
      : `Warm for ${duration(policy.warm_ms)}, ${policy.keep_ms === null ? 'kept for ever' : `deleted after ${duration(policy.keep_ms)}`}.`,
  );
  if (holds.length === 0) return EXIT.ok;
  const columns = [{ title: 'HOLD' }, { title: 'OF' }, { title: 'BY' }, { title: 'WHY', shrinksTo: 16 }] as const;
  const rows = holds.map(({ hold, workflow, by, why }) => [
    printable(hold),
    workflow === null ? 'all of the tenant' : printable(workflow),
    printable(by),
    printable(why),
  ]);
  terminal.lines(['', ...table(columns, rows, { width: terminal.width })]);
  return EXIT.ok;
}

export async function retentionSet(session: Session, options: SetRetentionOptions): Promise<number> {
  const { warm, keep, default: isDefault = false } = options;
  if (isDefault ? warm !== undefined || keep !== undefined : warm === undefined || keep === undefined) {
    throw new UsageError('give --warm and --keep, or --default alone');
  }
  const policy = isDefault ? null : { warm_ms: warm!, keep_ms: keep! };
  const done = await atPlace(session, { ...options, how: 'write' }, ({ client }) =>
    client.ask('PUT /v1/retention', { query: { tenant: options.tenant }, body: { policy } }, { isRepeatable: true }),
  );
  session.terminal.answer(done);
  session.terminal.line('Compactors keep to it from their next pass on.');
  return EXIT.ok;
}

export async function retentionHold(session: Session, hold: string, options: HoldOptions): Promise<number> {
  const body = { hold, workflow: options.workflow, why: options.why };
  const done = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('POST /v1/retention/holds', { query: { tenant: options.tenant }, body }, { isRepeatable: true }),
  );
  session.terminal.answer(done);
  const { workflow } = done;
  const what = workflow === null ? 'Nothing of the tenant' : `Nothing of ${printable(workflow)}`;
  const of = options.tenant === undefined ? '' : ` --tenant ${printable(options.tenant)}`;
  session.terminal.line(`${what} is deleted until tidemark retention release ${printable(hold)}${of}.`);
  return EXIT.ok;
}

export async function retentionRelease(session: Session, hold: string, options: OfTenant): Promise<number> {
  const input = { params: { hold }, query: { tenant: options.tenant } };
  const done = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('DELETE /v1/retention/holds/{hold}', input),
  );
  session.terminal.answer(done);
  session.terminal.line(`Hold ${printable(hold)} is released.`);
  return EXIT.ok;
}
