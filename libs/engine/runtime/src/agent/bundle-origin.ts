/**
 * Owns the way from an origin to a bundle: everything that a model call saw follows from the origin, the workflow's own events, and texts
 * in them. A call made now and one made long ago use the same code, so the bytes are the same (I8). It calls no models, and never writes.
 */

import type { BundleOrigin } from '@tidemark/codec';
import {
  type AssembledBundle,
  assembleBundle,
  type BundlePolicy,
  CorruptError,
  checkPolicy,
  type Fragment,
  type Sequence,
  type Sha256,
  type Tokenizer,
  type WorkflowId,
} from '@tidemark/core';
import type { ContextStore, Digest } from '@tidemark/ports';
import { fragmentIn, type WorkflowContext } from '../history/index.ts';

/** The part of an origin that is known before the bundle is assembled. */
export type Origin = Omit<BundleOrigin, 'messages'>;

export interface BundleSources {
  readonly workflow: WorkflowId;
  readonly context: WorkflowContext;
  readonly reads: Pick<ContextStore, 'fragments' | 'texts' | 'trace' | 'scopes'>;
  readonly tokenizer: Tokenizer;
  readonly digest: Digest;
  /** Returns a text that the origin names. */
  readonly text: (digest: Sha256) => string;
}

export interface PhasedBundle extends AssembledBundle {
  /** The phase that it was assembled in; undefined: the definition has none. */
  readonly phase: string | undefined;
}

/** Assembles the bundle that the origin describes. Throws what `assembleBundle` throws. */
export async function bundleOf(origin: Origin, sources: BundleSources): Promise<PhasedBundle> {
  const { workflow, context, reads, tokenizer, digest, text } = sources;
  const policy = checkPolicy(JSON.parse(text(origin.policy)) as BundlePolicy);
  const [own, trace, scope, ...earlier] = await Promise.all([
    context.fragments(reads, workflow, origin.upTo),
    context.trace(reads, workflow, origin.upTo, policy.traceEntries),
    origin.firstPhase === undefined ? undefined : context.scope(reads, workflow, origin.upTo, origin.firstPhase),
    ...(origin.session ?? []).map((one, at) => earlierRun(reads, one, -at - 1)),
  ]);
  const named = (name: Sha256 | undefined): string | undefined => (name === undefined ? undefined : text(name));
  const assembled = assembleBundle(
    {
      policy,
      fragments: [...earlier.flat(), ...own],
      system: named(origin.system),
      userContext: sections(named(origin.user)),
      continuation: sections(named(origin.continuation)),
      trace,
      workingMemory: scope && { phase: scope.phase, entries: scope.memory },
      phaseSince: scope?.since,
      placeholders: origin.placeholders,
      provider: origin.provider,
    },
    { tokenizer, sha256: (data) => digest.sha256(data) },
  );
  return { ...assembled, phase: scope?.phase };
}

const sections = (text: string | undefined): readonly string[] | undefined =>
  text === undefined ? undefined : (JSON.parse(text) as readonly string[]);

/** Of earlier workflows of the session, a bundle shows what was said and done, but neither goals nor constraints, which were their own. */
const SEEN_LATER: readonly string[] = ['summary', 'user_message', 'agent_message', 'tool_call', 'tool_result'];

export async function earlierRun(
  reads: BundleSources['reads'],
  { workflow, upTo }: { readonly workflow: WorkflowId; readonly upTo: Sequence },
  run: number,
): Promise<readonly Fragment[]> {
  const rows = await reads.fragments(workflow, upTo);
  return rows.filter(({ type }) => SEEN_LATER.includes(type)).map((row) => fragmentIn(run, row));
}

/**
 * Reads the texts that an origin names from the workflow's rows. The returned function throws `CorruptError` (`text-missing`) for one that
 * isn't there.
 */
export const textsOf = (
  { policy, system, user, continuation }: Origin,
  workflow: WorkflowId,
  reads: Pick<ContextStore, 'texts'>,
): Promise<(digest: Sha256) => string> =>
  readTexts(
    reads,
    workflow,
    [policy, system, user, continuation].flatMap((name) => name ?? []),
  );

/**
 * Reads these texts of the workflow by their digests. The returned function throws `CorruptError` (`text-missing`) for one that isn't
 * there.
 */
export async function readTexts(
  reads: Pick<ContextStore, 'texts'>,
  workflow: WorkflowId,
  digests: readonly Sha256[],
): Promise<(digest: Sha256) => string> {
  const found = new Map((await reads.texts(workflow, digests)).map(({ digest, text }) => [digest, text]));
  return (digest) => {
    const text = found.get(digest);
    if (text !== undefined) return text;
    throw new CorruptError(
      'text-missing',
      `Workflow ${workflow}: a text of a model call (${digest.slice(0, 12)}…) is missing. Rebuild the rows from the log.`,
      { workflow, digest },
    );
  };
}
