/** Owns Gemini's generateContent as a local judge. Its model signs the first call of each step, and wants the signature back. */

import { createGoogleGenerativeAI } from '@ai-sdk/google';
import {
  type Broken,
  event,
  type Family,
  type Fields,
  fieldsOf,
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

const REFERENCE = 'https://ai.google.dev/api/generate-content';
const CACHING = 'https://ai.google.dev/api/caching#FunctionDeclaration';

const rules = {
  'contents-present': { says: 'contents has at least one turn', source: REFERENCE },
  'first-is-user': { says: "the first turn is the user's", source: 'https://ai.google.dev/api/caching#Content' },
  'last-is-user': {
    says: "the request ends with the user's turn or function responses",
    source: 'https://github.com/crewAIInc/crewAI/pull/6973',
  },
  'parts-present': { says: 'a turn has parts, and a part of text has text', source: REFERENCE },
  'call-after-user': {
    says: "a turn of function calls comes right after the user's or function responses",
    source: 'https://github.com/google-gemini/gemini-cli/issues/11814',
  },
  'response-after-call': {
    says: 'function responses come right after the turn of their calls',
    source: 'https://github.com/langchain-ai/langchain/issues/27799',
  },
  'responses-counted': {
    says: 'a turn of function calls has as many responses as calls',
    source: 'https://github.com/google-gemini/gemini-cli/issues/4217',
  },
  'response-names': { says: 'a response has the name of its call', source: CACHING },
  'responses-alone': {
    says: 'a turn of function responses contains nothing else',
    source: 'https://github.com/anomalyco/opencode/pull/43479',
  },
  'ids-distinct': { says: 'ids of calls of one turn differ', source: 'https://ai.google.dev/api/caching#FunctionCall' },
  'function-name': {
    says: 'a name of a function begins with a letter or _, and has letters, digits, _, ., : and -, at most 64',
    source: CACHING,
  },
  'args-object': { says: 'args of a call are an object', source: 'https://ai.google.dev/api/caching#FunctionCall' },
  'signature-returned': {
    says: 'the first call of each step of the turn under way has the thought signature that it came with',
    source: 'https://ai.google.dev/gemini-api/docs/thought-signatures',
  },
  'tools-distinct': { says: 'names of function declarations differ', source: CACHING },
  'schema-portable': { says: 'parameters are an object schema', source: CACHING },
  'context-length': {
    says: 'the prompt fits into 1,048,576 tokens',
    source: 'https://ai.google.dev/gemini-api/docs/models',
  },
  'known-members': { says: 'the request has known members alone', source: REFERENCE },
} as const satisfies Record<string, Rule>;

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;
const CONTEXT_TOKENS = 1_048_576;
const MEMBERS = [
  ...['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'safetySettings', 'cachedContent'],
  ...['labels', 'serviceTier'],
];

const callsOf = (turn: Fields | undefined): readonly Fields[] =>
  listOf(turn?.parts).flatMap(({ functionCall }) => (functionCall === undefined ? [] : [fieldsOf(functionCall)]));
const responsesOf = (turn: Fields | undefined): readonly Fields[] =>
  listOf(turn?.parts).flatMap(({ functionResponse }) =>
    functionResponse === undefined ? [] : [fieldsOf(functionResponse)],
  );

function judgeContents(body: Fields): readonly Broken[] {
  const judge = new Judge('google', rules);
  const turns = listOf(body.contents);
  judge.check('contents-present', turns.length > 0, 'contents');
  judge.check('first-is-user', turns.length === 0 || turns[0]!.role === 'user', 'contents.0');
  judge.check('last-is-user', turns.length === 0 || turns.at(-1)!.role === 'user', 'contents');
  for (const [index, turn] of turns.entries()) {
    const at = `contents.${index}`;
    const parts = listOf(turn.parts);
    judge.check('parts-present', parts.length > 0 && parts.every((part) => part.text !== ''), at);
    checkCalls(judge, turn, turns[index - 1], turns[index + 1], at);
    checkResponses(judge, turn, turns[index - 1], at);
  }
  checkSignatures(judge, turns);
  const declared = listOf(body.tools).flatMap((tool) => listOf(tool.functionDeclarations));
  judge.check(
    'function-name',
    declared.every(({ name }) => NAME.test(textOf(name))),
    'tools',
  );
  judge.check('tools-distinct', !hasDuplicates(declared.map(({ name }) => textOf(name))), 'tools');
  for (const { parameters, parametersJsonSchema } of declared) {
    const schema = parameters ?? parametersJsonSchema;
    judge.check('schema-portable', schema === undefined || isPortableSchema(schema), 'tools');
  }
  judge.check('context-length', roughTokens(body) <= CONTEXT_TOKENS, 'contents');
  for (const name of unknownMembers(body, MEMBERS)) judge.check('known-members', false, name);
  return judge.broken;
}

type Check = Judge<keyof typeof rules>;

function checkCalls(
  judge: Check,
  turn: Fields,
  before: Fields | undefined,
  after: Fields | undefined,
  at: string,
): void {
  const calls = callsOf(turn);
  if (calls.length === 0) return;
  judge.check('call-after-user', before?.role === 'user', at);
  judge.check('responses-counted', responsesOf(after).length === calls.length, at);
  judge.check(
    'function-name',
    calls.every(({ name }) => NAME.test(textOf(name))),
    at,
  );
  judge.check(
    'args-object',
    calls.every(({ args }) => args === undefined || fieldsOf(args) === args),
    at,
  );
  const ids = calls.flatMap(({ id }) => (id === undefined ? [] : [textOf(id)]));
  judge.check('ids-distinct', !hasDuplicates(ids), at);
}

function checkResponses(judge: Check, turn: Fields, before: Fields | undefined, at: string): void {
  const responses = responsesOf(turn);
  if (responses.length === 0) return;
  const calls = callsOf(before);
  judge.check('response-after-call', calls.length > 0, at);
  judge.check('responses-alone', responses.length === listOf(turn.parts).length, at);
  const namesOf = (list: readonly Fields[]): string =>
    list
      .map(({ name }) => textOf(name))
      .sort()
      .join();
  judge.check('response-names', namesOf(responses) === namesOf(calls), at);
}

/** The value that Google publishes for calls of other models is taken. */
function checkSignatures(judge: Check, turns: readonly Fields[]): void {
  const asked = turns.findLastIndex((turn) => turn.role === 'user' && responsesOf(turn).length === 0);
  for (const [index, turn] of turns.entries()) {
    if (index < asked || callsOf(turn).length === 0) continue;
    const first = listOf(turn.parts).find((part) => part.functionCall !== undefined);
    judge.check('signature-returned', textOf(first?.thoughtSignature) !== '', `contents.${index}`);
  }
}

const SIGNATURE = 'c2lnbmVkLXRob3VnaHQ=';
const usageOf = ({ isUsageAbsent }: Said): object =>
  isUsageAbsent === true
    ? {}
    : { usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 } };

/** Parts in the order of the answer; the first call is signed. */
const partsOf = ({ reasoning, text, toolCalls = [] }: Said): readonly object[] => [
  ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
  ...(text === undefined ? [] : wordsOf(text).map((word) => ({ text: word }))),
  ...toolCalls.map(({ id, name, input }, index) => ({
    functionCall: { ...(id !== '' && { id }), name, args: JSON.parse(input) as object },
    ...(index === 0 && { thoughtSignature: SIGNATURE }),
  })),
];

const reasonOf = ({ end }: Said): string =>
  end === 'refusal' ? 'PROHIBITED_CONTENT' : end === 'content-filter' ? 'SAFETY' : 'STOP';

function whole(said: Said): object {
  const { text, ...rest } = said;
  const spoken = text === undefined ? partsOf(rest) : [{ text }, ...partsOf(rest)];
  return {
    candidates: [{ content: { role: 'model', parts: spoken }, finishReason: reasonOf(said), index: 0 }],
    modelVersion: 'gemini-3-pro-preview',
    responseId: 'response-1',
    ...usageOf(said),
  };
}

function stream(said: Said) {
  const piece = (parts: readonly object[], more: object = {}): string =>
    event({ candidates: [{ content: { role: 'model', parts }, index: 0, ...more }], responseId: 'response-1' });
  const frames = partsOf(said).map((part) => piece([part]));
  const last = event({
    candidates: [{ content: { role: 'model', parts: [] }, finishReason: reasonOf(said), index: 0 }],
    responseId: 'response-1',
    ...usageOf(said),
  });
  return { frames: [...frames, last], cutAt: frames.length - (said.toolCalls?.length ?? 0) };
}

const error = (code: number, status: string, message: string, details: readonly object[] = []): object => ({
  error: { code, message, status, ...(details.length > 0 && { details }) },
});

export const google: Family = {
  name: 'google',
  rules,
  judge: judgeContents,
  isStreamed: (path) => path.includes(':streamGenerateContent'),
  whole,
  stream,
  streamType: 'text/event-stream',
  errors: {
    'rate-limited': { status: 429, body: error(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted.') },
    'rate-limited-with-wait': {
      status: 429,
      body: error(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota. Please retry in 20s.', [
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '20s' },
      ]),
    },
    unavailable: { status: 503, body: error(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.') },
    'context-length': {
      status: 400,
      body: error(
        400,
        'INVALID_ARGUMENT',
        'The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).',
      ),
    },
  },
  refuse: (message) => ({ status: 400, body: error(400, 'INVALID_ARGUMENT', message) }),
  errorBody: error(500, 'INTERNAL', 'An internal error has occurred.'),
  errorFrame: event(error(500, 'INTERNAL', 'An internal error has occurred.')),
  languageModel: (fetch, baseUrl) =>
    createGoogleGenerativeAI({ apiKey: 'not-a-key', baseURL: baseUrl, fetch })('gemini-3-pro-preview'),
};
