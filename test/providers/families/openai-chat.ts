/** Owns OpenAI's chat completions as a local judge. */

import { createOpenAI } from '@ai-sdk/openai';
import {
  type Broken,
  event,
  type Family,
  type Fields,
  hasDuplicates,
  isPortableSchema,
  Judge,
  listOf,
  type Rule,
  roughTokens,
  textOf,
  unknownMembers,
} from '../judge.ts';
import { type ChatForm, chatStream, isAnswered, roundsOf, toolsOf, wholeChat } from './chat-completions.ts';

const REFERENCE = 'https://platform.openai.com/docs/api-reference/chat/create';

const rules = {
  'messages-present': { says: 'messages has at least one message', source: REFERENCE },
  'content-present': {
    says: 'a message has content, no empty list of parts; one of the assistant has content or tool calls',
    source: REFERENCE,
  },
  'calls-answered': {
    says: 'a message with tool_calls is followed by tool messages that answer each tool_call_id',
    source: 'https://github.com/langgenius/dify/issues/32222',
  },
  'answers-follow-calls': {
    says: 'a message of role tool answers a preceding message with tool_calls',
    source: 'https://platform.openai.com/docs/guides/function-calling',
  },
  'id-length': {
    says: 'the id of a tool call has 1 to 40 characters',
    source: 'https://github.com/vercel/ai/issues/5171',
  },
  'ids-distinct': { says: 'ids of tool calls of one message differ', source: REFERENCE },
  'function-name': {
    says: 'a name of a function matches ^[a-zA-Z0-9_-]{1,64}$, in tools and in messages',
    source: REFERENCE,
  },
  'tools-distinct': { says: 'names of tools differ', source: REFERENCE },
  'schema-portable': { says: 'parameters are an object schema', source: REFERENCE },
  'context-length': { says: 'the prompt fits into 128,000 tokens', source: 'https://platform.openai.com/docs/models' },
  'known-members': {
    says: 'the request has known members alone',
    source: 'https://platform.openai.com/docs/guides/error-codes',
  },
} as const satisfies Record<string, Rule>;

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const CONTEXT_TOKENS = 128_000;
const ID_MAX_CHARS = 40;
const MEMBERS = [
  ...['model', 'messages', 'tools', 'tool_choice', 'temperature', 'top_p', 'max_tokens', 'max_completion_tokens'],
  ...['stop', 'seed', 'stream', 'stream_options', 'response_format', 'presence_penalty', 'frequency_penalty'],
  ...['parallel_tool_calls', 'reasoning_effort', 'store', 'metadata', 'user', 'logprobs', 'n', 'service_tier'],
];

export function judgeChat(body: Fields): readonly Broken[] {
  const judge = new Judge('openai-chat', rules);
  const messages = listOf(body.messages);
  judge.check('messages-present', messages.length > 0, 'messages');
  for (const [index, message] of messages.entries()) {
    const { content, role, tool_calls: calls } = message;
    const isSaid = typeof content === 'string' || (Array.isArray(content) && content.length > 0);
    judge.check('content-present', isSaid || (role === 'assistant' && Array.isArray(calls)), `messages.${index}`);
  }
  const { rounds, stray } = roundsOf(messages);
  for (const at of stray) judge.check('answers-follow-calls', false, at);
  for (const round of rounds) {
    judge.check('calls-answered', isAnswered(round), round.at);
    judge.check('ids-distinct', !hasDuplicates(round.ids), round.at);
    const { ids, names } = round;
    judge.check(
      'id-length',
      ids.every((id) => id.length >= 1 && id.length <= ID_MAX_CHARS),
      round.at,
    );
    judge.check(
      'function-name',
      names.every((name) => NAME.test(name)),
      round.at,
    );
  }
  const tools = toolsOf(body);
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
  judge.check('context-length', roughTokens(body) <= CONTEXT_TOKENS, 'messages');
  for (const name of unknownMembers(body, MEMBERS)) judge.check('known-members', false, name);
  return judge.broken;
}

const form: ChatForm = {
  model: 'gpt-4o-mini-2024-07-18',
  endOf: ({ end, toolCalls = [] }) =>
    end === 'content-filter' ? 'content_filter' : toolCalls.length > 0 ? 'tool_calls' : 'stop',
  hasRefusal: true,
};

const error = (message: string, type: string, code: string | null, param: string | null = null): object => ({
  error: { message, type, param, code },
});

export const openaiChat: Family = {
  name: 'openai-chat',
  rules,
  judge: judgeChat,
  isStreamed: (_path, body) => body.stream === true,
  whole: (said) => wholeChat(form, said),
  stream: (said) => chatStream(form, said),
  streamType: 'text/event-stream',
  errors: {
    'rate-limited': {
      status: 429,
      body: error('Rate limit reached for gpt-4o-mini.', 'tokens', 'rate_limit_exceeded'),
    },
    'rate-limited-with-wait': {
      status: 429,
      headers: { 'retry-after': '20', 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '20s' },
      body: error('Rate limit reached for gpt-4o-mini. Please try again in 20s.', 'tokens', 'rate_limit_exceeded'),
    },
    unavailable: { status: 503, body: error('The server is overloaded or not ready yet.', 'server_error', null) },
    'context-length': {
      status: 400,
      body: error(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
        'invalid_request_error',
        'context_length_exceeded',
        'messages',
      ),
    },
  },
  refuse: (message) => ({ status: 400, body: error(message, 'invalid_request_error', null) }),
  errorBody: error('The server had an error while processing your request.', 'server_error', null),
  errorFrame: event(error('The server had an error while processing your request.', 'server_error', null)),
  languageModel: (fetch, baseUrl) => createOpenAI({ apiKey: 'not-a-key', baseURL: baseUrl, fetch }).chat('gpt-4o-mini'),
};
