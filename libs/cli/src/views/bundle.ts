/** Owns how a rebuilt bundle, a list of model calls and the comparison of two bundles read, for people and for programs. Pure. */

import { decodePayload } from '@tidemark/codec';
import type { BundleDiff, BundleMessage, Json, Manifest, ManifestItem } from '@tidemark/core';
import type { EffectRow } from '@tidemark/ports';
import type { ModelAnswer, RebuiltCall } from '@tidemark/runtime';
import type { Terminal } from '../terminal.ts';
import { table } from '../text/table.ts';
import { count, counted } from '../text/units.ts';
import { printable } from '../text/width.ts';

/** A model call of a workflow: `call` counts those of one checkpoint's step. */
export interface ListedCall {
  readonly at: number;
  readonly call: number;
  readonly effect: EffectRow;
}

type Look = Pick<Terminal, 'paint' | 'width'>;

export function callsLines(id: string, calls: readonly ListedCall[], { paint, width }: Look): readonly string[] {
  if (calls.length === 0) return [`${id} has asked no model.`];
  const columns = [
    { title: 'AT', align: 'right' },
    { title: 'CALL', align: 'right' },
    { title: 'MODEL', shrinksTo: 12 },
    { title: 'BUNDLE' },
    { title: 'STATUS' },
    { title: 'TOKENS', align: 'right' },
    { title: 'COST', align: 'right' },
  ] as const;
  const rows = calls.map(({ at, call, effect }) => {
    const { model, bundle } = askedIn(effect);
    const answer = answerIn(effect);
    const tokens = answer === undefined ? '' : count(answer.usage.inputTokens + answer.usage.outputTokens);
    const cost = answer === undefined ? '' : usd(answer.costMicros);
    return [String(at), String(call), printable(model), printable(bundle ?? '-'), effect.status, tokens, cost];
  });
  return [
    ...table(columns, rows, { width, title: (text) => paint('bold', text) }),
    '',
    `tidemark bundle ${id} --at ${calls.at(-1)!.at} rebuilds what the last one saw.`,
  ];
}

const askedIn = ({ request }: EffectRow): { readonly model: string; readonly bundle: string | null } =>
  request === null
    ? { model: '?', bundle: null }
    : (decodePayload('EffectIntended', request).request as { readonly model: string; readonly bundle: string | null });

function answerIn({ status, payload }: EffectRow): ModelAnswer | undefined {
  if (status !== 'done') return undefined;
  const resolved = decodePayload('EffectResolved', payload);
  return 'response' in resolved ? (resolved.response as unknown as ModelAnswer) : undefined;
}

const usd = (micros: number): string => `$${(micros / 1_000_000).toFixed(6).replace(/0{1,4}$/, '')}`;

export function bundleLines(
  call: RebuiltCall,
  shown: { readonly messages?: boolean | undefined; readonly items?: boolean | undefined },
  look: Look,
): readonly string[] {
  const { key, provider, model, bundle, answer, sent, rebuilt, prompt } = call;
  const { paint } = look;
  const head = [
    `${paint('bold', 'call')}     ${printable(key)}`,
    `${paint('bold', 'model')}    ${printable(`${provider} ${model}`)}`,
  ];
  if (answer !== null) {
    const { usage, costMicros, latencyMs, finishReason } = answer;
    head.push(
      `${paint('bold', 'answer')}   ${finishReason}, ${count(usage.inputTokens)} tokens in, ${count(usage.outputTokens)} out, ${usd(costMicros)}, ${count(latencyMs)} ms`,
    );
  }
  if (bundle === undefined) return [...head, 'It was made without a bundle.', ...promptLines(prompt, look)];
  const same = sent === rebuilt ? paint('green', 'identical to what was sent') : paint('red', 'NOT what was sent');
  const { totals, bundle_type: type } = bundle.manifest;
  head.push(
    `${paint('bold', 'bundle')}   ${type}, ${count(totals.token_estimate)} of ${count(totals.token_budget)} tokens, ${counted(totals.kept, 'piece')} of ${count(totals.items)} kept`,
    `${paint('bold', 'bytes')}    sha256 ${rebuilt} (${same})`,
    `${paint('bold', 'manifest')} sha256 ${bundle.hash}`,
  );
  return [
    ...head,
    '',
    ...laneLines(bundle.manifest, look),
    ...(shown.items === true ? ['', ...itemLines(bundle.manifest.items, look)] : []),
    ...(shown.messages === true ? ['', ...bundle.messages.flatMap((message) => messageLines(message, look))] : []),
    ...promptLines(prompt, look),
  ];
}

