/** Owns the timeline as a list, drawn only where it is visible: what happened, on which worker, how long it took, what it cost. */

import { useVirtualizer } from '@tanstack/react-virtual';
import { spendJson } from '@tidemark/core';
import type { EffectEntry, Entry, NoteEntry } from '@tidemark/core/timeline';
import { memo, useEffect, useRef } from 'react';
import '../styles/timeline.css';
import { Chip } from '../parts/words.tsx';
import { useAsk } from '../shell/ask.ts';
import { Link } from '../shell/link.tsx';
import { workflowAddress } from '../shell/router.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { duration, isFree, moneyOf, plain, tokensOf } from '../text/format.ts';
import type { Timeline } from './rows.ts';

const ROW_PX = 28;
const LANE_PX = 13;
const LANES_SHOWN_COUNT = 8;

export interface TimelineListProps {
  readonly timeline: Timeline;
  readonly version: number;
  readonly selected: number | undefined;
  readonly onSelect: (row: number) => void;
  /** Scrolls along with new events. */
  readonly follows: boolean;
}

export function TimelineList({ timeline, version, selected, onSelect, follows }: TimelineListProps) {
  const box = useRef<HTMLDivElement>(null);
  const { rows } = timeline;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  const shownAt = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (selected === undefined || shownAt.current === selected) return;
    // The event in the address is loaded with its surroundings.
    virtual.scrollToIndex(selected, { align: shownAt.current === undefined ? 'center' : 'auto' });
    shownAt.current = selected;
  }, [selected, virtual]);
  useEffect(() => {
    void version;
    if (follows && rows.length > 0) virtual.scrollToIndex(rows.length - 1);
  }, [follows, version, rows.length, virtual]);
  const move = (by: number, isWanted: (row: Entry) => boolean = () => true): void => {
    const from = selected ?? (by > 0 ? -1 : rows.length);
    let at = from + by;
    while (at >= 0 && at < rows.length && !isWanted(rows[at]!)) at += by;
    if (at >= 0 && at < rows.length) onSelect(at);
  };
  useShortcuts('Timeline', [
    { keys: 'j', what: 'Next event', run: () => move(1) },
    { keys: 'k', what: 'Event before', run: () => move(-1) },
    { keys: 'n', what: 'Next checkpoint', run: () => move(1, ({ kind }) => kind === 'checkpoint') },
    { keys: 'p', what: 'Checkpoint before', run: () => move(-1, ({ kind }) => kind === 'checkpoint') },
    { keys: 'm', what: 'Next model call', run: () => move(1, (row) => row.kind === 'effect' && row.isModel) },
    {
      keys: 'x',
      what: 'Next lost worker',
      run: () => move(1, (row) => row.kind === 'note' && row.type === 'LeaseRevoked'),
    },
  ]);
  const lanes = Math.max(1, Math.min(timeline.holders.length, LANES_SHOWN_COUNT));
  return (
    <div className="timeline" ref={box} role="listbox" aria-label="Timeline" tabIndex={0}>
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {virtual.getVirtualItems().map(({ index, start }) => (
          <Line
            key={index}
            {...{ index, lanes, top: start, onSelect, row: rows[index]!, before: rows[index - 1] }}
            state={stateOf(rows[index]!)}
            sinceMs={rows[index]!.atMs - timeline.openedAtMs}
            isSelected={index === selected}
          />
        ))}
      </div>
    </div>
  );
}

/** Changeable parts of a drawn row. */
const stateOf = (row: Entry): string => (row.kind === 'effect' ? `${row.status}${row.endedAtMs}` : '');

interface LineProps {
  readonly row: Entry;
  readonly before: Entry | undefined;
  readonly index: number;
  readonly top: number;
  readonly lanes: number;
  readonly sinceMs: number;
  readonly state: string;
  readonly isSelected: boolean;
  readonly onSelect: (row: number) => void;
}

const Line = memo(function Line({ row, before, index, top, lanes, sinceMs, isSelected, onSelect }: LineProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: j and k move through the list
    <div
      role="option"
      aria-selected={isSelected}
      tabIndex={-1}
      className="line"
      data-kind={row.kind}
      data-tone={row.kind === 'note' ? row.description.tone : row.kind === 'effect' ? row.status : undefined}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(index)}
    >
      <span className="line-time">{duration(sinceMs)}</span>
      <Gutter row={row} before={before} lanes={lanes} />
      <What row={row} />
      <span className="line-took">{took(row)}</span>
      <span className="line-tokens">
        {row.kind === 'note' || row.spent.tokens === 0 ? '' : tokensOf(spendJson(row.spent))}
      </span>
      <span className="line-cost">
        {row.kind === 'note' || isFree(spendJson(row.spent)) ? '' : moneyOf(spendJson(row.spent))}
      </span>
    </div>
  );
});

function What({ row }: { readonly row: Entry }) {
  if (row.kind === 'checkpoint') {
    return (
      <span className="what">
        <b className="sequence">{row.sequence}</b>
        <bdi className="step">{plain(row.step)}</bdi>
        {row.lastAction === '' || row.lastAction === row.step ? null : (
          <bdi className="said">{plain(row.lastAction)}</bdi>
        )}
      </span>
    );
  }
  return row.kind === 'effect' ? <EffectWords row={row} /> : <NoteWords row={row} />;
}

