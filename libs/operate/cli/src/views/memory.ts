/** Owns how memory scopes, and the hand-overs between phases, read on a terminal. Pure. */

import type { Answer, Checkpoint } from '@tidemark/client';
import type { Json } from '@tidemark/core';
import type { Columns } from '../text/table.ts';
import { count, counted, dateTime } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { INDENT, type Style, section, tableLines, valueLines } from './sections.ts';

type Scopes = Checkpoint['memory_scope_snapshot'];
export type Handover = Answer<'GET /v1/workflows/{workflow}/handovers'>['handovers'][number];

/** `memory`: content of working memory; undefined: it may not be seen. None for a workflow without phases. */
export function memoryLines(
  { system_context: system, working_memory: working, trace }: Scopes,
  memory: Readonly<Record<string, Json>> | undefined,
  style: Style,
): readonly string[] {
  const { paint } = style;
  const { phase, keys, tokens, budget_tokens: budget } = working;
  if (phase === null && keys.length === 0) return [];
  const size = tokens === null ? '' : `, ${count(tokens)}${budget === null ? '' : ` of ${count(budget)}`} tokens`;
  const systemWords =
    system.keys === null ? 'not known here (--workflows)' : system.keys.length === 0 ? 'none' : system.keys.join(', ');
  const held =
    memory === undefined
      ? keys.map((key) => `${INDENT}${printable(key)}`)
      : keys.length === 0
        ? []
        : valueLines(memory, style);
  return [
    paint('bold', `Working memory of phase ${printable(phase ?? '')}: ${counted(keys.length, 'key')}${size}`),
    ...held,
    paint('dim', `${INDENT}system context: ${systemWords}; trace: ${counted(trace.length, 'checkpoint')}`),
  ];
}

/** The newest first: when, with which version's system context, which keys each carried and left, and how they differ from those of the compared one. */
export const handoverLines = (handovers: readonly Handover[], style: Style): readonly string[] =>
  section(
    'Hand-overs between phases',
    handovers.length === 0 ? [`${INDENT}none`] : tableLines(HANDOVERS, handovers, style),
    style,
  );

const HANDOVERS: Columns<Handover> = [
  ['#', (one) => count(one.sequence_number), 'right'],
  ['TIME', (one) => dateTime(Date.parse(one.at))],
  ['VERSION', (one) => `v${one.system_context_version}`],
  ['PHASES', (one) => `${one.from_phase ?? ''} → ${one.to_phase}`],
  ['CARRIED', (one) => one.carried_keys.join(', '), 8],
  ['LEFT', (one) => one.left_keys.join(', '), 8],
  ['AGAINST', ({ against }) => (against === null ? '' : `#${against}`)],
  ['ADDED', (one) => one.added_keys.join(', '), 8],
  ['REMOVED', (one) => one.removed_keys.join(', '), 8],
  ['KEPT', (one) => one.kept_keys.join(', '), 8],
];

/** `superseded by #5`. */
export const statusWords = ({ status, superseded_by: by }: Pick<Checkpoint, 'status' | 'superseded_by'>): string =>
  status === null ? 'not known' : status === 'superseded' && by !== null ? `superseded by #${by}` : status;
