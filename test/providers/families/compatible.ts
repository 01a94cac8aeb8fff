/** Owns a server of open models, compatible with OpenAI, as a local judge: vLLM with the strict template of Mistral 7B Instruct v0.3. */

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
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
} from '../judge.ts';
import { type ChatForm, chatStream, isAnswered, roundsOf, toolsOf, wholeChat } from './chat-completions.ts';

const TEMPLATE = 'https://github.com/vllm-project/vllm/blob/main/examples/tool_chat_template_mistral.jinja';

const rules = {
  'messages-present': { says: 'messages has at least one message of the user', source: TEMPLATE },
  'system-first': { says: 'one system message at most, and it comes first', source: TEMPLATE },
  'roles-alternate': {
    says: 'without calls and their answers, user and assistant alternate, and the user begins',
    source: TEMPLATE,
  },
  'last-is-user': {
    says: 'the last message is the user’s or a tool’s',
    source: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
  },
  'calls-answered': { says: 'the answers of all calls follow them', source: TEMPLATE },
  'call-id': { says: 'the id of a tool call has 9 letters and digits', source: TEMPLATE },
  'ids-distinct': { says: 'ids of calls of one message differ', source: TEMPLATE },
  'function-name': {
    says: 'a name of a function matches ^[a-zA-Z0-9_-]{1,64}$',
    source: 'https://docs.vllm.ai/en/latest/features/tool_calling.html',
  },
  'tools-distinct': {
    says: 'names of tools differ',
    source: 'https://docs.vllm.ai/en/latest/features/tool_calling.html',
  },
  'schema-portable': {
    says: 'parameters are an object schema whose patterns RE2 and Rust take',
    source: 'https://docs.vllm.ai/en/latest/features/structured_outputs.html',
  },
  'context-length': {
    says: 'the prompt fits into 32,768 tokens',
    source: 'https://github.com/vllm-project/vllm/issues/20409',
  },
} as const satisfies Record<string, Rule>;

const ID = /^[a-zA-Z0-9]{9}$/;
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const CONTEXT_TOKENS = 32_768;

function judgeChat(body: Fields): readonly Broken[] {
  const judge = new Judge('openai-compatible', rules);
  const messages = listOf(body.messages);
  judge.check(
    'messages-present',
    messages.some(({ role }) => role === 'user'),
    'messages',
  );
  const talk = messages[0]?.role === 'system' ? messages.slice(1) : messages;
  judge.check(
    'system-first',
    talk.every(({ role }) => role !== 'system'),
    'messages',
  );
  const spoken = talk.filter(({ role, tool_calls: calls }) => role !== 'tool' && calls === undefined);
  const isInTurn = spoken.every(({ role }, index) => (role === 'user') === (index % 2 === 0));
  judge.check('roles-alternate', isInTurn, spoken.map(({ role }) => textOf(role)).join(' '));
  const last = messages.at(-1)?.role;
  judge.check('last-is-user', last === undefined || last === 'user' || last === 'tool', 'messages');
  const { rounds, stray } = roundsOf(messages);
  for (const at of stray) judge.check('calls-answered', false, at);
  for (const round of rounds) {
    judge.check('calls-answered', isAnswered(round), round.at);
    judge.check('ids-distinct', !hasDuplicates(round.ids), round.at);
    judge.check(
      'call-id',
      round.ids.every((id) => ID.test(id)),
      round.at,
    );
    judge.check(
      'function-name',
      round.names.every((name) => NAME.test(name)),
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
  return judge.broken;
}

const form: ChatForm = {
  model: 'mistralai/Mistral-7B-Instruct-v0.3',
  endOf: ({ end, toolCalls = [] }) =>
    end === 'content-filter' ? 'content_filter' : toolCalls.length > 0 ? 'tool_calls' : 'stop',
  hasRefusal: true,
};

/** vLLM's own form, flat, which the package reads as no error of its own. */
const error = (message: string, type: string, code: number): object => ({
  object: 'error',
  message,
  type,
  param: null,
  code,
});

export const compatible: Family = {
  name: 'openai-compatible',
  rules,
  judge: judgeChat,
  isStreamed: (_path, body) => body.stream === true,
  whole: (said) => wholeChat(form, said),
  stream: (said) => chatStream(form, said),
  streamType: 'text/event-stream',
  errors: {
    'rate-limited': { status: 429, body: error('Too many requests.', 'TooManyRequests', 429) },
    'rate-limited-with-wait': {
      status: 429,
      headers: { 'x-ratelimit-reset': '20' },
      body: error('Too many requests.', 'TooManyRequests', 429),
    },
    unavailable: { status: 503, body: error('The engine is not ready.', 'ServiceUnavailable', 503) },
    'context-length': {
      status: 400,
      body: error(
        "This model's maximum context length is 32768 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
        'BadRequestError',
        400,
      ),
    },
  },
  refuse: (message) => ({ status: 400, body: error(message, 'BadRequestError', 400) }),
  errorBody: { error: { message: 'EngineCore encountered an issue.', type: 'InternalServerError', code: 500 } },
  errorFrame: event({ error: { message: 'EngineCore encountered an issue.', type: 'InternalServerError', code: 500 } }),
  languageModel: (fetch, baseUrl) =>
    createOpenAICompatible({ name: 'vllm', baseURL: baseUrl, fetch, includeUsage: true })(
      'mistralai/Mistral-7B-Instruct-v0.3',
    ),
};