function EffectWords({ row }: { readonly row: EffectEntry }) {
  const { operation, isModel, status, effectKind, attempt } = row;
  return (
    <span className="what effect">
      <bdi className={isModel ? 'operation model' : 'operation'}>{plain(operation)}</bdi>
      {effectKind === 'irreversible' ? <Chip>irreversible</Chip> : null}
      {attempt > 1 ? <Chip tone="good">called again · {attempt}</Chip> : null}
      {status === 'done' ? null : (
        <Chip tone={status === 'running' || status === 'pending' ? 'warn' : 'bad'}>
          {status === 'running' ? 'under way' : status === 'lost' ? 'no answer' : status}
        </Chip>
      )}
    </span>
  );
}

const NoteWords = ({
  row: {
    type,
    description: { title, detail, about, words, facts },
  },
}: {
  readonly row: NoteEntry;
}) => (
  <span className="what note">
    <span className="title">{title}</span>
    {detail === '' ? null : <bdi className="said">{plain(detail)}</bdi>}
    {words === '' ? null : <bdi className="said">{plain(words)}</bdi>}
    {typeof facts?.retry_ms === 'number' ? <span className="said">again in {duration(facts.retry_ms)}</span> : null}
    {about === undefined ? null : (
      <bdi className="said">
        <Link to={workflowAddress(about)} className="body-link">
          {plain(about)}
        </Link>
      </bdi>
    )}
    {about !== undefined && type === 'ChildClosed' ? <ChildName child={about} /> : null}
  </span>
);

/** A child that is not among a parent's first ones is shown by its id alone. */
const NAMED_CHILDREN_COUNT = 200;
const NAMES_STALE_MS = 10_000;

/** Definition of a child. Read once for all children of a parent: their ids begin with its own. */
function ChildName({ child }: { readonly child: string }) {
  const parent = child.slice(0, Math.max(0, child.lastIndexOf('~')));
  const { data } = useAsk(
    ['child-names', parent],
    'GET /v1/workflows/{workflow}/children',
    { params: { workflow: parent }, query: { limit: NAMED_CHILDREN_COUNT } },
    { enabled: parent !== '', staleTime: NAMES_STALE_MS },
  );
  const known = data?.children.find(({ workflow }) => workflow === child);
  return known === undefined ? null : <bdi className="said">{plain(known.definition)}</bdi>;
}

function took(row: Entry): string {
  if (row.kind === 'effect') return row.endedAtMs === undefined ? '' : duration(row.endedAtMs - row.atMs);
  if (row.kind === 'checkpoint') return row.startedAtMs === undefined ? '' : duration(row.atMs - row.startedAtMs);
  return '';
}

const laneX = (lane: number): number => 8 + Math.min(lane, LANES_SHOWN_COUNT - 1) * LANE_PX;

/** The worker's line, from row to row; it bends where another one continues. */
function Gutter({
  row,
  before,
  lanes,
}: {
  readonly row: Entry;
  readonly before: Entry | undefined;
  readonly lanes: number;
}) {
  const lane = row.lane >= 0 ? row.lane : row.held;
  const came = before === undefined ? -1 : before.held >= 0 ? before.held : -1;
  const middle = ROW_PX / 2;
  const x = laneX(Math.max(lane, 0));
  return (
    <svg className="gutter" width={10 + lanes * LANE_PX} height={ROW_PX} aria-hidden="true">
      {came >= 0 ? (
        <path
          data-lane={came % 6}
          d={came === lane ? `M${x} 0V${middle}` : `M${laneX(came)} 0C${laneX(came)} ${middle} ${x} 2 ${x} ${middle}`}
        />
      ) : null}
      {row.held >= 0 ? <path data-lane={row.held % 6} d={`M${laneX(row.held)} ${middle}V${ROW_PX}`} /> : null}
      <Dot row={row} x={x} y={middle} lane={lane} />
    </svg>
  );
}

function Dot({
  row,
  x,
  y,
  lane,
}: {
  readonly row: Entry;
  readonly x: number;
  readonly y: number;
  readonly lane: number;
}) {
  const of = lane < 0 ? undefined : lane % 6;
  if (row.kind === 'checkpoint') return <circle className="dot full" data-lane={of} cx={x} cy={y} r={4.5} />;
  if (row.kind === 'effect') {
    return row.isModel ? (
      <path className="dot model" d={`M${x} ${y - 4.5}l4.500 4.500-4.500 4.500-4.500-4.500z`} />
    ) : (
      <circle className="dot ring" data-lane={of} cx={x} cy={y} r={3} />
    );
  }
  if (row.type === 'LeaseRevoked')
    return <path className="dot lost" d={`M${x - 4} ${y - 4}l8 8M${x + 4} ${y - 4}l-8 8`} />;
  return (
    <rect className="dot note" data-tone={row.description.tone} x={x - 3} y={y - 3} width={6} height={6} rx={1.5} />
  );
}
