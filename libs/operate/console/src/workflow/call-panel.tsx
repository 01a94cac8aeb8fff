/**
 * Owns a model call for readers: its request, rebuilt byte for byte, with what was kept and what was left out and why; its usage and cost;
 * and its answer.
 */

import { useQuery } from '@tanstack/react-query';
import type { Answer } from '@tidemark/client';
import type { Manifest } from '@tidemark/core';
import { useState } from 'react';
import { Failure, Loading } from '../parts/answers.tsx';
import { Lines } from '../parts/json-tree.tsx';
import { Chip, Fact } from '../parts/words.tsx';
import { api, LIST_PERIOD_MS } from '../shell/client.ts';
import { count, duration, money, plain, words } from '../text/format.ts';
import { ManifestView } from './manifest.tsx';
import { type Message, Messages } from './messages.tsx';

interface Answered {
  readonly text?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly input: unknown }[];
  readonly finishReason?: string;
  readonly latencyMs?: number;
  readonly costMicros?: number | null;
  readonly usage?: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly cachedInputTokens?: number;
    readonly estimatedTokens?: number;
  };
}

const CALLS = 'GET /v1/workflows/{workflow}/at/{sequence}/calls';

interface PanelProps {
  readonly workflow: string;
  readonly effectKey: string;
  /** The checkpoint that its step led to, or the one after the newest. */
  readonly sequence: number;
}

/** Null: the call is not in the history yet. */
async function callOf({ workflow, effectKey, sequence }: PanelProps, signal: AbortSignal) {
  for (let from: number | null = 1; from !== null; ) {
    const page: Answer<typeof CALLS> = await api.ask(
      CALLS,
      { params: { workflow, sequence }, query: { from } },
      { signal },
    );
    const call = page.calls.find(({ key }) => key === effectKey);
    if (call !== undefined) return call;
    from = page.next_from;
  }
  return null;
}

export function CallPanel({ workflow, effectKey, sequence }: PanelProps) {
  const found = useQuery({
    queryKey: ['workflow', workflow, 'calls', sequence, effectKey],
    queryFn: ({ signal }) => callOf({ workflow, effectKey, sequence }, signal),
    staleTime: Number.POSITIVE_INFINITY,
    // It appears once its step has committed.
    refetchInterval: ({ state }) => (state.data == null ? LIST_PERIOD_MS : false),
  });
  if (found.isPending) return <Loading label="Rebuilding what it saw" />;
  if (found.error !== null) return <Failure error={found.error} again={() => void found.refetch()} />;
  const call = found.data;
  if (call === null) return <p className="dim">It is shown once its step has committed.</p>;
  const answer = (call.answer ?? undefined) as Answered | undefined;
  const manifest = call.manifest as unknown as Manifest | null;
  const messages = (call.messages ?? []) as unknown as Message[];
  return (
    <div className="call">
      <dl className="facts">
        <Fact name="Model">{plain(`${call.provider} ${call.model}`)}</Fact>
        <Fact name="Tokens in">{count(answer?.usage?.inputTokens ?? 0)}</Fact>
        <Fact name="Tokens out">{count(answer?.usage?.outputTokens ?? 0)}</Fact>
        {answer?.usage?.estimatedTokens === undefined ? null : (
          <Fact name="Estimated of these">{count(answer.usage.estimatedTokens)}</Fact>
        )}
        {answer?.costMicros === undefined ? null : (
          <Fact name="Cost">{answer.costMicros === null ? 'no price' : money(answer.costMicros)}</Fact>
        )}
        {answer?.latencyMs === undefined ? null : <Fact name="Model took">{duration(answer.latencyMs)}</Fact>}
        {answer?.finishReason === undefined ? null : (
          <Fact name="Finish reason">{plain(words(answer.finishReason))}</Fact>
        )}
      </dl>
      {manifest === null ? null : (
        <p>
          <Chip tone={call.identical ? 'good' : 'bad'}>
            {call.identical ? 'rebuilt, identical to what was sent' : 'differs from what was sent'}
          </Chip>{' '}
          <span className="dim mono">sha256 {call.rebuilt?.slice(0, 16)}…</span>
        </p>
      )}
      <Parts manifest={manifest} messages={messages} answer={answer} />
    </div>
  );
}

function Parts(props: {
  readonly manifest: Manifest | null;
  readonly messages: readonly Message[];
  readonly answer: Answered | undefined;
}) {
  const { manifest, messages, answer } = props;
  const [part, setPart] = useState<'messages' | 'manifest'>('messages');
  return (
    <>
      <fieldset className="states" aria-label="Part of the call">
        <button type="button" aria-pressed={part === 'messages'} onClick={() => setPart('messages')}>
          What it saw and said
        </button>
        {manifest === null ? null : (
          <button type="button" aria-pressed={part === 'manifest'} onClick={() => setPart('manifest')}>
            Kept and trimmed
          </button>
        )}
      </fieldset>
      {part === 'manifest' && manifest !== null ? (
        <ManifestView manifest={manifest} />
      ) : (
        <>
          <Messages messages={messages} />
          {answer === undefined ? null : <AnswerView answer={answer} />}
        </>
      )}
    </>
  );
}

const AnswerView = ({ answer: { text = '', toolCalls = [] } }: { readonly answer: Answered }) => (
  <div className="message" data-role="answer">
    <h3>answer</h3>
    {text === '' ? null : <Lines text={text} />}
    {toolCalls.map(({ name, input }, index) => (
      <code key={index} className="wrap">
        {plain(`${name}(${JSON.stringify(input)})`)}
      </code>
    ))}
  </div>
);
