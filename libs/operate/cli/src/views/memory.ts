/** Owns how memory scopes, and the hand-overs between phases, read on a terminal. Pure. */

import type { Answer, Checkpoint } from '@tidemark/client';
import type { Json } from '@tidemark/core';
import type { Terminal } from '../terminal.ts';
import { jsonLines } from '../text/json.ts';
import { type Columns, tableOf } from '../text/table.ts';
import { count, counted } from '../text/units.ts';
import { printable } from '../text/width.ts';

type Scopes = Checkpoint['memory_scope_snapshot'];
export type Handover = Answer<'GET /v1/workflows/{workflow}/handovers'>['handovers'][number];
type Style = Pick<Terminal, 'paint' | 'width'>;

const INDENT = '  ';
const VALUE_LINES_MAX = 24;

/** `memory`: content of working memory; undefined: it may not be seen. None for a workflow without phases. */
export function memoryLines(
  { system_context: system, working_memory: working, trace }: Scopes,
  memory: Readonly<Record<string, Json>> | undefined,
  { paint, width }: Style,
): readonly string[] {
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
        : jsonLines(memory, { indent: INDENT, linesMax: VALUE_LINES_MAX, columns: width });
  return [
    paint('bold', `Working memory of phase ${printable(phase ?? '')}: ${counted(keys.length, 'key')}${size}`),
    ...held,
    paint('dim', `${INDENT}system context: ${systemWords}; trace: ${counted(trace.length, 'checkpoint')}`),
  ];
}

/** The newest first: which keys each carried and left, and how they differ from those of the compared one. */
export function handoverLines(handovers: readonly Handover[], { paint, width }: Style): readonly string[] {
  const title = paint('bold', 'Hand-overs between phases');
  if (handovers.length === 0) return [title, `${INDENT}none`];
  const inner = width === undefined ? undefined : width - INDENT.length;
  const lines = tableOf(HANDOVERS, handovers, inner, (text) => paint('dim', text));
  return [title, ...lines.map((line) => `${INDENT}${line}`)];
}

const HANDOVERS: Columns<Handover> = [
  ['#', (one) => count(one.sequence_number), 'right'],
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
