/** Owns how a rebuilt bundle, a list of model calls and the comparison of two bundles read, for people. Pure. */

import type { Answer } from '@tidemark/client';
import type { BundleDiff, BundleMessage, Json, Manifest, ManifestItem } from '@tidemark/core';
import type { ModelAnswer } from '@tidemark/runtime';
import { shellWord } from '../text/shell.ts';
import { type Columns, tableOf } from '../text/table.ts';
import { count, counted, dateTime } from '../text/units.ts';
import { printable } from '../text/width.ts';
import type { Style } from './sections.ts';

type ListedCall = Answer<'GET /v1/workflows/{workflow}/calls'>['calls'][number];
type ModelCall = Answer<'GET /v1/workflows/{workflow}/at/{sequence}/calls'>['calls'][number];

/** The parts that are any JSON to the operation, as they are read here; content is absent for callers who may not see it. */
export type SeenCall = Omit<ModelCall, 'bundle' | 'manifest' | 'messages' | 'prompt' | 'answer'> & {
  readonly bundle?: { readonly hash: string };
  readonly manifest: Manifest | null;
  readonly messages?: readonly BundleMessage[] | null;
  readonly prompt?: readonly Json[];
  readonly answer?: ModelAnswer | null;
};

export function callsLines(id: string, calls: readonly ListedCall[], { paint, width }: Style): readonly string[] {
  if (calls.length === 0) return [`${printable(id)} has called no model.`];
  const rows = [...Map.groupBy(calls, ({ at }) => at).values()].flatMap((ofStep) =>
    ofStep
      .toSorted((a, b) => a.idempotency_key.localeCompare(b.idempotency_key, 'en', { numeric: true }))
      .map((call, index) => ({ ...call, number: index + 1 })),
  );
  const columns: Columns<(typeof rows)[number]> = [
    ['AT', ({ at }) => String(at), 'right'],
    ['CALL', ({ number }) => String(number), 'right'],
    ['TASK', ({ task }) => task],
    ['STATUS', ({ status }) => status],
    ['MADE', ({ made_at }) => dateTime(Date.parse(made_at))],
  ];
  return [
    ...tableOf(columns, rows, width, (text) => paint('bold', text)),
    '',
    `tidemark bundle ${shellWord(id)} --at ${calls.at(-1)!.at} rebuilds what the last one saw.`,
  ];
}

const usd = (micros: number | null): string =>
  micros === null ? 'no price' : `$${(micros / 1_000_000).toFixed(6).replace(/0{1,4}$/, '')}`;

export function bundleLines(
  call: SeenCall,
  shown: { readonly messages?: boolean | undefined; readonly items?: boolean | undefined },
  style: Style,
): readonly string[] {
  const { key, provider, model, bundle, manifest, messages, answer, identical, rebuilt, prompt = [] } = call;
  const { paint } = style;
  const head = [
    `${paint('bold', 'call')}     ${printable(key)}`,
    `${paint('bold', 'model')}    ${printable(`${provider} ${model}`)}`,
  ];
  if (answer != null) {
    const { usage, costMicros, latencyMs, finishReason } = answer;
    const estimated = usage.estimatedTokens === undefined ? '' : ` (${count(usage.estimatedTokens)} estimated)`;
    head.push(
      `${paint('bold', 'answer')}   ${finishReason}, ${count(usage.inputTokens)} tokens in, ${count(usage.outputTokens)} out${estimated}, ${usd(costMicros)}, ${count(latencyMs)} ms`,
    );
  }
  if (manifest === null) return [...head, 'It was made without a bundle.', ...promptLines(prompt, style)];
  const same = identical ? paint('green', 'identical to what was sent') : paint('red', 'NOT what was sent');
  const { totals, bundle_type: type } = manifest;
  head.push(
    `${paint('bold', 'bundle')}   ${type}, ${count(totals.token_estimate)} of ${count(totals.token_budget)} tokens, ${counted(totals.kept, 'piece')} of ${count(totals.items)} kept`,
    `${paint('bold', 'bytes')}    sha256 ${rebuilt} (${same})`,
    ...(bundle === undefined ? [] : [`${paint('bold', 'manifest')} sha256 ${bundle.hash}`]),
  );
  return [
    ...head,
    '',
    ...laneLines(manifest, style),
    ...manifest.items.filter(({ cut }) => cut !== undefined).map(cutLine),
    ...(shown.items === true ? ['', ...itemLines(manifest.items, style)] : []),
    // What the step itself sends is in all that was sent.
    ...(shown.messages === true
      ? ['', ...(messages ?? []).flatMap((message) => messageLines(message, style))]
      : promptLines(prompt, style)),
  ];
}

/** What a model did not see is said without being asked for. */
const cutLine = ({ place, type, cut }: ManifestItem): string =>
  `${printable(place)} ${type} was cut: ${count(cut!.chars)} of ${counted(cut!.of_chars, 'character')}, about ${counted(cut!.missing_tokens, 'token')} missing.`;

const promptLines = (prompt: readonly Json[], { paint }: Style): readonly string[] =>
  prompt.length === 0
    ? []
    : ['', paint('bold', 'sent by the step itself:'), ...prompt.map((message) => printable(JSON.stringify(message)))];

function laneLines({ directives, lanes }: Manifest, { paint, width }: Style): readonly string[] {
  const fixed = ['directives', { ...directives, share: null, trimmed: 0 }] as const;
  const rows = [fixed, ...Object.entries(lanes)];
  const columns: Columns<(typeof rows)[number]> = [
    ['LANE', ([lane]) => lane],
    ['SHARE', ([, { share }]) => (share === null ? '' : `${Math.round(share * 100)} %`), 'right'],
    ['KEPT', ([, { kept }]) => String(kept), 'right'],
    ['TRIMMED', ([, { trimmed }]) => String(trimmed), 'right'],
    ['TOKENS', ([, { tokens }]) => count(tokens), 'right'],
  ];
  return tableOf(columns, rows, width, (text) => paint('bold', text));
}

const stateOf = ({ state, cut }: ManifestItem): string =>
  cut === undefined ? state : `cut: ${count(cut.chars)} of ${counted(cut.of_chars, 'character')}`;

function itemLines(items: readonly ManifestItem[], { paint, width }: Style): readonly string[] {
  const columns: Columns<ManifestItem> = [
    ['PLACE', ({ place }) => place],
    ['TYPE', ({ type }) => type],
    ['STATE', stateOf, undefined, ({ state, cut }, text) => (state === 'kept' && !cut ? text : paint('yellow', text))],
    ['TOKENS', ({ tokens }) => (tokens === null ? '' : count(tokens)), 'right'],
    ['DIGEST', ({ digest }) => digest.slice(0, 12)],
  ];
  return tableOf(columns, items, width, (text) => paint('bold', text));
}

function messageLines(message: BundleMessage, { paint }: Style): readonly string[] {
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

export function diffLines(diff: BundleDiff, style: Style): readonly string[] {
  const { paint } = style;
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
