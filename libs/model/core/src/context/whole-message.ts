/**
 * Owns what a message is sent as that has more than the text of its fragments: an answer with reasoning and signatures, a user's message
 * with files. Must not decide what is kept.
 *
 * The text of the parts is a JSON array in the order of the message. `{ type: 'text', chars }` is the next so many characters of the
 * fragments' text, `{ type: 'tool-call' }` the next call, `{ type: 'file', chars, … }` a file, for which so many characters of the text stand
 * where it can't be shown. Any other is opaque. `providerMetadata` of a part goes back with it.
 *
 * Invariants: parts are sent only where all fragments of the message are there and the text is the one that they were made for, since
 * providers refuse a call without its reasoning; else the fragments are sent without them.
 */

import type { Json } from '../belief.ts';
import { type Fragment, placeName } from './fragment.ts';
import { FILE_BYTES_PER_TOKEN, FILE_TOKENS } from './limits.ts';
import type { FilePart, OpaquePart, TextPart } from './message.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Serves models of many vendors, whose names end at the last dot of the model's id: `us.anthropic.claude-…`. */
const BEDROCK = 'amazon-bedrock';

/**
 * Whose parts are sent to whom: the provider's name without that of its interface, and what the model's id says of its vendor
 * (`anthropic/…` of gateways). `openai.chat` gets what `openai.responses` gave; `anthropic` and `vertex.anthropic` are two, since one's
 * signatures prove nothing to the other, and so are two vendors behind one gateway.
 */
export function partsOwner({ provider, modelId }: { readonly provider: string; readonly modelId: string }): string {
  const isBedrock = provider === BEDROCK;
  const end = modelId.lastIndexOf(isBedrock ? '.' : '/');
  // An id of Bedrock without a dot is a profile of somebody's own, for any model.
  const vendor = end < 0 && isBedrock ? modelId : modelId.slice(0, Math.max(0, end));
  return [provider.replace(/\.[^.]*$/, ''), vendor].filter((name) => name !== '').join('/');
}

/** Stands for the part of a call, which is made from its fragment. */
export interface CallSlot {
  readonly type: 'call';
  readonly call: Fragment;
  readonly providerOptions?: Json;
}
export type WholePart = TextPart | FilePart | OpaquePart | CallSlot;

export interface WholeMessage {
  readonly provider: string | null;
  /** By place. */
  readonly members: readonly Fragment[];
  readonly parts: readonly WholePart[];
}

/** By each of their fragments. */
export type WholeMessages = ReadonlyMap<Fragment, WholeMessage>;

/** The messages with parts among these fragments; `isWanted`: whether the parts of this provider are sent. */
export function wholeMessages(
  fragments: readonly Fragment[],
  isWanted: (provider: string | null) => boolean,
): WholeMessages {
  const found = new Map<Fragment, WholeMessage>();
  const firsts = fragments.filter(({ parts }) => parts !== undefined && isWanted(parts.provider));
  for (const members of membersOf(firsts, fragments)) {
    const { provider, spans, text } = members[0]!.parts!;
    const parts = members.length === spans ? partsOf(text, members) : undefined;
    if (parts === undefined) continue;
    const whole = { provider, members, parts };
    for (const member of members) found.set(member, whole);
  }
  return found;
}

/** The fragments of each message that begins with one of these, as far as they are there. */
export function membersOf(
  firsts: readonly Fragment[],
  fragments: readonly Fragment[],
): readonly (readonly Fragment[])[] {
  if (firsts.length === 0) return [];
  const byPlace = new Map(fragments.map((fragment) => [placeName(fragment), fragment]));
  return firsts.map((first) => {
    const members = [first];
    for (let at = 1; at < first.parts!.spans; at++) {
      const member = byPlace.get(placeName({ ...first, index: first.index + at }));
      if (member === undefined) break;
      members.push(member);
    }
    return members;
  });
}

type StoredPart = { readonly [member: string]: Json | undefined };

/** Undefined: they are not of these fragments. */
function partsOf(stored: string, members: readonly Fragment[]): readonly WholePart[] | undefined {
  const calls = members.filter(({ type }) => type === 'tool_call');
  const text = members.map((member) => (member.type === 'tool_call' ? '' : member.text)).join('');
  let chars = 0;
  const next = (part: StoredPart): string => {
    const from = chars;
    chars += Number(part.chars);
    return text.slice(from, chars);
  };
  const parts = (JSON.parse(stored) as readonly StoredPart[]).flatMap((part): WholePart[] => {
    const options = part.providerMetadata === undefined ? {} : { providerOptions: part.providerMetadata };
    switch (part.type) {
      case 'source':
        return [];
      case 'text': {
        const own = typeof part.text === 'string' ? part.text : next(part);
        return own === '' && part.providerMetadata === undefined ? [] : [{ text: own, type: 'text', ...options }];
      }
      case 'tool-call': {
        if (part.providerExecuted === true) return [{ part: part as Json, type: 'opaque' }];
        const call = calls.shift();
        return call === undefined ? [] : [{ call, type: 'call', ...options }];
      }
      case 'file': {
        if (part.chars === undefined) return [{ part: part as Json, type: 'opaque' }];
        next(part);
        const { chars: _, ...file } = part;
        return [file as unknown as FilePart];
      }
      default:
        return [{ part: part as Json, type: 'opaque' }];
    }
  });
  // An answer of blanks alone has no fragment for them.
  const isSame = chars === text.length || text === '';
  return isSame && calls.length === 0 ? parts : undefined;
}

/** Tokens of the parts, without the inputs of calls. */
export const wholeTokens = ({ parts }: WholeMessage, tokenizer: Tokenizer): number =>
  parts.reduce((sum, part) => sum + partTokens(part, tokenizer), 0);

function partTokens(part: WholePart, tokenizer: Tokenizer): number {
  if (part.type === 'file') return fileTokens(part.mediaType, base64Bytes(part.data));
  if (part.type === 'opaque') return tokenizer.count(JSON.stringify(part.part));
  const options = part.providerOptions === undefined ? 0 : tokenizer.count(JSON.stringify(part.providerOptions));
  return options + (part.type === 'text' ? tokenizer.count(part.text) : 0);
}

/** The same for every model. What lies at an address counts as an image: nobody knows its size. */
export const fileTokens = (mediaType: string, sizeBytes: number): number =>
  /^image(?:\/|$)/.test(mediaType) ? FILE_TOKENS : Math.max(FILE_TOKENS, Math.ceil(sizeBytes / FILE_BYTES_PER_TOKEN));

const BASE64_BYTES_PER_CHAR = 3 / 4;
export const base64Bytes = (data = ''): number => data.length * BASE64_BYTES_PER_CHAR;
