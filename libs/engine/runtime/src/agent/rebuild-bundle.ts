/**
 * Owns the rebuilding of what a past model call saw, from rows alone and byte for byte; it says so when the bytes differ from those that
 * were sent (I8). It only reads.
 */

import { type BundleOrigin, decodePayload, type ForkOrigin, type Payloads, type SentPrompt } from '@tidemark/codec';
import {
  type AssembledBundle,
  type BundleMessage,
  CorruptError,
  type EffectKey,
  InvalidError,
  type Json,
  portablePrompt,
  type Sequence,
  type Sha256,
  streamFromJson,
  type TaskId,
  type Tokenizer,
  type WorkflowId,
} from '@tidemark/core';
import type { Digest, EffectRow, ProjectionStore } from '@tidemark/ports';
import type { ModelAnswer } from '../definition/index.ts';
import { originOf, type PageOf, readsOf, WorkflowContext } from '../history/index.ts';
import { digestOf, workflowUnknown } from '../kernel/index.ts';
import { bundleOf, readTexts, textsOf } from './bundle-origin.ts';
import { MODEL_OPERATION } from './model-calls.ts';
import { promptMessages } from './prompt-chain.ts';

export interface RebuiltCall {
  readonly key: EffectKey;
  readonly task: TaskId;
  /** The checkpoint of the call's step; null while the step has not committed. */
  readonly sequence: Sequence | null;
  readonly status: EffectRow['status'];
  readonly provider: string;
  readonly model: string;
  /** Undefined for a call without a bundle. */
  readonly bundle: (AssembledBundle & { readonly origin: BundleOrigin }) | undefined;
  /** Messages that the step itself sent after the bundle, in the form of the model's own library where the call came through that. */
  readonly prompt: readonly Json[];
  /** All that was sent: bundle and prompt, made fit. */
  readonly messages: readonly Json[];
  /** SHA-256 of the messages as they were sent, and as they are rebuilt; unequal when the bytes differ. Null: the model's library sent them. */
  readonly sent: Sha256 | null;
  readonly rebuilt: Sha256 | null;
  /** Null while the call is not resolved. */
  readonly answer: ModelAnswer | null;
}

interface Sources {
  readonly store: Pick<
    ProjectionStore,
    'loadStreams' | 'checkpoints' | 'effects' | 'fragments' | 'texts' | 'trace' | 'scopes'
  >;
  readonly digest: Digest;
  /** The tokenizer with this id; undefined: this process doesn't know it. */
  readonly tokenizerById: (id: string) => Tokenizer | undefined;
}

/** A range of a step's calls, counted from 1. Aborting `signal` stops the work. */
export interface CallRange {
  readonly from: number;
  readonly limit: number;
  readonly signal?: AbortSignal | undefined;
}

export interface RebuiltCalls {
  readonly calls: readonly RebuiltCall[];
  /** Number of the next call; null: there are no more. */
  readonly nextFrom: number | null;
}

/**
 * Model calls of the checkpoint's step, in order of their keys; for the sequence after the newest checkpoint, those of the running steps.
 * Throws `InvalidError` (`workflow-unknown`, `checkpoint-unknown`, `no-model-call`, `tokenizer-unknown`), `CorruptError`.
 */
export async function rebuildCalls(
  sources: Sources,
  workflow: WorkflowId,
  at: Sequence,
  { from, limit, signal }: CallRange = { from: 1, limit: Number.POSITIVE_INFINITY },
): Promise<RebuiltCalls> {
  const { store } = sources;
  const found = await tasksAt(sources, workflow, at);
  const calls: RebuiltCall[] = [];
  const pageOf: PageOf = (of, options) => store.checkpoints(of, options);
  const fork = found.isFork ? await originOf(pageOf, workflow) : undefined;
  let number = 0;
  for (const task of found.tasks) {
    const effects = (await store.effects(workflow, { task })).filter(({ operation }) => operation === MODEL_OPERATION);
    for (const effect of effects.sort(byKey)) {
      signal?.throwIfAborted();
      number += 1;
      if (number < from) continue;
      if (calls.length === limit) return { calls, nextFrom: number };
      calls.push(await rebuilt(sources, effect, found.sequence, fork));
    }
  }
  if (number > 0) return { calls, nextFrom: null };
  const step = found.sequence === null ? 'No step that is under way' : `The step of checkpoint ${at}`;
  const message = `at: ${step} in ${workflow} ${found.sequence === null ? 'has called no' : "hasn't called a"} model.`;
  throw new InvalidError('no-model-call', message, { workflow, sequence: at });
}

