/** Owns OpenAI's responses as a local judge. An answer has its reasoning as an item of its own, which its calls want beside them. */

import { createOpenAI } from '@ai-sdk/openai';
import {
  type Broken,
  event,
  type Family,
  type Fields,
  halvesOf,
  hasDuplicates,
  isPortableSchema,
  Judge,
  listOf,
  type Rule,
  roughTokens,
  type Said,
  textOf,
  unknownMembers,
  wordsOf,
} from '../judge.ts';

const REFERENCE = 'https://platform.openai.com/docs/api-reference/responses/create';

const rules = {
  'input-present': { says: 'input has at least one item', source: REFERENCE },
  'calls-answered': {
    says: 'each function_call has one function_call_output of its call_id after it',
    source: 'https://platform.openai.com/docs/guides/function-calling',
  },
  'outputs-have-calls': {
    says: 'each function_call_output has a function_call of its call_id before it',
    source: 'https://platform.openai.com/docs/guides/function-calling',
  },
  'call-id': {
    says: 'a call_id has 1 to 64 characters',
    source: 'https://github.com/earendil-works/pi/issues/1022',
  },
  'ids-distinct': { says: 'call_ids differ', source: REFERENCE },
  'item-id': {
    says: 'ids of items have letters, digits, underscores and dashes alone',
    source: 'https://github.com/earendil-works/pi/issues/1022',
  },
  'function-name': { says: 'a name of a function matches ^[a-zA-Z0-9_-]{1,64}$', source: REFERENCE },
  'reasoning-with-call': {
    says: 'a function_call that came with a reasoning item is sent with it',
    source: 'https://github.com/TanStack/ai/issues/1212',
  },
  'reasoning-with-item': {
    says: 'a reasoning item is followed by the item that it came with',
    source: 'https://github.com/vercel/ai/issues/7099',
  },
  'said-itself': {
    says: 'an item_reference names an item that is kept: nothing is kept here, so what was said is sent itself',
    source: 'https://platform.openai.com/docs/guides/your-data',
  },
  'tools-distinct': { says: 'names of tools differ', source: REFERENCE },
  'schema-portable': { says: 'parameters are an object schema', source: REFERENCE },
  'context-length': { says: 'the prompt fits into 400,000 tokens', source: 'https://platform.openai.com/docs/models' },
  'known-members': {
    says: 'the request has known members alone',
    source: 'https://platform.openai.com/docs/guides/error-codes',
  },
} as const satisfies Record<string, Rule>;

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const CONTEXT_TOKENS = 400_000;
const ID_MAX_CHARS = 64;
const MEMBERS = [
  ...['model', 'input', 'instructions', 'tools', 'tool_choice', 'temperature', 'top_p', 'max_output_tokens', 'text'],
  ...['stream', 'store', 'include', 'reasoning', 'metadata', 'parallel_tool_calls', 'previous_response_id', 'user'],
  ...['truncation', 'service_tier', 'prompt_cache_key', 'safety_identifier', 'max_tool_calls', 'conversation'],
];

function judgeResponses(body: Fields): readonly Broken[] {
  const judge = new Judge('openai-responses', rules);
  const items = listOf(body.input);
  judge.check('input-present', items.length > 0, 'input');
  const open = new Set<string>();
  const known: string[] = [];
  for (const [index, item] of items.entries()) {
    const at = `input.${index}`;
    const callId = textOf(item.call_id);
    if (item.id !== undefined) judge.check('item-id', NAME.test(textOf(item.id)), at);
    judge.check('said-itself', item.type !== 'item_reference', at);
    if (item.type === 'function_call') {
      judge.check('call-id', callId.length >= 1 && callId.length <= ID_MAX_CHARS, at);
      judge.check('function-name', NAME.test(textOf(item.name)), at);
      open.add(callId);
      known.push(callId);
      checkReasoning(judge, items, index);
    } else if (item.type === 'function_call_output') {
      judge.check('outputs-have-calls', known.includes(callId), at);
      open.delete(callId);
    } else if (item.type === 'reasoning') {
      const next = items[index + 1];
      judge.check(
        'reasoning-with-item',
        next !== undefined && (next.role === 'assistant' || next.type === 'function_call'),
        at,
      );
    }
  }
  judge.check('calls-answered', open.size === 0, [...open].join(', '));
  judge.check('ids-distinct', !hasDuplicates(known), 'input');
  const tools = listOf(body.tools);
  judge.check(
    'function-name',
    tools.every(({ name }) => NAME.test(textOf(name))),
    'tools',
  );
  judge.check('tools-distinct', !hasDuplicates(tools.map(({ name }) => textOf(name))), 'tools');
  judge.check(
    'schema-portable',
    tools.every(({ parameters }) => isPortableSchema(parameters)),
    'tools',
  );
  judge.check('context-length', roughTokens(body) <= CONTEXT_TOKENS, 'input');
  for (const name of unknownMembers(body, MEMBERS)) judge.check('known-members', false, name);
  return judge.broken;
}

/** This provider gives the call `fc_1` after the reasoning `rs_1`. */
function checkReasoning(judge: Judge<keyof typeof rules>, items: readonly Fields[], index: number): void {
  const { id, type, call_id: callId } = items[index]!;
  const own = type === 'function_call' ? /^fc_(\d+)_/.exec(textOf(id)) : null;
  if (own === null) return;
  const isThere = items.slice(0, index).some((item) => item.id === `rs_${own[1]}`);
  judge.check('reasoning-with-call', isThere, textOf(callId));
}

