/** Owns Mistral's chat completions as a local judge, by the validator that Mistral publishes. */

import { createMistral } from '@ai-sdk/mistral';
import {
  type Broken,
  event,
  type Family,
  type Fields,
  hasDuplicates,
  isBlank,
  isPortableSchema,
  Judge,
  listOf,
  type Rule,
  roughTokens,
  textOf,
  unknownMembers,
} from '../judge.ts';
import { type ChatForm, chatStream, isAnswered, roundsOf, toolsOf, wholeChat } from './chat-completions.ts';

const VALIDATOR =
  'https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py';
const REFERENCE = 'https://docs.mistral.ai/api/endpoint/chat';

const rules = {
  'messages-present': { says: 'the conversation has at least one message', source: VALIDATOR },
  'role-order': {
    says: 'after the system: user, assistant or system; after the user no tool; after a tool: assistant or tool, no user',
    source: VALIDATOR,
  },
  'last-is-user': { says: 'the last message is the user’s or a tool’s, or a prefix', source: VALIDATOR },
  'content-present': { says: 'a message of the assistant has content or tool calls', source: VALIDATOR },
  'calls-answered': {
    says: 'as many tool messages as calls follow a message with calls, by their ids',
    source: VALIDATOR,
  },
  'call-id': { says: 'the id of a tool call has 9 letters and digits', source: VALIDATOR },
  'ids-distinct': { says: 'ids of calls of one message differ', source: REFERENCE },
  'function-name': { says: 'a name of a function matches ^[a-zA-Z0-9_-]{1,64}$', source: VALIDATOR },
  'tools-distinct': { says: 'names of tools differ', source: REFERENCE },
  'schema-portable': { says: 'parameters are an object schema', source: VALIDATOR },
  'context-length': {
    says: 'the prompt fits into 131,072 tokens',
    source: 'https://docs.mistral.ai/getting-started/models',
  },
  'known-members': { says: 'the request has known members alone', source: REFERENCE },
} as const satisfies Record<string, Rule>;

export const MISTRAL_ID = /^[a-zA-Z0-9]{9}$/;
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const CONTEXT_TOKENS = 131_072;
const NEXT: Readonly<Record<string, readonly string[]>> = {
  system: ['user', 'assistant', 'system'],
  user: ['assistant', 'system', 'user'],
  assistant: ['assistant', 'user', 'tool'],
  tool: ['assistant', 'tool'],
};
const MEMBERS = [
  ...['model', 'messages', 'tools', 'tool_choice', 'temperature', 'top_p', 'max_tokens', 'stop', 'random_seed'],
  ...['stream', 'response_format', 'safe_prompt', 'parallel_tool_calls', 'presence_penalty', 'frequency_penalty'],
  ...['prompt_mode', 'n', 'prediction', 'document_image_limit', 'document_page_limit', 'reasoning_effort'],
];

function judgeChat(body: Fields): readonly Broken[] {
  const judge = new Judge('mistral', rules);
  const messages = listOf(body.messages);
  judge.check('messages-present', messages.length > 0, 'messages');
  for (const [index, { role, content, tool_calls: calls }] of messages.entries()) {
    const at = `messages.${index}`;
    const before = messages[index - 1];
    const isInOrder = before === undefined || NEXT[textOf(before.role)]?.includes(textOf(role)) === true;
    judge.check('role-order', isInOrder, `${at} ${textOf(role)} after ${textOf(before?.role)}`);
    const isSaid = Array.isArray(content) ? content.length > 0 : !isBlank(content);
    if (role === 'assistant') judge.check('content-present', isSaid || listOf(calls).length > 0, at);
  }
  const last = messages.at(-1);
  judge.check(
    'last-is-user',
    last === undefined || last.role === 'user' || last.role === 'tool' || last.prefix === true,
    'messages',
  );
  const { rounds, stray } = roundsOf(messages);
  for (const at of stray) judge.check('calls-answered', false, at);
  for (const round of rounds) {
    judge.check('calls-answered', isAnswered(round), round.at);
    judge.check('ids-distinct', !hasDuplicates(round.ids), round.at);
    judge.check(
      'call-id',
      round.ids.every((id) => MISTRAL_ID.test(id)),
      round.at,
    );
    judge.check(
      'function-name',
      round.names.every((name) => NAME.test(name)),
      round.at,
    );
  }
  for (const { role, name } of messages)
    if (role === 'tool' && name !== undefined) judge.check('function-name', NAME.test(textOf(name)), 'messages');
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
  model: 'mistral-large-latest',
  // It has no reason for a refusal: it says so in words. What its guard-rails stop ends with `error`.
  endOf: ({ end, toolCalls = [] }) =>
    end === 'content-filter' ? 'error' : toolCalls.length > 0 ? 'tool_calls' : 'stop',
  hasRefusal: false,
  isCallWhole: true,
};

const error = (message: string, type: string, code: string): object => ({
  object: 'error',
  message,
  type,
  param: null,
  code,
});

export const mistral: Family = {
  name: 'mistral',
  rules,
  judge: judgeChat,
  isStreamed: (_path, body) => body.stream === true,
  whole: (said) => wholeChat(form, said),
  stream: (said) => chatStream(form, said),
  streamType: 'text/event-stream',
  errors: {
    'rate-limited': { status: 429, body: error('Rate limit exceeded', 'rate_limited', '1300') },
    get 'rate-limited-with-wait'() {
      const headers = { 'retry-after': new Date(Date.now() + 20_000).toUTCString() };
      return { status: 429, headers, body: error('Rate limit exceeded', 'rate_limited', '1300') };
    },
    unavailable: { status: 503, body: error('Service unavailable.', 'unreachable_backend', '1100') },
    'context-length': {
      status: 400,
      body: error(
        'Prompt contains 165673 tokens and 0 draft tokens, too large for model with 131072 maximum context length',
        'invalid_request_prompt',
        '3051',
      ),
    },
  },
  refuse: (message) => ({ status: 400, body: error(message, 'invalid_request_message_order', '3230') }),
  errorBody: error('Service unavailable.', 'unreachable_backend', '1100'),
  errorFrame: event(error('Service unavailable.', 'unreachable_backend', '1100')),
  languageModel: (fetch, baseUrl) =>
    createMistral({ apiKey: 'not-a-key', baseURL: baseUrl, fetch })('mistral-large-latest'),
};
