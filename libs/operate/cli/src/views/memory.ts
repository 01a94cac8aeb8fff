/** Owns how memory scopes, and the hand-overs between phases, read on a terminal. Pure. */

import type { Answer, Checkpoint } from '@tidemark/client';
import type { Json } from '@tidemark/core';
import type { Terminal } from '../terminal.ts';
import { jsonLines } from '../text/json.ts';
import { table } from '../text/table.ts';
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
  const keysIn = (keys: readonly string[]): string => printable(keys.join(', '));
  const cells = handovers.map((one) => [
    count(one.sequence_number),
    printable(`${one.from_phase ?? ''} → ${one.to_phase}`),
    keysIn(one.carried_keys),
    keysIn(one.left_keys),
    one.against === null ? '' : `#${one.against}`,
    keysIn(one.added_keys),
    keysIn(one.removed_keys),
    keysIn(one.kept_keys),
  ]);
  const columns = [
    { title: '#', align: 'right' },
    { title: 'PHASES' },
    { title: 'CARRIED', shrinksTo: 8 },
    { title: 'LEFT', shrinksTo: 8 },
    { title: 'AGAINST' },
    { title: 'ADDED', shrinksTo: 8 },
    { title: 'REMOVED', shrinksTo: 8 },
    { title: 'KEPT', shrinksTo: 8 },
  ] as const;
  const options = {
    width: width === undefined ? undefined : width - INDENT.length,
    title: (text: string) => paint('dim', text),
  };
  return [title, ...table(columns, cells, options).map((line) => `${INDENT}${line}`)];
}

/** `superseded by #5`. */
export const statusWords = ({ status, superseded_by: by }: Pick<Checkpoint, 'status' | 'superseded_by'>): string =>
  status === null ? 'not known' : status === 'superseded' && by !== null ? `superseded by #${by}` : status;
