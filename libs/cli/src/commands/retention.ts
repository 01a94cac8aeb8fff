/** Owns `tidemark retention`: how long a tenant's archived history is kept, and what is held whatever that says. */

import { EXIT } from '@tidemark/host';
import { UsageError } from '../failures.ts';
import type { Session } from '../session.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { table } from '../text/table.ts';
import { duration } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { atDesk, type MemoryOptions } from './memory-place.ts';

export interface SetRetentionOptions extends MemoryOptions {
  readonly warm?: number | undefined;
  /** Null: for ever. */
  readonly keep?: number | null | undefined;
  readonly default?: boolean | undefined;
}

export interface HoldOptions extends MemoryOptions {
  readonly workflow?: string | undefined;
  readonly by: string;
  readonly why: string;
}

export async function retentionShow(session: Session, options: MemoryOptions): Promise<number> {
  const { policy, holds } = await atDesk(session, options, 'look', (desk, tenant) => desk.memory.retention(tenant));
  const { terminal } = session;
  terminal.document({
    warm_ms: policy?.warmMs ?? null,
    keep_ms: policy?.keepMs ?? null,
    is_own: policy !== null,
    holds,
  });
  terminal.line(
    policy === null
      ? 'No policy of its own: TIDEMARK_WARM and TIDEMARK_KEEP of the compactors decide.'
      : `Warm for ${duration(policy.warmMs)}, ${policy.keepMs === null ? 'kept for ever' : `deleted after ${duration(policy.keepMs)}`}.`,
  );
  if (holds.length === 0) return EXIT.ok;
  const columns = [{ title: 'HOLD' }, { title: 'OF' }, { title: 'BY' }, { title: 'WHY', shrinksTo: 16 }] as const;
  const rows = holds.map(({ id, workflow, by, why }) => [
    printable(id),
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
  const policy = isDefault ? null : { warmMs: warm!, keepMs: keep! };
  await atDesk(session, options, 'write', (desk, tenant) => desk.memory.setRetention(tenant, policy));
  session.terminal.document({ warm_ms: policy?.warmMs ?? null, keep_ms: policy?.keepMs ?? null });
  session.terminal.line('Compactors keep to it from their next pass on.');
  return EXIT.ok;
}

export async function retentionHold(session: Session, id: string, options: HoldOptions): Promise<number> {
  const { by, why } = options;
  const workflow = await atDesk(session, options, 'look', async (desk, tenant) => {
    const held = options.workflow === undefined ? null : (await requireWorkflow(desk, options.workflow)).workflow;
    await desk.memory.hold(tenant, { id, workflow: held, by, why });
    return held;
  });
  session.terminal.document({ hold: id, workflow, by, why });
  const what = workflow === null ? 'Nothing of the tenant' : `Nothing of ${printable(workflow)}`;
  const of = options.tenant === undefined ? '' : ` --tenant ${printable(options.tenant)}`;
  session.terminal.line(`${what} is deleted until tidemark retention release ${printable(id)}${of}.`);
  return EXIT.ok;
}

export async function retentionRelease(session: Session, id: string, options: MemoryOptions): Promise<number> {
  await atDesk(session, options, 'look', (desk, tenant) => desk.memory.release(tenant, id));
  session.terminal.document({ released: id });
  session.terminal.line(`Hold ${printable(id)} is released.`);
  return EXIT.ok;
}