const response = (said: Said, output: readonly object[]) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1_760_000_000,
  model: 'gpt-5-mini-2025-08-07',
  status: said.end === 'content-filter' ? 'incomplete' : 'completed',
  incomplete_details: said.end === 'content-filter' ? { reason: 'content_filter' } : null,
  error: null,
  output,
  ...(said.isUsageAbsent !== true && {
    usage: {
      input_tokens: 100,
      output_tokens: 20,
      total_tokens: 120,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  }),
});

const partOf = ({ text = '', end }: Said): object =>
  end === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] };
const messageOf = (content: readonly object[]) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content,
});
const reasoningOf = (reasoning: string) => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: reasoning }],
  encrypted_content: 'sealed-thoughts',
});

function whole(said: Said): object {
  const { reasoning, text, toolCalls = [] } = said;
  return response(said, [
    ...(reasoning === undefined ? [] : [reasoningOf(reasoning)]),
    ...(text === undefined ? [] : [messageOf([partOf(said)])]),
    ...toolCalls.map(({ id, name, input }, index) => ({
      type: 'function_call',
      id: `fc_${reasoning === undefined ? 0 : 1}_${index}`,
      call_id: id,
      name,
      arguments: input,
      status: 'completed',
    })),
  ]);
}

function stream(said: Said) {
  const { reasoning, text, toolCalls = [], end } = said;
  let sequence = 0;
  const piece = (type: string, members: object): string =>
    event({ type, sequence_number: sequence++, ...members }, type);
  const frames: string[] = [piece('response.created', { response: { ...response(said, []), usage: undefined } })];
  let output = 0;
  if (reasoning !== undefined) {
    const item = reasoningOf(reasoning);
    const place = { output_index: output, item_id: item.id, summary_index: 0 };
    frames.push(
      piece('response.output_item.added', { output_index: output, item: { ...item, summary: [] } }),
      piece('response.reasoning_summary_part.added', place),
      ...wordsOf(reasoning).map((delta) => piece('response.reasoning_summary_text.delta', { ...place, delta })),
      piece('response.reasoning_summary_part.done', place),
      piece('response.output_item.done', { output_index: output++, item }),
    );
  }
  if (text !== undefined) {
    const place = { output_index: output, item_id: 'msg_1', content_index: 0 };
    const kind = end === 'refusal' ? 'refusal' : 'output_text';
    frames.push(
      piece('response.output_item.added', { output_index: output, item: messageOf([]) }),
      ...wordsOf(text).map((delta) => piece(`response.${kind}.delta`, { ...place, delta })),
      ...(end === 'refusal' ? [piece('response.refusal.done', { ...place, refusal: text })] : []),
      piece('response.output_item.done', { output_index: output++, item: messageOf([partOf(said)]) }),
    );
  }
  const before = frames.length;
  for (const [index, { id, name, input }] of toolCalls.entries()) {
    const item = {
      ...{ type: 'function_call', id: `fc_${reasoning === undefined ? 0 : 1}_${index}`, call_id: id, name },
      status: 'completed',
    };
    const place = { output_index: output, item_id: item.id };
    frames.push(
      piece('response.output_item.added', { output_index: output, item: { ...item, arguments: '' } }),
      ...halvesOf(input).map((delta) => piece('response.function_call_arguments.delta', { ...place, delta })),
      piece('response.function_call_arguments.done', { ...place, arguments: input }),
      piece('response.output_item.done', { output_index: output++, item: { ...item, arguments: input } }),
    );
  }
  const last = end === 'content-filter' ? 'response.incomplete' : 'response.completed';
  frames.push(piece(last, { response: response(said, []) }));
  return { frames, cutAt: before + 2 };
}

const error = (message: string, type: string, code: string | null, param: string | null = null): object => ({
  error: { message, type, param, code },
});

const FAILED = 'The server had an error while processing your request.';

export const openaiResponses: Family = {
  name: 'openai-responses',
  rules,
  judge: judgeResponses,
  isStreamed: (_path, body) => body.stream === true,
  whole,
  stream,
  streamType: 'text/event-stream',
  errors: {
    'rate-limited': {
      status: 429,
      body: error('Rate limit reached for gpt-5-mini.', 'tokens', 'rate_limit_exceeded'),
    },
    'rate-limited-with-wait': {
      status: 429,
      headers: { 'retry-after-ms': '20000' },
      body: error('Rate limit reached for gpt-5-mini. Please try again in 20s.', 'tokens', 'rate_limit_exceeded'),
    },
    unavailable: { status: 503, body: error('The server is overloaded or not ready yet.', 'server_error', null) },
    'context-length': {
      status: 400,
      body: error(
        'Your input exceeds the context window of this model. Please adjust your input and try again.',
        'invalid_request_error',
        'context_length_exceeded',
        'input',
      ),
    },
  },
  refuse: (message) => ({ status: 400, body: error(message, 'invalid_request_error', null) }),
  errorBody: {
    ...response({ isUsageAbsent: true }, []),
    status: 'failed',
    error: { message: FAILED, type: 'server_error', code: 'server_error' },
  },
  errorFrame: event(
    {
      type: 'error',
      sequence_number: 1,
      error: { type: 'server_error', code: 'server_error', message: FAILED, param: null },
    },
    'error',
  ),
  languageModel: (fetch, baseUrl) =>
    createOpenAI({ apiKey: 'not-a-key', baseURL: baseUrl, fetch }).responses('gpt-5-mini'),
};
