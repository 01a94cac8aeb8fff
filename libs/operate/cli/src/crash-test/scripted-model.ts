/**
 * Owns a model of OpenAI's two APIs (chat completions and responses, whole or streamed) whose answers a script has. Which answer a request
 * gets follows from the request alone, by how many its conversation has already, so it is the same for a process that was started again. Pure.
 */

import type { Json } from '@tidemark/core';

export interface ScriptedAnswer {
  readonly text?: string;
  readonly calls: readonly { readonly name: string; readonly arguments?: Json }[];
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface Message {
  readonly role?: unknown;
  readonly type?: unknown;
}

interface ModelRequest {
  readonly model?: unknown;
  readonly stream?: unknown;
  readonly messages?: unknown;
  readonly input?: unknown;
  readonly previous_response_id?: unknown;
}

/** Undefined: the path is none of a model's. */
export function modelAnswer(script: readonly ScriptedAnswer[], path: string, body: Buffer): Answer | undefined {
  const isChat = path.endsWith('/chat/completions');
  if (!isChat && !path.endsWith('/responses')) return undefined;
  const request = requestIn(body);
  if (request === undefined) return refused('The body is no JSON object.');
  const given = isChat ? chatAnswerCount(request) : responseCount(request);
  const answer = script[given];
  if (answer === undefined) return refused(`The script has ${script.length} answers, and this asks for the next one.`);
  const whole = isChat ? completion(request, given, answer) : response(request, given, answer);
  if (request.stream !== true)
    return { status: 200, headers: { 'content-type': 'application/json' }, text: json(whole) };
  const events = isChat ? completionEvents(whole) : responseEvents(whole);
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, text: events.join('') };
}

const json = (value: unknown): string => JSON.stringify(value);
const refused = (message: string): Answer => ({
  status: 400,
  headers: { 'content-type': 'application/json' },
  text: json({ error: { message: `crash-test: ${message}`, type: 'invalid_request_error', param: null, code: null } }),
});

function requestIn(body: Buffer): ModelRequest | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const messagesIn = (value: unknown): readonly (Message | null)[] => (Array.isArray(value) ? value : []);

const chatAnswerCount = ({ messages }: ModelRequest): number =>
  messagesIn(messages).filter((message) => message?.role === 'assistant').length;

/** An answer is several items, one after the other. */
function responseCount({ input, previous_response_id: previous }: ModelRequest): number {
  const after = typeof previous === 'string' ? Number(/^resp_(\d+)$/.exec(previous)?.[1] ?? 0) : 0;
  const isAnswer = (item: Message | null | undefined): boolean =>
    item?.role === 'assistant' || item?.type === 'function_call' || item?.type === 'reasoning';
  return after + messagesIn(input).filter((item, at, all) => isAnswer(item) && !isAnswer(all[at - 1])).length;
}

type Completion = ReturnType<typeof completion>;

const completion = ({ model }: ModelRequest, at: number, { text, calls }: ScriptedAnswer) => ({
  id: `chatcmpl-${at + 1}`,
  object: 'chat.completion',
  created: 0,
  model,
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: text ?? null,
        ...(calls.length > 0 && {
          tool_calls: calls.map(({ name, arguments: args = {} }, index) => ({
            index,
            id: `call_${at + 1}_${index + 1}`,
            type: 'function',
            function: { name, arguments: json(args) },
          })),
        }),
      },
      finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

const event = (data: object | string, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : json(data)}\n\n`;

const completionEvents = (whole: object): readonly string[] => {
  const { choices, usage, ...rest } = whole as Completion;
  const chunk = (choice: object) => event({ ...rest, object: 'chat.completion.chunk', ...choice });
  return [
    ...choices.map(({ index, message: delta }) => chunk({ choices: [{ index, delta, finish_reason: null }] })),
    ...choices.map(({ index, finish_reason }) => chunk({ choices: [{ index, delta: {}, finish_reason }], usage })),
    event('[DONE]'),
  ];
};

type Response = ReturnType<typeof response>;

const response = ({ model }: ModelRequest, at: number, { text, calls }: ScriptedAnswer) => ({
  id: `resp_${at + 1}`,
  object: 'response',
  created_at: 0,
  model,
  status: 'completed',
  error: null,
  incomplete_details: null,
  output: [
    ...(text === undefined
      ? []
      : [
          {
            type: 'message',
            id: `msg_${at + 1}`,
            status: 'completed',
            role: 'assistant',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ]),
    ...calls.map(({ name, arguments: args = {} }, index) => ({
      type: 'function_call',
      id: `fc_${at + 1}_${index + 1}`,
      call_id: `call_${at + 1}_${index + 1}`,
      status: 'completed',
      name,
      arguments: json(args),
    })),
  ],
  usage: {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  },
});

const responseEvents = (whole: object): readonly string[] => {
  const done = whole as Response;
  let sequence = 0;
  const said = (type: string, data: object) => event({ type, sequence_number: sequence++, ...data }, type);
  return [
    said('response.created', { response: { ...done, status: 'in_progress', output: [] } }),
    ...done.output.flatMap((item, at) => [
      said('response.output_item.added', { output_index: at, item: { ...item, status: 'in_progress' } }),
      ...('content' in item
        ? item.content.map(({ text }) =>
            said('response.output_text.delta', { item_id: item.id, output_index: at, content_index: 0, delta: text }),
          )
        : []),
      said('response.output_item.done', { output_index: at, item }),
    ]),
    said('response.completed', { response: done }),
  ];
};
