/**
 * Owns `tidemark bundle`: what a past model call saw, rebuilt from the log's rows and held against the digest that was logged before
 * the call; and the comparison of two. Reads only.
 */

import { callJson } from '@tidemark/api/shapes';
import { CorruptError, diffBundles, InvalidError, type Sequence, workflowId } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import { MODEL_OPERATION, type RebuiltCall, rebuildCalls, sha256Digest } from '@tidemark/runtime';
import { tokenizerById } from '@tidemark/tokenizer';
import type { Session } from '../session.ts';
import { atDesk } from '../state/at-desk.ts';
import type { Desk } from '../state/desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { bundleLines, callsLines, diffLines, type ListedCall } from '../views/bundle.ts';

export interface BundleOptions {
  readonly state?: string | undefined;
  /** The checkpoint that the call led to; the one after the newest means steps under way. */
  readonly at?: number | undefined;
  /** Of the model calls of its step, from 1. */
  readonly call?: number | undefined;
  readonly messages?: boolean | undefined;
  readonly items?: boolean | undefined;
}

export interface BundleDiffOptions extends BundleOptions {
  readonly at: number;
  readonly to: number;
  readonly toCall?: number | undefined;
  readonly other?: string | undefined;
}

export function bundle(session: Session, id: string, options: BundleOptions): Promise<number> {
  return atDesk(session, { state: options.state, how: 'look' }, async (desk) => {
    const { terminal } = session;
    const row = await requireWorkflow(desk, id);
    if (options.at === undefined) {
      const calls = await listCalls(desk, id, row.sequence);
      terminal.document({ workflow: id, calls });
      terminal.lines(callsLines(id, calls, terminal));
      return EXIT.ok;
    }
    const call = await findCall(desk, id, options.at, options.call);
    terminal.document(callJson(call));
    terminal.lines(bundleLines(call, options, terminal));
    if (call.sent !== call.rebuilt) throw differs(call);
    return EXIT.ok;
  });
}

export function bundleDiff(session: Session, id: string, options: BundleDiffOptions): Promise<number> {
  return atDesk(session, { state: options.state, how: 'look' }, async (desk) => {
    const other = options.other ?? id;
    const before = await bundleAt(desk, id, options.at, options.call);
    const after = await bundleAt(desk, other, options.to, options.toCall);
    const diff = diffBundles(before, after);
    session.terminal.document(diff);
    session.terminal.lines(diffLines(diff, session.terminal));
    return EXIT.ok;
  });
}

async function findCall(desk: Desk, id: string, at: number, number = 1): Promise<RebuiltCall> {
  const sources = { store: desk.reads, digest: sha256Digest, tokenizerById };
  const calls = await rebuildCalls(sources, workflowId(id), at as Sequence);
  const found = calls[number - 1];
  if (found !== undefined) return found;
  throw new InvalidError(
    'call-unknown',
    `--call ${number}: the step of checkpoint ${at} of ${id} made ${calls.length} model calls, counted from 1.`,
    { workflow: id, call: number, calls: calls.length },
  );
}

async function bundleAt(desk: Desk, id: string, at: number, call: number | undefined) {
  await requireWorkflow(desk, id);
  const found = await findCall(desk, id, at, call);
  if (found.sent !== found.rebuilt) throw differs(found);
  if (found.bundle !== undefined) return found.bundle;
  throw new InvalidError(
    'no-bundle',
    `Model call ${found.key} was made without a bundle: there is nothing to compare.`,
    {
      key: found.key,
    },
  );
}

const differs = ({ key, sent, rebuilt }: RebuiltCall): CorruptError =>
  new CorruptError(
    'bundle-differs',
    `The bundle of ${key} is not what was sent: it was ${sent?.slice(0, 12)}…, and is ${rebuilt?.slice(0, 12)}… now. A tokenizer or the rules of assembly have changed, or rows are damaged; rebuild them from the log.`,
    { key, sent, rebuilt },
  );

/** Pages of the history that are read at once. */
const PAGE_COUNT = 1_000;

async function listCalls(desk: Desk, id: string, newest: Sequence): Promise<readonly ListedCall[]> {
  const workflow = workflowId(id);
  const effects = (await desk.reads.effects(workflow)).filter(({ operation }) => operation === MODEL_OPERATION);
  const sequences = new Map<string, number>();
  for (let from = 1; from <= newest; from += PAGE_COUNT) {
    for (const row of await desk.reads.checkpoints(workflow, { from: from as Sequence, limit: PAGE_COUNT })) {
      if (row.task !== null) sequences.set(row.task, row.sequence);
    }
  }
  const counts = new Map<number, number>();
  return effects.map((effect) => {
    const at = sequences.get(effect.task) ?? newest + 1;
    const call = (counts.get(at) ?? 0) + 1;
    counts.set(at, call);
    return { at, call, effect };
  });
}
