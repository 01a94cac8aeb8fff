// A model without a model: what it does next follows by rule from the words of the prompt. So the agent runs without a key, and
// everybody gets the same answer from the same folder. It reads what any model would read: question, tool results, notes.

import type { BundleMessage } from '@tidemark/core';
import type { Model, ModelPrompt, ModelToolCall } from '@tidemark/runtime';
import { tokenizerFor } from '@tidemark/tokenizer';
import { stem, wordsOf } from './library.ts';

const READ_AT_ONCE = 2;
const READ_MAX = 6;
const SENTENCES_MAX = 5;
const SENTENCE_MAX_CHARS = 400;

export function ruleModel(): Model {
  const tokenizer = tokenizerFor();
  return {
    provider: 'rule',
    modelId: 'words-1',
    tokenizer,
    maxOutputTokens: 1_000,
    timeoutMs: 10_000,
    retry: { attempts: 1, firstDelayMs: 0, factor: 1, maxDelayMs: 0, jitter: 0, nonRetryable: [] },
    costMicros: () => 0,
    answer: async (prompt) => {
      const toolCalls = prompt.tools.length === 0 ? [] : nextCalls(prompt);
      const text = toolCalls.length > 0 ? '' : textFor(prompt);
      return {
        text,
        toolCalls,
        finishReason: toolCalls.length > 0 ? 'tool-calls' : 'stop',
        usage: {
          inputTokens: tokenizer.count(JSON.stringify(prompt.messages)),
          outputTokens: tokenizer.count(text + JSON.stringify(toolCalls)),
          cachedInputTokens: 0,
          reasoningTokens: 0,
        },
        detail: null,
      };
    },
  };
}

/** Reads what was found; where too little was, searches again with the rarer half of the words. */
function nextCalls({ messages }: ModelPrompt): readonly ModelToolCall[] {
  const calls = messages.flatMap(({ content }) => partsOf(content, 'tool-call'));
  const results = messages.flatMap(({ content }) => partsOf(content, 'tool-result'));
  const notes = notesIn(messages);
  const sourcesRead = new Set([...notes.keys(), ...calls.flatMap(({ input }) => sourceOf(input) ?? [])]);
  const found = results.flatMap(({ name, output }) => (name === 'search' ? sourcesIn(output) : []));
  const unread = [...new Set(found)].filter((source) => !sourcesRead.has(source));
  const call = (at: number, name: string, input: Record<string, string>): ModelToolCall => ({
    id: `${name}-${calls.length + notes.size + at + 1}`,
    name,
    input,
  });
  if (sourcesRead.size >= READ_MAX) return [];
  if (unread.length > 0) return unread.slice(0, READ_AT_ONCE).map((source, at) => call(at, 'read', { source }));
  const searches = calls.filter(({ name }) => name === 'search').length;
  const words = wordsOf(questionIn(messages)).toSorted((a, b) => b.length - a.length);
  const fewer = words.slice(0, Math.ceil(words.length / 2 ** searches));
  const isNew = searches === 0 || (searches < 3 && fewer.length < words.length && sourcesRead.size < READ_MAX / 2);
  return isNew && fewer.length > 0 ? [call(0, 'search', { words: fewer.join(' ') })] : [];
}

/** With tools at hand: that enough was read. Without: the sentences of the notes that hold most of the question's words. */
function textFor({ messages, tools, responseSchema }: ModelPrompt): string {
  const notes = notesIn(messages);
  if (tools.length > 0) return notes.size === 0 ? 'Nothing was found.' : `${notes.size} passages were read.`;
  const words = wordsOf(questionIn(messages)).map(stem);
  const best = [...notes]
    .flatMap(([source, note]) => sentencesOf(note).map((text) => ({ source, text, score: scoreOf(text, words) })))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.text.length - b.text.length)
    .slice(0, SENTENCES_MAX);
  const sources = [...new Set(best.map(({ source }) => source))];
  const said = best.map(({ text, source }) => `${text} [${sources.indexOf(source) + 1}]`).join('\n');
  const answer = said === '' ? 'The files say nothing of it.' : `By rule, the sentences that fit best:\n${said}`;
  return responseSchema === null ? answer : JSON.stringify({ answer, sources });
}

const scoreOf = (text: string, words: readonly string[]): number =>
  words.filter((word) => text.toLowerCase().includes(word)).length;

/** Sentences of paragraphs, items of lists, cells of tables; without the heading that comes first. */
const sentencesOf = (note: string): readonly string[] =>
  note
    .slice(note.indexOf('\n') + 1)
    .split(/\n\s{0,20}[-*] |\||\n\n|(?<=[.!?])\s+(?=[\p{Lu}\d])/u)
    .map((sentence) => sentence.replaceAll(/[*`]+/g, '').replaceAll(/\s+/g, ' ').trim())
    .filter((sentence) => sentence.length > 20 && sentence.length <= SENTENCE_MAX_CHARS);

type Content = BundleMessage['content'];
type Part = Exclude<Content, string>[number];

const partsOf = <Type extends Part['type']>(content: Content, type: Type): Extract<Part, { type: Type }>[] =>
  typeof content === 'string'
    ? []
    : (content as readonly Part[]).filter((part): part is Extract<Part, { type: Type }> => part.type === type);

const questionIn = (messages: readonly BundleMessage[]): string =>
  messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => partsOf(content, 'text'))
    .at(-1)?.text ?? '';

/** The phase's working memory, as bundles write it: a line of JSON for each key. */
function notesIn(messages: readonly BundleMessage[]): ReadonlyMap<string, string> {
  const system = messages.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n');
  const [, inside = ''] = system.split(/<working_memory[^<>]*>\n/, 2);
  const memory = inside.slice(0, Math.max(0, inside.indexOf('\n</working_memory>')));
  return new Map(memory.split('\n').flatMap((line) => (line === '' ? [] : Object.entries(JSON.parse(`{${line}}`)))));
}

const sourcesIn = (output: string): readonly string[] => output.match(/^\S+:\d+(?= {2})/gm) ?? [];

const sourceOf = (input: unknown): string | undefined => (input as { readonly source?: string } | null)?.source;
