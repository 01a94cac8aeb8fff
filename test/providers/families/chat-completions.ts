/** Owns the form of chat completions, which several providers share: answers, streams, and who answers which tool call. */

import { event, type Fields, halvesOf, listOf, type Said, textOf, wordsOf } from '../judge.ts';

const NAMED = { id: 'chatcmpl-1', created: 1_760_000_000 };

export interface ChatForm {
  readonly model: string;
  /** What `finish_reason` says where the provider declines; `refusal` in a member of its own where it has one. */
  readonly endOf: (said: Said) => string;
  readonly hasRefusal: boolean;
  /** A call comes in one piece, and the usage with the last one. */
  readonly isCallWhole?: boolean;
}

const usageOf = ({ isUsageAbsent }: Said): object =>
  isUsageAbsent === true ? {} : { usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } };

const callOf = ({ id, name, input }: { id: string; name: string; input: string }) => ({
  id,
  type: 'function',
  function: { name, arguments: input },
});

export function wholeChat({ model, endOf, hasRefusal }: ChatForm, said: Said): object {
  const { reasoning, text, toolCalls = [], end } = said;
  const isRefusal = hasRefusal && end === 'refusal';
  const message = {
    role: 'assistant',
    content: isRefusal ? null : (text ?? null),
    ...(isRefusal && { refusal: text }),
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(callOf) }),
  };
  const choices = [{ index: 0, message, finish_reason: endOf(said) }];
  return { ...NAMED, object: 'chat.completion', model, choices, ...usageOf(said) };
}

export function chatStream({ model, endOf, hasRefusal, isCallWhole = false }: ChatForm, said: Said) {
  const { reasoning = '', text = '', toolCalls = [], end } = said;
  const member = hasRefusal && end === 'refusal' ? 'refusal' : 'content';
  const piece = (delta: object, finish: string | null = null, more: object = {}): string =>
    event({
      ...NAMED,
      object: 'chat.completion.chunk',
      model,
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...more,
    });
  const spoken = [
    piece({ role: 'assistant', content: '' }),
    ...wordsOf(reasoning).map((word) => piece({ reasoning_content: word })),
    ...wordsOf(text).map((word) => piece({ [member]: word })),
  ];
  const called = toolCalls.flatMap((call, index) => {
    if (isCallWhole) return [piece({ tool_calls: [{ index, ...callOf(call) }] })];
    const [first, second] = halvesOf(call.input);
    return [
      piece({ tool_calls: [{ index, ...callOf({ ...call, input: first }) }] }),
      piece({ tool_calls: [{ index, function: { arguments: second } }] }),
    ];
  });
  const last = isCallWhole
    ? [piece({ content: '' }, endOf(said), usageOf(said))]
    : [
        piece({}, endOf(said)),
        ...(said.isUsageAbsent === true ? [] : [event({ ...NAMED, model, choices: [], ...usageOf(said) })]),
      ];
  return { frames: [...spoken, ...called, ...last, event('[DONE]')], cutAt: spoken.length + (isCallWhole ? 0 : 1) };
}

/** A tool call of a message of the assistant, and whether the messages that follow answer exactly its calls. */
export interface Round {
  readonly at: string;
  readonly ids: readonly string[];
  readonly names: readonly string[];
  readonly inputs: readonly string[];
  readonly answered: readonly string[];
}

/** The rounds of calls and answers, and the places of answers that follow no call. */
export function roundsOf(messages: readonly Fields[]): {
  readonly rounds: readonly Round[];
  readonly stray: readonly string[];
} {
  const rounds: Round[] = [];
  const stray: string[] = [];
  let open: string[] | undefined;
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`;
    if (message.role === 'tool') {
      const id = textOf(message.tool_call_id);
      if (open === undefined) stray.push(at);
      else open.push(id);
      continue;
    }
    open = undefined;
    const calls = listOf(message.tool_calls);
    if (calls.length === 0) continue;
    open = [];
    rounds.push({
      at,
      ids: calls.map(({ id }) => textOf(id)),
      names: calls.map(({ function: called }) => textOf((called as Fields | undefined)?.name)),
      inputs: calls.map(({ function: called }) => textOf((called as Fields | undefined)?.arguments)),
      answered: open,
    });
  }
  return { rounds, stray };
}

/** Whether each call has exactly one answer, in the messages right after it. */
export const isAnswered = ({ ids, answered }: Round): boolean =>
  ids.length === answered.length && [...ids].sort().join('\n') === [...answered].sort().join('\n');

/** Names of the tools of a request. */
export const toolsOf = (body: Fields): readonly Fields[] =>
  listOf(body.tools).map(({ function: declared }) => (declared ?? {}) as Fields);
