/** Owns the mutations of what is sent to a model: the rules of docs/prompts.md, what is cut, and which result goes with which call. */

import type { Mutations } from './mutation.ts';

const PORTABLE = 'libs/model/core/src/context/portable-prompt.ts';
const CUT = 'libs/model/core/src/context/cut.ts';
const NEWEST = 'libs/model/core/src/context/newest.ts';
const OPEN_CALLS = 'libs/model/core/src/context/open-calls.ts';
const FIT_PROMPT = 'libs/author/ai/src/fit-prompt.ts';
const MODEL_CALLS = 'libs/engine/runtime/src/agent/model-calls.ts';
const RULES_TEST = 'libs/testkit/src/prompt-rules.test.ts';
const ASSEMBLE_TEST = 'libs/model/core/src/context/assemble.test.ts';
const CALLS_TEST = 'libs/testkit/src/model-calls.test.ts';
const MIDDLEWARE_TEST = 'libs/author/ai/src/middleware.test.ts';

export const PROMPTS_MUTATIONS: Mutations = {
  'second-system-message': {
    file: PORTABLE,
    edits: [
      ["role === 'system' && (own === undefined || begins < 0 || at < begins)", "role === 'system' && at < begins"],
    ],
    caughtBy: RULES_TEST,
    test: 'in form 1 they break no rule, and made fit again they stay as they are',
    breaks: 'A prompt has one system message, first (system-first).',
  },
  'assistant-begins': {
    file: PORTABLE,
    edits: [['if (this.#isUnbegun || (last', 'if ((last']],
    caughtBy: RULES_TEST,
    test: 'in form 1 they break no rule, and made fit again they stay as they are',
    breaks: 'The first turn of a prompt is the user’s (user-begins).',
  },
  'signed-beside-another': {
    file: PORTABLE,
    edits: [['(isSigned(last) || isSigned(turn))', 'turn === last']],
    caughtBy: 'libs/testkit/src/answer-parts.test.ts',
    test: 'go back in their place, are in the log once, and are rebuilt byte for byte',
    breaks: 'What a provider signed stands in no other answer.',
  },
  'user-after-user': {
    file: PORTABLE,
    edits: [['last.role !== turn.role ||', 'last !== turn ||']],
    caughtBy: RULES_TEST,
    test: 'in form 1 they break no rule, and made fit again they stay as they are',
    breaks: 'What one side says in a row is one message (roles-alternate).',
  },
  'call-without-result': {
    file: PORTABLE,
    edits: [["if (answered.length > 0) this.#turns.push({ role: 'tool', own: answeredOwn, content: answered });", '']],
    caughtBy: RULES_TEST,
    test: 'in form 1 they break no rule, and made fit again they stay as they are',
    breaks: 'Each call is followed by exactly its result (results-follow).',
  },
  'fields-of-results-are-lost': {
    file: PORTABLE,
    edits: [['answeredOwn = own ?? answeredOwn;', '']],
    caughtBy: RULES_TEST,
    test: 'fields of a provider stay with the results that they came with',
    breaks: 'A message with fields of its own is moved, never stripped of them.',
  },
  'user-after-results': {
    file: PORTABLE,
    edits: [["if (this.#isMistral && this.#turns.at(-1)?.role === 'tool')", 'if (false)']],
    caughtBy: RULES_TEST,
    test: 'in form 1-mistral they break no rule, and made fit again they stay as they are',
    breaks: "Mistral's models get an answer between results and the user (answer-after-results).",
  },
  'assistant-ends': {
    file: PORTABLE,
    edits: [
      [
        "if (this.#isUnbegun || this.#turns.at(-1)?.role === 'assistant') this.#goOn();",
        'if (this.#isUnbegun) this.#goOn();',
      ],
    ],
    caughtBy: RULES_TEST,
    test: 'in form 1 they break no rule, and made fit again they stay as they are',
    breaks: 'A prompt ends with the user or with results (user-ends).',
  },
  'empty-text': {
    file: PORTABLE,
    edits: [['content: parts.filter((part) => !(isPlainText(part) && isBlank(part.text)))', 'content: [...parts]']],
    caughtBy: RULES_TEST,
    test: 'in form 1 they break no rule, and made fit again they stay as they are',
    breaks: 'No text of a prompt is empty (no-empty-text).',
  },
  'text-after-calls': {
    file: PORTABLE,
    edits: [['if (first >= 0) content.splice(first, 0, ...late);', 'content.push(...late);']],
    caughtBy: RULES_TEST,
    test: 'in form 1 they break no rule, and made fit again they stay as they are',
    breaks: 'In an answer, what it says stands before what it calls (calls-last).',
  },
  'input-that-is-no-object': {
    file: PORTABLE,
    edits: [['input: isObject(part.input) ? part.input : { text: textOf(part.input) }', 'input: part.input']],
    caughtBy: RULES_TEST,
    test: 'in form 1 they break no rule, and made fit again they stay as they are',
    breaks: 'The input of a call is an object (object-input).',
  },
  'ids-used-again': {
    file: PORTABLE,
    edits: [['for (let taken = !isFit || this.#ids.has(sent);', 'for (let taken = !isFit;']],
    caughtBy: RULES_TEST,
    test: 'in form 1 they break no rule, and made fit again they stay as they are',
    breaks: 'Ids of calls are distinct in a prompt (portable-ids).',
  },
  'names-as-they-are': {
    file: PORTABLE,
    edits: [['this.#declared.get(name) ?? portableName(name)', 'this.#declared.get(name) ?? name']],
    caughtBy: RULES_TEST,
    test: 'in form 1 they break no rule, and made fit again they stay as they are',
    breaks: 'Names of tools are portable (portable-names).',
  },
  'newest-call-first': {
    file: OPEN_CALLS,
    edits: [['newest.calls.splice(Math.max(at, 0), 1)', 'newest.calls.splice(-1, 1)']],
    caughtBy: ASSEMBLE_TEST,
    breaks: 'Results go with the calls of one id in their order.',
  },
  'calls-share-an-id': {
    file: 'libs/author/sdk/src/model-call.ts',
    edits: [['({ ...call, id: idFor(call.id) })', '({ ...call })']],
    caughtBy: CALLS_TEST,
    test: 'calls without an id get their own results, whichever is there first',
    failsWith: "fragments[0].call is ''",
    breaks: 'A step knows the calls of an answer from each other, though the provider gave no ids.',
  },
  'long-result-is-dropped': {
    file: 'libs/model/core/src/context/choice.ts',
    edits: [['[...units.messages, ...units.tool_results].filter', '[...units.messages].filter']],
    caughtBy: CALLS_TEST,
    test: 'result of 150 KB under a budget of 4,000 is seen, cut, under its call',
    failsWith: 'run-away-loop',
    breaks: 'A result that is too long is cut, and never vanishes.',
  },
  'summarised-request': {
    file: 'libs/model/core/src/context/conversation.ts',
    edits: [['    if (fragment === request) return undefined;\n', '']],
    caughtBy: ASSEMBLE_TEST,
    breaks: 'The newest request is shown though a summary covers it.',
  },
  'cut-in-a-pair': {
    file: CUT,
    edits: [['before >= 0xd800 && before <= 0xdbff ? at - 1 : at', 'before >= 0xd800 && before <= 0xdbff ? at : at']],
    caughtBy: ASSEMBLE_TEST,
    breaks: 'A text is never cut within a code point.',
  },
  'cut-over-the-room': {
    file: CUT,
    edits: [
      ['if (tokens <= room) return', 'if (tokens >= 0) return'],
      ['room - tokenizer.count(written(note(0, text.length)))', 'room'],
    ],
    caughtBy: ASSEMBLE_TEST,
    breaks: 'What is cut fits the room that it has.',
  },
  'cut-without-end': {
    file: CUT,
    edits: [
      ['if (end === 0) return undefined;', 'if (keptChars === 0) return undefined;'],
      ['if (end === 0) return 0;', ''],
    ],
    caughtBy: 'libs/model/core/src/context/assemble.properties.test.ts',
    test: 'a cut ends whatever the text and the room, and fits',
    breaks: 'A cut ends: the worker that assembles a prompt never hangs.',
  },
  'all-is-counted': {
    file: CUT,
    edits: [['from < text.length && tokens <= limit;', 'from < text.length;']],
    caughtBy: ASSEMBLE_TEST,
    breaks: 'A result of megabytes is not tokenised to its end.',
  },
  'first-result-takes-all': {
    file: NEWEST,
    edits: [['Math.floor(left / (units.length - at))', 'left']],
    caughtBy: ASSEMBLE_TEST,
    failsWith: 'does not fit even when cut',
    breaks: 'Results of one answer share the room.',
  },
  'prompt-over-the-model': {
    file: MODEL_CALLS,
    edits: [['      this.#checkLength(reserved.tokens);\n', '']],
    caughtBy: CALLS_TEST,
    test: 'no room for is refused at no cost, and the step is not tried again',
    breaks: 'A prompt that the model has no room for is refused before it is paid.',
  },
  'form-of-the-day': {
    file: MODEL_CALLS,
    edits: [['recorded?.sent?.form ?? this', 'this']],
    caughtBy: CALLS_TEST,
    test: 'recorded, though the model takes another one by then: with a bundle',
    breaks: 'Another attempt at a call sends the bytes of the first.',
  },
  'vendors-are-one': {
    file: 'libs/model/core/src/context/whole-message.ts',
    edits: [["filter((name) => name !== '')", 'slice(0, 1)']],
    caughtBy: 'libs/testkit/src/answer-parts.test.ts',
    test: 'go to no other provider, and the digest says so: test, openai/gpt',
    breaks: 'What one vendor signed goes to no other behind the same gateway.',
  },
  'two-names-are-one': {
    file: PORTABLE,
    edits: [['shortDigest(name)', '""']],
    caughtBy: RULES_TEST,
    test: 'names are made fit as tools are declared, and what they were is known',
    breaks: 'Two tools of a history are two in what is sent.',
  },
  'made-name-is-unknown': {
    file: MODEL_CALLS,
    edits: [['isOffered ? name : (this.#sent?.originals.get(name) ?? name)', 'name']],
    caughtBy: CALLS_TEST,
    test: 'the record keeps them, and an answer by the made name means the tool',
    breaks: 'A tool that a model calls by a made name is the real one.',
  },
  'sdk-prompt-as-it-is': {
    file: FIT_PROMPT,
    edits: [['  if (isKeptElsewhere(providerOptions)) return', '  if (!isKeptElsewhere(providerOptions)) return']],
    caughtBy: MIDDLEWARE_TEST,
    breaks: 'Prompts of the AI SDK are held to the same rules.',
  },
  'streamed-ids-as-given': {
    file: 'libs/author/ai/src/middleware.ts',
    edits: [['this.#come(owned(part))', 'this.#come(part)']],
    caughtBy: MIDDLEWARE_TEST,
    test: 'calls of a stream have the ids that the record has, and each its own result',
    breaks: 'Calls of one answer are told apart by their ids.',
  },
  'references-for-words': {
    file: 'libs/author/ai/src/unstored.ts',
    edits: [['?? isKeptElsewhere(given);', '?? !isKeptElsewhere(given);']],
    caughtBy: 'test/integration/answer-parts.test.ts',
    breaks: 'OpenAI gets what was said, and no id of what it may have lost.',
  },
  'undefined-is-a-field': {
    file: FIT_PROMPT,
    edits: [['filter(([, value]) => value !== undefined)', 'filter(() => true)']],
    caughtBy: 'libs/author/ai/src/sdk-prompts.test.ts',
    breaks: 'Prompts of the AI SDK are held to the same rules.',
  },
};