const promptLines = (prompt: readonly Json[], { paint }: Look): readonly string[] =>
  prompt.length === 0
    ? []
    : ['', paint('bold', 'sent by the step itself:'), ...prompt.map((message) => printable(JSON.stringify(message)))];

function laneLines({ directives, lanes }: Manifest, { paint, width }: Look): readonly string[] {
  const columns = [
    { title: 'LANE' },
    { title: 'SHARE', align: 'right' },
    { title: 'KEPT', align: 'right' },
    { title: 'TRIMMED', align: 'right' },
    { title: 'TOKENS', align: 'right' },
  ] as const;
  const rows = Object.entries(lanes).map(([lane, { share, kept, trimmed, tokens }]) => [
    lane,
    `${Math.round(share * 100)} %`,
    String(kept),
    String(trimmed),
    count(tokens),
  ]);
  const fixed = ['directives', '', String(directives.kept), '0', count(directives.tokens)];
  return table(columns, [fixed, ...rows], { width, title: (text) => paint('bold', text) });
}

function itemLines(items: readonly ManifestItem[], { paint, width }: Look): readonly string[] {
  const columns = [
    { title: 'PLACE' },
    { title: 'TYPE' },
    { title: 'STATE' },
    { title: 'TOKENS', align: 'right' },
    { title: 'DIGEST' },
  ] as const;
  const rows = items.map(({ place, type, state, tokens, digest }) => [
    printable(place),
    type,
    state === 'kept' ? state : { text: state, paint: (text: string) => paint('yellow', text) },
    tokens === null ? '' : count(tokens),
    digest.slice(0, 12),
  ]);
  return table(columns, rows, { width, title: (text) => paint('bold', text) });
}

function messageLines(message: BundleMessage, { paint }: Look): readonly string[] {
  const text =
    typeof message.content === 'string'
      ? message.content
      : message.content
          .map((part) => {
            if (part.type === 'text') return part.text;
            return part.type === 'tool-call'
              ? `→ ${part.name} ${JSON.stringify(part.input)}`
              : `← ${part.name} ${part.output}`;
          })
          .join('\n');
  return [paint('cyan', `[${message.role}]`), ...text.split('\n').map(printable), ''];
}

export function diffLines(diff: BundleDiff, look: Look): readonly string[] {
  const { paint } = look;
  if (diff.identical) return ['The two bundles are identical.'];
  const item = ({ place, type, tokens }: ManifestItem): string =>
    `${printable(place)} ${type}${tokens === null ? '' : ` (${counted(tokens, 'token')})`}`;
  const lanes = Object.entries(diff.lanes).filter(([, { change }]) => change !== 0);
  const { sameAtStart, sameAtEnd, removed, added } = diff.messages;
  return [
    ...diff.settings.map(({ field, before, after }) => `${field}: ${printable(before)} → ${printable(after)}`),
    ...diff.went.map((one) => paint('red', `- ${item(one)}`)),
    ...diff.came.map((one) => paint('green', `+ ${item(one)}`)),
    ...diff.changed.map(({ place, type, before, after }) =>
      paint('yellow', `~ ${printable(place)} ${type}: ${before.state} → ${after.state}`),
    ),
    ...lanes.map(
      ([lane, { before, after, change }]) => `${lane}: ${before} → ${after} tokens (${change > 0 ? '+' : ''}${change})`,
    ),
    `messages: ${sameAtStart} the same at the start, ${removed.length} gone, ${added.length} new, ${sameAtEnd} the same at the end`,
  ];
}
