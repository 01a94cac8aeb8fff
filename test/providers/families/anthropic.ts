/** Owns Anthropic's messages as a local judge. It signs its thinking, and wants it back where a tool is used. */

import { createAnthropic } from '@ai-sdk/anthropic';
import {
  type Broken,
  event,
  type Family,
  type Fields,
  fieldsOf,
  halvesOf,
  hasDuplicates,
  isBlank,
  isObject,
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

const REFERENCE = 'https://platform.claude.com/docs/en/api/messages/create';
const TOOLS = 'https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use';
const THINKING = 'https://platform.claude.com/docs/en/build-with-claude/extended-thinking';

const rules = {
  'messages-present': { says: 'messages has at least one message', source: REFERENCE },
  'first-is-user': { says: "the first message is the user's", source: REFERENCE },
  'last-is-user': { says: 'the conversation ends with the user: newer models refuse a prefill', source: REFERENCE },
  'roles-known': { says: 'roles are user and assistant; the system has a member of its own', source: REFERENCE },
  'content-present': { says: 'all messages have content', source: REFERENCE },
  'text-not-blank': {
    says: 'text blocks contain text that is no white space alone',
    source: 'https://github.com/anthropics/claude-code/issues/23369',
  },
  'final-white-space': { says: "a final assistant's text doesn't end with white space", source: REFERENCE },
  'uses-answered': {
    says: 'each tool_use has a tool_result in the message right after it',
    source: 'https://github.com/anthropics/claude-code/issues/8210',
  },
  'results-have-uses': {
    says: 'each tool_result has its tool_use in the message right before it, once',
    source: 'https://github.com/anthropics/claude-code/issues/64383',
  },
  'results-first': { says: "tool_result blocks come first in the user's message", source: TOOLS },
  'ids-distinct': { says: 'ids of tool_use differ in the whole conversation', source: REFERENCE },
  'id-form': { says: 'the id of a tool_use matches ^[a-zA-Z0-9_-]+$', source: REFERENCE },
  'tool-name': { says: 'the name of a tool matches ^[a-zA-Z0-9_-]{1,128}$', source: REFERENCE },
  'input-object': { says: 'the input of a tool_use is an object', source: REFERENCE },
  'tools-distinct': { says: 'names of tools differ', source: REFERENCE },
  'schema-portable': { says: 'input_schema is an object schema', source: TOOLS },
  'max-tokens': { says: 'max_tokens is given', source: REFERENCE },
  'thinking-returned': {
    says: 'with thinking, a turn that uses tools begins with the thinking that came with it',
    source: THINKING,
  },
  'thinking-signature': { says: 'thinking has the signature that it came with', source: THINKING },
  'context-length': { says: 'the prompt fits into 200,000 tokens', source: REFERENCE },
  'known-members': { says: 'the request has known members alone', source: REFERENCE },
} as const satisfies Record<string, Rule>;

const ID = /^[a-zA-Z0-9_-]+$/;
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const CONTEXT_TOKENS = 200_000;
const MEMBERS = [
  ...['model', 'messages', 'system', 'tools', 'tool_choice', 'max_tokens', 'temperature', 'top_p', 'top_k', 'stream'],
  ...['stop_sequences', 'metadata', 'thinking', 'service_tier', 'output_config', 'output_format', 'container'],
];

type Check = Judge<keyof typeof rules>;

function judgeMessages(body: Fields): readonly Broken[] {
  const judge = new Judge('anthropic', rules);
  const messages = listOf(body.messages);
  judge.check('messages-present', messages.length > 0, 'messages');
  judge.check('first-is-user', messages.length === 0 || messages[0]!.role === 'user', 'messages.0');
  judge.check(
    'last-is-user',
    messages.length === 0 || messages.at(-1)!.role === 'user',
    `messages.${messages.length - 1}`,
  );
  for (const block of listOf(body.system)) judge.check('text-not-blank', !isBlank(block.text), 'system');
  const ids: string[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`;
    const blocks = blocksOf(message);
    judge.check('roles-known', message.role === 'user' || message.role === 'assistant', at);
    judge.check('content-present', blocks.length > 0, at);
    for (const { type, text } of blocks) if (type === 'text') judge.check('text-not-blank', !isBlank(text), at);
    ids.push(...checkUses(judge, blocks, blocksOf(messages[index + 1]), at));
    checkResults(judge, blocks, blocksOf(messages[index - 1]), at);
  }
  judge.check('ids-distinct', !hasDuplicates(ids), 'messages');
  const last = blocksOf(messages.at(-1)).at(-1);
  const isFinal = messages.at(-1)?.role === 'assistant' && last?.type === 'text';
  judge.check('final-white-space', !isFinal || textOf(last?.text).trimEnd() === last?.text, 'messages');
  if (fieldsOf(body.thinking).type !== undefined && fieldsOf(body.thinking).type !== 'disabled')
    checkThinking(judge, messages);
  const tools = listOf(body.tools);
  judge.check(
    'tool-name',
    tools.every(({ name }) => NAME.test(textOf(name))),
    'tools',
  );
  judge.check('tools-distinct', !hasDuplicates(tools.map(({ name }) => textOf(name))), 'tools');
  judge.check(
    'schema-portable',
    tools.every((tool) => isPortableSchema(tool.input_schema)),
    'tools',
  );
  judge.check('max-tokens', Number(body.max_tokens) >= 1, 'max_tokens');
  judge.check('context-length', roughTokens(body) <= CONTEXT_TOKENS, 'messages');
  for (const name of unknownMembers(body, MEMBERS)) judge.check('known-members', false, name);
  return judge.broken;
}

const blocksOf = (message: Fields | undefined): readonly Fields[] =>
  typeof message?.content === 'string' ? [{ type: 'text', text: message.content }] : listOf(message?.content);

function checkUses(judge: Check, blocks: readonly Fields[], next: readonly Fields[], at: string): readonly string[] {
  const uses = blocks.filter(({ type }) => type === 'tool_use');
  for (const { id, name, input } of uses) {
    judge.check('id-form', ID.test(textOf(id)), at);
    judge.check('tool-name', NAME.test(textOf(name)), at);
    judge.check('input-object', isObject(input), at);
    judge.check(
      'uses-answered',
      next.some((block) => block.type === 'tool_result' && block.tool_use_id === id),
      at,
    );
  }
  return uses.map(({ id }) => textOf(id));
}

function checkResults(judge: Check, blocks: readonly Fields[], before: readonly Fields[], at: string): void {
  const results = blocks.filter(({ type }) => type === 'tool_result');
  for (const { tool_use_id: id } of results) {
    judge.check(
      'results-have-uses',
      before.some((block) => block.type === 'tool_use' && block.id === id),
      at,
    );
    judge.check('results-have-uses', results.filter((block) => block.tool_use_id === id).length === 1, at);
  }
  const lastResult = blocks.findLastIndex(({ type }) => type === 'tool_result');
  judge.check('results-first', lastResult < results.length, at);
}

/** The turn under way, from the last message of the user that isn't a result. */
function checkThinking(judge: Check, messages: readonly Fields[]): void {
  for (const [index, message] of messages.entries()) {
    for (const { type, thinking, signature } of blocksOf(message)) {
      if (type !== 'thinking') continue;
      judge.check('thinking-signature', signature === signatureOf(textOf(thinking)), `messages.${index}`);
    }
  }
  const asked = messages.findLastIndex(
    (message) => message.role === 'user' && !blocksOf(message).some(({ type }) => type === 'tool_result'),
  );
  for (const [index, message] of messages.entries()) {
    if (index < asked || message.role !== 'assistant') continue;
    const blocks = blocksOf(message);
    if (!blocks.some(({ type }) => type === 'tool_use')) continue;
    judge.check('thinking-returned', /thinking$/.test(textOf(blocks[0]?.type)), `messages.${index}`);
  }
}

const signatureOf = (thinking: string): string => `signed-${thinking.length}`;

const usageOf = ({ isUsageAbsent }: Said): object =>
  isUsageAbsent === true ? {} : { input_tokens: 100, output_tokens: 20 };
const MODEL = 'claude-sonnet-4-5-20250929';
const reasonOf = ({ end, toolCalls = [] }: Said): string =>
  end !== undefined ? 'refusal' : toolCalls.length > 0 ? 'tool_use' : 'end_turn';

function whole(said: Said): object {
  const { reasoning, text, toolCalls = [] } = said;
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: MODEL,
    content: [
      ...(reasoning === undefined
        ? []
        : [{ type: 'thinking', thinking: reasoning, signature: signatureOf(reasoning) }]),
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...toolCalls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input: JSON.parse(input) as object })),
    ],
    stop_reason: reasonOf(said),
    stop_sequence: null,
    usage: usageOf(said),
  };
}

function stream(said: Said) {
  const { reasoning, text, toolCalls = [] } = said;
  const piece = (type: string, members: object): string => event({ type, ...members }, type);
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: MODEL, content: [] };
  const frames = [
    piece('message_start', { message: { ...message, stop_reason: null, stop_sequence: null, usage: usageOf(said) } }),
    piece('ping', {}),
  ];
  let index = 0;
  const block = (content_block: object, deltas: readonly object[]): void => {
    frames.push(
      piece('content_block_start', { index, content_block }),
      ...deltas.map((delta) => piece('content_block_delta', { index, delta })),
      piece('content_block_stop', { index }),
    );
    index += 1;
  };
  if (reasoning !== undefined)
    block({ type: 'thinking', thinking: '' }, [
      ...wordsOf(reasoning).map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: signatureOf(reasoning) },
    ]);
  if (text !== undefined)
    block(
      { type: 'text', text: '' },
      wordsOf(text).map((word) => ({ type: 'text_delta', text: word })),
    );
  const before = frames.length;
  for (const { id, name, input } of toolCalls)
    block(
      { type: 'tool_use', id, name, input: {} },
      halvesOf(input).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    );
  frames.push(
    piece('message_delta', {
      delta: { stop_reason: reasonOf(said), stop_sequence: null },
      usage: usageOf(said),
    }),
    piece('message_stop', {}),
  );
  return { frames, cutAt: before + 2 };
}

const error = (type: string, message: string): object => ({ type: 'error', error: { type, message } });

export const anthropic: Family = {
  name: 'anthropic',
  rules,
  judge: judgeMessages,
  isStreamed: (_path, body) => body.stream === true,
  whole,
  stream,
  streamType: 'text/event-stream',
  errors: {
    'rate-limited': { status: 429, body: error('rate_limit_error', 'This request would exceed the rate limit.') },
    'rate-limited-with-wait': {
      status: 429,
      headers: { 'retry-after': '20' },
      body: error('rate_limit_error', 'This request would exceed the rate limit.'),
    },
    unavailable: { status: 529, body: error('overloaded_error', 'Overloaded') },
    'context-length': {
      status: 400,
      body: error('invalid_request_error', 'prompt is too long: 202609 tokens > 200000 maximum'),
    },
  },
  refuse: (message) => ({ status: 400, body: error('invalid_request_error', message) }),
  errorBody: error('overloaded_error', 'Overloaded'),
  errorFrame: event(error('overloaded_error', 'Overloaded'), 'error'),
  languageModel: (fetch, baseUrl) =>
    createAnthropic({ apiKey: 'not-a-key', baseURL: baseUrl, fetch })('claude-sonnet-4-5'),
};
