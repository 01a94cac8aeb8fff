/** Owns Bedrock's Converse as a local judge. Its streams are AWS event streams: binary frames with checksums. */

import { crc32 } from 'node:zlib';
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import {
  type Broken,
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

const REFERENCE = 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html';
const USE = 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html';

const rules = {
  'messages-present': { says: 'messages has at least one message', source: REFERENCE },
  'first-is-user': {
    says: "a conversation starts with the user's message",
    source: 'https://github.com/langgenius/dify/issues/12340',
  },
  'roles-alternate': {
    says: 'user and assistant alternate',
    source: 'https://github.com/langchain-ai/langchain-aws/issues/192',
  },
  'last-is-user': {
    says: "a conversation ends with the user's message",
    source: 'https://github.com/microsoft/semantic-kernel/issues/10281',
  },
  'content-present': {
    says: 'the content of a message is not empty',
    source: 'https://github.com/earendil-works/pi/pull/3443',
  },
  'text-not-blank': {
    says: 'the text of a content block is not blank, nor is that of a system block',
    source: 'https://github.com/boto/botocore/issues/3525',
  },
  'uses-answered': {
    says: 'each toolUse has a toolResult in the next message, and no other',
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html',
  },
  'ids-distinct': { says: 'toolUseIds of a message differ', source: USE },
  'use-id': { says: 'a toolUseId matches [a-zA-Z0-9_-]{1,64}', source: USE },
  'tool-name': { says: 'the name of a tool matches [a-zA-Z0-9_-]{1,64}', source: USE },
  'input-object': { says: 'the input of a toolUse is an object', source: USE },
  'tools-declared': {
    says: 'toolConfig is there where messages have toolUse and toolResult blocks',
    source: REFERENCE,
  },
  'tools-distinct': { says: 'names of tools differ', source: REFERENCE },
  'schema-portable': { says: 'inputSchema is an object schema', source: REFERENCE },
  'reasoning-signature': { says: 'a reasoning block has the signature that it came with', source: REFERENCE },
  'context-length': { says: 'the prompt fits into 200,000 tokens', source: REFERENCE },
  'known-members': { says: 'the request has known members alone', source: REFERENCE },
} as const satisfies Record<string, Rule>;

const ID = /^[a-zA-Z0-9_-]{1,64}$/;
const CONTEXT_TOKENS = 200_000;
const MEMBERS = [
  ...['messages', 'system', 'toolConfig', 'inferenceConfig', 'additionalModelRequestFields', 'guardrailConfig'],
  ...['additionalModelResponseFieldPaths', 'performanceConfig', 'promptVariables', 'requestMetadata', 'serviceTier'],
  'outputConfig',
];

const usesOf = (message: Fields | undefined): readonly Fields[] =>
  listOf(message?.content).flatMap(({ toolUse }) => (toolUse === undefined ? [] : [fieldsOf(toolUse)]));
const resultsOf = (message: Fields | undefined): readonly Fields[] =>
  listOf(message?.content).flatMap(({ toolResult }) => (toolResult === undefined ? [] : [fieldsOf(toolResult)]));

function judgeConverse(body: Fields): readonly Broken[] {
  const judge = new Judge('bedrock', rules);
  const messages = listOf(body.messages);
  judge.check('messages-present', messages.length > 0, 'messages');
  judge.check('first-is-user', messages.length === 0 || messages[0]!.role === 'user', 'messages.0');
  judge.check('last-is-user', messages.length === 0 || messages.at(-1)!.role === 'user', 'messages');
  for (const { text } of listOf(body.system)) judge.check('text-not-blank', !isBlank(text), 'system');
  let hasTools = false;
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`;
    const blocks = listOf(message.content);
    judge.check('roles-alternate', message.role !== messages[index - 1]?.role, at);
    judge.check('content-present', blocks.length > 0, at);
    for (const { text, reasoningContent } of blocks) {
      judge.check('text-not-blank', text === undefined || !isBlank(text), at);
      const reasoning = fieldsOf(fieldsOf(reasoningContent).reasoningText);
      if (reasoningContent !== undefined)
        judge.check('reasoning-signature', reasoning.signature === signatureOf(textOf(reasoning.text)), at);
    }
    checkUses(judge, message, messages[index - 1], messages[index + 1], at);
    hasTools ||= usesOf(message).length + resultsOf(message).length > 0;
  }
  const tools = listOf(fieldsOf(body.toolConfig).tools).map(({ toolSpec }) => fieldsOf(toolSpec));
  judge.check('tools-declared', !hasTools || tools.length > 0, 'toolConfig');
  judge.check(
    'tool-name',
    tools.every(({ name }) => ID.test(textOf(name))),
    'toolConfig',
  );
  judge.check('tools-distinct', !hasDuplicates(tools.map(({ name }) => textOf(name))), 'toolConfig');
  judge.check(
    'schema-portable',
    tools.every(({ inputSchema }) => isPortableSchema(fieldsOf(inputSchema).json)),
    'toolConfig',
  );
  judge.check('context-length', roughTokens(body) <= CONTEXT_TOKENS, 'messages');
  for (const name of unknownMembers(body, MEMBERS)) judge.check('known-members', false, name);
  return judge.broken;
}

function checkUses(
  judge: Judge<keyof typeof rules>,
  message: Fields,
  before: Fields | undefined,
  after: Fields | undefined,
  at: string,
): void {
  const uses = usesOf(message);
  const ids = uses.map(({ toolUseId }) => textOf(toolUseId));
  judge.check('ids-distinct', !hasDuplicates(ids), at);
  judge.check(
    'use-id',
    ids.every((id) => ID.test(id)),
    at,
  );
  judge.check(
    'tool-name',
    uses.every(({ name }) => ID.test(textOf(name))),
    at,
  );
  judge.check(
    'input-object',
    uses.every(({ input }) => isObject(input)),
    at,
  );
  const sorted = (list: readonly Fields[]): string =>
    list
      .map(({ toolUseId }) => textOf(toolUseId))
      .sort()
      .join();
  if (uses.length > 0) judge.check('uses-answered', sorted(uses) === sorted(resultsOf(after)), at);
  const results = resultsOf(message);
  if (results.length > 0) judge.check('uses-answered', sorted(results) === sorted(usesOf(before)), at);
  for (const { content } of results)
    for (const { text } of listOf(content)) judge.check('text-not-blank', text === undefined || !isBlank(text), at);
}

const signatureOf = (reasoning: string): string => `signed-${reasoning.length}`;
const reasonOf = ({ end, toolCalls = [] }: Said): string =>
  end === 'refusal'
    ? 'guardrail_intervened'
    : end === 'content-filter'
      ? 'content_filtered'
      : toolCalls.length > 0
        ? 'tool_use'
        : 'end_turn';
const USAGE = { inputTokens: 100, outputTokens: 20, totalTokens: 120 };

function whole(said: Said): object {
  const { reasoning, text, toolCalls = [] } = said;
  return {
    output: {
      message: {
        role: 'assistant',
        content: [
          ...(reasoning === undefined
            ? []
            : [{ reasoningContent: { reasoningText: { text: reasoning, signature: signatureOf(reasoning) } } }]),
          ...(text === undefined ? [] : [{ text }]),
          ...toolCalls.map(({ id, name, input }) => ({
            toolUse: { toolUseId: id, name, input: JSON.parse(input) as object },
          })),
        ],
      },
    },
    stopReason: reasonOf(said),
    metrics: { latencyMs: 100 },
    ...(said.isUsageAbsent !== true && { usage: USAGE }),
  };
}

/** A frame: lengths, their checksum, headers, payload, the checksum of all (smithy.io/2.0/aws/amazon-eventstream.html). */
function frame(headers: Readonly<Record<string, string>>, payload: object): Uint8Array {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const size = Buffer.alloc(2);
      size.writeUInt16BE(Buffer.byteLength(value));
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), size, Buffer.from(value)]);
    }),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(8 + 4 + head.length + body.length + 4, 0);
  prelude.writeUInt32BE(head.length, 4);
  const sum = (bytes: Buffer): Buffer => {
    const four = Buffer.alloc(4);
    four.writeUInt32BE(crc32(bytes));
    return four;
  };
  const unsummed = Buffer.concat([prelude, sum(prelude), head, body]);
  return Buffer.concat([unsummed, sum(unsummed)]);
}

const JSON_HEADER = { ':content-type': 'application/json' };
const piece = (type: string, payload: object): Uint8Array =>
  frame({ ':event-type': type, ...JSON_HEADER, ':message-type': 'event' }, payload);

function stream(said: Said) {
  const { reasoning, text, toolCalls = [] } = said;
  const frames = [piece('messageStart', { role: 'assistant' })];
  let index = 0;
  const block = (start: object | undefined, deltas: readonly object[]): void => {
    if (start !== undefined) frames.push(piece('contentBlockStart', { contentBlockIndex: index, start }));
    frames.push(
      ...deltas.map((delta) => piece('contentBlockDelta', { contentBlockIndex: index, delta })),
      piece('contentBlockStop', { contentBlockIndex: index }),
    );
    index += 1;
  };
  if (reasoning !== undefined)
    block(undefined, [
      ...wordsOf(reasoning).map((word) => ({ reasoningContent: { text: word } })),
      { reasoningContent: { signature: signatureOf(reasoning) } },
    ]);
  if (text !== undefined)
    block(
      undefined,
      wordsOf(text).map((word) => ({ text: word })),
    );
  const before = frames.length;
  for (const { id, name, input } of toolCalls)
    block(
      { toolUse: { toolUseId: id, name } },
      halvesOf(input).map((half) => ({ toolUse: { input: half } })),
    );
  frames.push(piece('messageStop', { stopReason: reasonOf(said) }));
  if (said.isUsageAbsent !== true) frames.push(piece('metadata', { usage: USAGE, metrics: { latencyMs: 100 } }));
  return { frames, cutAt: before + 2 };
}

const errorOf = (status: number, type: string, message: string) => ({
  status,
  headers: { 'x-amzn-errortype': type },
  body: { message },
});

export const bedrock: Family = {
  name: 'bedrock',
  rules,
  judge: judgeConverse,
  isStreamed: (path) => path.endsWith('/converse-stream'),
  whole,
  stream,
  streamType: 'application/vnd.amazon.eventstream',
  errors: {
    'rate-limited': errorOf(429, 'ThrottlingException', 'Too many requests, please wait before trying again.'),
    'rate-limited-with-wait': {
      ...errorOf(429, 'ThrottlingException', 'Too many tokens, please wait before trying again.'),
      headers: { 'x-amzn-errortype': 'ThrottlingException', 'retry-after': '20' },
    },
    unavailable: errorOf(503, 'ServiceUnavailableException', 'Bedrock is unable to process your request.'),
    'context-length': errorOf(400, 'ValidationException', 'Input is too long for requested model.'),
  },
  refuse: (message) => errorOf(400, 'ValidationException', message),
  // AWS's older services answer so behind some gateways; Converse itself sends a status.
  errorBody: { message: 'The system encountered an unexpected error during processing.' },
  errorFrame: frame(
    { ':exception-type': 'modelStreamErrorException', ...JSON_HEADER, ':message-type': 'exception' },
    { message: 'The system encountered an unexpected error during processing.', originalStatusCode: 424 },
  ),
  languageModel: (fetch, baseUrl) =>
    // The package has the interface of another version nested in it.
    createAmazonBedrock({ region: 'eu-central-1', apiKey: 'not-a-key', baseURL: baseUrl, fetch })(
      'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
    ) as unknown as LanguageModelV4,
};
