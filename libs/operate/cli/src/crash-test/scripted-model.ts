/**
 * Owns a model of OpenAI's two APIs (chat completions and responses) and of Anthropic's (messages), whole or streamed, whose answers a script has. Which answer a request
 * gets follows from the request alone, by how many of them its conversation has already, so it is the same for a process that was started again. Pure.
 */

import type { ScriptedAnswer } from './answers.ts';

interface Answer {
  /** Which one of the script. */
  readonly at?: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

type Message = { readonly role?: unknown; readonly type?: unknown } | null | undefined;
type ModelRequest = Readonly<Record<string, unknown>>;

/** Undefined: the path is none of a model's. */
export function modelAnswer(script: readonly ScriptedAnswer[], path: string, body: Buffer): Answer | undefined {
  const api = Object.entries(APIS).find(([end]) => path.endsWith(end))?.[1];
  if (api === undefined) return undefined;
  const request = requestIn(body);
  if (request === undefined) return refused('The body is no JSON object.');
  const at = answersIn(request.messages ?? request.input, script) + responsesBefore(request);
  const answer = script[at];
  if (answer === undefined) return refused(`The script has ${script.length} answers, and this asks for the next one.`);
  const [whole, events] = api(request, at + 1, answer);
  if (request.stream !== true) return { status: 200, headers: JSON_HEADERS, text: JSON.stringify(whole), at };
  return { at, status: 200, headers: { 'content-type': 'text/event-stream' }, text: events.join('') };
}

const JSON_HEADERS = { 'content-type': 'application/json' };

const refused = (message: string): Answer => ({
  status: 400,
  headers: JSON_HEADERS,
  text: JSON.stringify({
    type: 'error',
    error: { message: `crash-test: ${message}`, type: 'invalid_request_error', param: null, code: null },
  }),
});

function requestIn(body: Buffer): ModelRequest | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null ? (value as ModelRequest) : undefined;
  } catch {
    return undefined;
  }
}

/** An answer is one message, or several items one after the other. What a framework puts there by itself is none. */
function answersIn(messages: unknown, script: readonly ScriptedAnswer[]): number {
  const parts = script.flatMap(({ text, calls }) => [
    ...(text === undefined ? [] : [text]),
    ...calls.map(({ name }) => name),
  ]);
  const known = parts.map((part) => JSON.stringify(part).slice(1, -1));
  const isAnswer = (item: Message): boolean => {
    if (item?.type === 'function_call' || item?.type === 'reasoning') return true;
    if (item?.role !== 'assistant') return false;
    const text = JSON.stringify(item);
    return known.some((part) => text.includes(part));
  };
  const are = Array.isArray(messages) ? (messages as readonly Message[]).map(isAnswer) : [];
  return are.filter((isOne, at) => isOne && are[at - 1] !== true).length;
}

const responsesBefore = ({ previous_response_id: previous }: ModelRequest): number =>
  Number(/^resp_(\d+)$/.exec(String(previous))?.[1] ?? 0);

const event = (data: object | string, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

type Said = readonly [whole: object, events: readonly string[]];

function completion({ model }: ModelRequest, number: number, { text, calls }: ScriptedAnswer): Said {
  const told = calls.map(({ name, arguments: given = {} }, index) => {
    const of = { name, arguments: JSON.stringify(given) };
    return { index, id: `call_${number}_${index + 1}`, type: 'function', function: of };
  });
  const message = { role: 'assistant', content: text ?? null, ...(told.length > 0 && { tool_calls: told }) };
  const finish_reason = told.length > 0 ? 'tool_calls' : 'stop';
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const head = { id: `chatcmpl-${number}`, created: 0, model };
  const chunk = (delta: object, more: object) =>
    event({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, ...more }], usage });
  return [
    { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage },
    [chunk(message, { finish_reason: null }), chunk({}, { finish_reason }), event('[DONE]')],
  ];
}

function response({ model }: ModelRequest, number: number, { text, calls }: ScriptedAnswer): Said {
  const status = 'completed';
  const words = text === undefined ? [] : [{ type: 'output_text', text, annotations: [] }];
  const output = [
    ...words.map((part) => ({ type: 'message', id: `msg_${number}`, status, role: 'assistant', content: [part] })),
    ...calls.map(({ name, arguments: given = {} }, at) => {
      const id = `${number}_${at + 1}`;
      return {
        type: 'function_call',
        id: `fc_${id}`,
        call_id: `call_${id}`,
        status,
        name,
        arguments: JSON.stringify(given),
      };
    }),
  ];
  const tokens = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const usage = {
    ...tokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const whole = { id: `resp_${number}`, object: 'response', created_at: 0, model, status, output, usage };
  let sequence = 0;
  const said = (type: string, data: object) => event({ type, sequence_number: sequence++, ...data }, type);
  const events = [said('response.created', { response: { ...whole, status: 'in_progress', output: [] } })];
  for (const [output_index, item] of output.entries()) {
    events.push(said('response.output_item.added', { output_index, item: { ...item, status: 'in_progress' } }));
    const delta = { item_id: item.id, output_index, content_index: 0, delta: text };
    if (item.type === 'message') events.push(said('response.output_text.delta', delta));
    events.push(said('response.output_item.done', { output_index, item }));
  }
  return [whole, [...events, said('response.completed', { response: whole })]];
}

function message({ model }: ModelRequest, number: number, { text, calls }: ScriptedAnswer): Said {
  const words = text === undefined ? [] : [{ type: 'text', text }];
  const told = calls.map(({ name, arguments: input = {} }, at) => ({
    ...{ type: 'tool_use', id: `toolu_${number}_${at + 1}`, name, input },
  }));
  const stop = { stop_reason: told.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const head = { id: `msg_${number}`, type: 'message', role: 'assistant', model, usage };
  const said = (type: string, data: object) => event({ type, ...data }, type);
  const events = [...words, ...told].flatMap((block, index) => {
    const isText = 'text' in block;
    const content_block = isText ? { ...block, text: '' } : { ...block, input: {} };
    const delta = isText
      ? { type: 'text_delta', text: block.text }
      : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
    return [
      said('content_block_start', { index, content_block }),
      said('content_block_delta', { index, delta }),
      said('content_block_stop', { index }),
    ];
  });
  const start = said('message_start', { message: { ...head, content: [], stop_reason: null, stop_sequence: null } });
  const end = [said('message_delta', { delta: stop, usage }), said('message_stop', {})];
  return [{ ...head, ...stop, content: [...words, ...told] }, [start, ...events, ...end]];
}

/** By the end of a path. */
const APIS = { '/chat/completions': completion, '/responses': response, '/messages': message };