async function tasksAt({ store }: Sources, workflow: WorkflowId, at: Sequence) {
  const [snapshot] = await store.loadStreams([workflow], { payloads: false });
  if (snapshot === undefined) throw workflowUnknown(workflow);
  const state = streamFromJson(snapshot.state, snapshot.tasks);
  const newest = state.head.sequence;
  const isFork = state.fork !== undefined;
  if (at === newest + 1) return { tasks: [...state.frontier.tasks].map(({ id }) => id), sequence: null, isFork };
  const [row] = at < 1 || at > newest ? [] : await store.checkpoints(workflow, { from: at, limit: 1 });
  if (row?.task == null) {
    throw new InvalidError(
      'checkpoint-unknown',
      `at: ${workflow} has checkpoints 1 to ${newest}; ${newest + 1} means its steps under way. There is no ${at}.`,
      { workflow, sequence: at, newest },
    );
  }
  return { tasks: [row.task], sequence: at, isFork };
}

/** `…:model:2` before `…:model:10`, and named calls after numbered ones. */
function byKey(a: EffectRow, b: EffectRow): number {
  const ordinal = ({ key }: EffectRow): number => {
    const last = key.slice(key.lastIndexOf(':') + 1);
    return /^\d+$/.test(last) ? Number(last) : Number.POSITIVE_INFINITY;
  };
  const [left, right] = [ordinal(a), ordinal(b)];
  if (left !== right) return left < right ? -1 : 1;
  return a.key < b.key ? -1 : 1;
}

async function rebuilt(
  sources: Sources,
  effect: EffectRow,
  sequence: Sequence | null,
  fork: ForkOrigin | undefined,
): Promise<RebuiltCall> {
  const { store, digest } = sources;
  const { workflow, key, task, status } = effect;
  if (effect.request === null) {
    throw new CorruptError(
      'rows-incomplete',
      `Workflow ${workflow}: the request of model call ${key} is missing. Rebuild the rows from the log.`,
      {
        workflow,
        key,
      },
    );
  }
  const { request, bundle: origin, prompt, sent } = decodePayload('EffectIntended', effect.request);
  const { provider, model } = request as { readonly provider: string; readonly model: string };
  const own = await promptMessages(prompt ?? null, (digests) => readTexts(store, workflow, digests));
  const assembled = origin && (await bundleFor(sources, workflow, origin, fork));
  const all = [...((assembled?.messages ?? []) as unknown as readonly Json[]), ...own];
  const messages = sent === undefined ? all : sentMessages(all, sent);
  return {
    key,
    task,
    sequence,
    status,
    provider,
    model,
    prompt: own,
    bundle: assembled && { ...assembled, origin },
    messages,
    sent: sent?.messages ?? origin?.messages ?? null,
    rebuilt: sent === undefined && assembled === undefined ? null : digestOf(digest, messages),
    answer: status === 'done' ? answerIn(effect) : null,
  };
}

const sentMessages = (messages: readonly Json[], { form, names = {} }: SentPrompt): readonly Json[] =>
  portablePrompt(messages as unknown as readonly BundleMessage[], form, new Map(Object.entries(names)))
    .messages as unknown as readonly Json[];

const answerIn = ({ payload }: EffectRow): ModelAnswer | null => {
  const resolved: Payloads['EffectResolved'] = decodePayload('EffectResolved', payload);
  return 'response' in resolved ? (resolved.response as unknown as ModelAnswer) : null;
};

async function bundleFor(
  { store, digest, tokenizerById }: Sources,
  workflow: WorkflowId,
  origin: BundleOrigin,
  fork: ForkOrigin | undefined,
): Promise<AssembledBundle> {
  const tokenizer = tokenizerById(origin.tokenizer);
  if (tokenizer === undefined) throw tokenizerUnknown(workflow, origin.tokenizer);
  // Everything comes from rows, because nothing was folded here.
  const context = new WorkflowContext(Number.MAX_SAFE_INTEGER as Sequence, digest);
  if (fork !== undefined) context.forkedFrom(fork);
  const reads = readsOf(store, workflow, fork);
  const text = await textsOf(origin, workflow, store);
  return bundleOf(origin, { workflow, context, reads, tokenizer, digest, text });
}

const tokenizerUnknown = (workflow: WorkflowId, tokenizer: string): InvalidError =>
  new InvalidError(
    'tokenizer-unknown',
    `A bundle of ${workflow} was counted by the tokenizer '${tokenizer}', which this process doesn't know. Register it with registerTokenizer, and ask again.`,
    { workflow, tokenizer },
  );
