/** Owns the workflow's holders, one after another: how long each held it, how that ended, what was under way then, and how it was resumed. */

import type { CheckpointEntry, EffectEntry, Entry, LeaseStretch } from '@tidemark/core/timeline';
import { Empty } from '../parts/answers.tsx';
import { Card } from '../parts/card.tsx';
import { type Column, DataTable } from '../parts/table.tsx';
import { Chip, Worker } from '../parts/words.tsx';
import { count, counted, duration, moment, plain, words } from '../text/format.ts';
import type { Timeline } from '../timeline/rows.ts';
import type { WatchedTimeline } from '../timeline/use-timeline.ts';

const SHOWN_COUNT = 300;

export function HoldersTab({ watched: { timeline } }: { readonly watched: WatchedTimeline }) {
  const { leases, holders, crashCount } = timeline;
  if (leases.length === 0) return <Empty title="No worker has held it yet." />;
  const nowMs = Date.now();
  return (
    <div className="cards-column">
      <Recoveries timeline={timeline} />
      <Card
        title="Leases"
        note={`${count(leases.length)} leases of ${count(holders.length)} workers, ${count(crashCount)} lost`}
      >
        <DataTable
          label="Leases"
          columns={columnsOf(timeline, nowMs)}
          rows={leases.toReversed().slice(0, SHOWN_COUNT)}
          keyOf={({ epoch, fromMs }) => `${epoch} ${fromMs}`}
        />
      </Card>
    </div>
  );
}

const columnsOf = (timeline: Timeline, nowMs: number): readonly Column<LeaseStretch>[] => [
  { name: 'Epoch', of: ({ epoch }) => epoch, isNumber: true },
  { name: 'Worker', of: ({ lane }) => <Worker holder={timeline.holders[lane] ?? null} lane={lane} /> },
  { name: 'From', of: ({ fromMs }) => moment(fromMs, nowMs) },
  { name: 'Held for', of: ({ fromMs, toMs = nowMs }) => duration(toMs - fromMs), isNumber: true },
  {
    name: 'Checkpoints',
    of: (lease) => rowsOf(timeline, lease).filter(({ kind }) => kind === 'checkpoint').length,
    isNumber: true,
  },
  { name: 'Ended', of: (lease) => <Ended lease={lease} /> },
  { name: 'Open calls', of: (lease) => <OpenCalls rows={rowsOf(timeline, lease)} timeline={timeline} /> },
];

/** Each lost worker: how the loss was noticed, who resumed from where and after how long, and the outcome of open calls. */
function Recoveries({ timeline }: { readonly timeline: Timeline }) {
  const { leases, holders } = timeline;
  const lost = leases.filter(({ end, reason }) => end === 'revoked' && reason !== 'asked');
  if (lost.length === 0) return null;
  return (
    <Card
      title="Recoveries"
      note={`${counted(lost.length, 'worker')} lost while it held this workflow`}
      label="Recoveries"
    >
      <ol className="recoveries">
        {lost
          .toReversed()
          .slice(0, SHOWN_COUNT)
          .map((lease) => {
            const next = leases[leases.indexOf(lease) + 1];
            const rows = rowsOf(timeline, lease);
            const last = rows.findLast(({ kind }) => kind !== 'note');
            const checkpoint = timeline.rows
              .slice(0, next?.fromEntry ?? timeline.rows.length)
              .findLast((row): row is CheckpointEntry => row.kind === 'checkpoint');
            return (
              <li key={`${lease.epoch} ${lease.fromMs}`}>
                <p>
                  <Chip tone="bad">{WHY[lease.reason] ?? plain(words(lease.reason))}</Chip>{' '}
                  <Worker holder={holders[lease.lane] ?? null} lane={lease.lane} /> was lost
                  {last === undefined || lease.toMs === undefined
                    ? '.'
                    : `, ${duration(lease.toMs - last.atMs)} after its last event.`}
                </p>
                <p>
                  {next === undefined ? (
                    'No other worker has taken it over yet.'
                  ) : (
                    <>
                      <Worker holder={holders[next.lane] ?? null} lane={next.lane} /> took it over{' '}
                      {duration(next.fromMs - (lease.toMs ?? next.fromMs))} later, from{' '}
                      {checkpoint === undefined ? 'its opening' : `checkpoint ${checkpoint.sequence}`}.
                    </>
                  )}
                </p>
                <div>
                  <span className="dim">Open calls: </span>
                  <OpenCalls rows={rows} timeline={timeline} />
                </div>
              </li>
            );
          })}
      </ol>
    </Card>
  );
}

function rowsOf({ rows, leases }: Timeline, lease: LeaseStretch): readonly Entry[] {
  const next = leases[leases.indexOf(lease) + 1];
  return rows.slice(lease.fromEntry, next?.fromEntry ?? rows.length);
}

const WHY: Readonly<Record<string, string>> = {
  'holder-dead': 'it no longer answered',
  'lease-not-listed': 'it no longer reported the lease',
  asked: 'requested by a person',
  idle: 'nothing to do for now',
  drain: 'its worker was stopping',
  fault: 'an error outside of any step',
  parked: 'it waits for a person',
  compensating: 'it is being compensated',
};

function Ended({ lease: { end, reason } }: { readonly lease: LeaseStretch }) {
  if (end === 'live') return <Chip tone="good">current</Chip>;
  const why = WHY[reason] ?? plain(words(reason));
  if (end === 'revoked') return <Chip tone={reason === 'asked' ? 'warn' : 'bad'}>revoked: {why}</Chip>;
  return <span className="dim">{why === '' ? 'the workflow ended' : `released: ${why}`}</span>;
}

/** Calls without an answer when the worker was lost, and their later outcomes. */
function OpenCalls({ rows, timeline }: { readonly rows: readonly Entry[]; readonly timeline: Timeline }) {
  const lost = rows.filter((row): row is EffectEntry => row.kind === 'effect' && row.status === 'lost');
  if (lost.length === 0) return <span className="dim">–</span>;
  return lost.map((row) => (
    <div key={`${row.key} ${row.attempt}`}>
      {plain(row.operation)} <span className="dim">{became(row, timeline)}</span>
    </div>
  ));
}

function became(lost: EffectEntry, { rows }: Timeline): string {
  const later = rows.findLast(
    (row): row is EffectEntry => row.kind === 'effect' && row.key === lost.key && row !== lost,
  );
  if (later === undefined || later.atMs < lost.atMs) return 'not resolved yet';
  return later.status === 'done' ? 'called again, done' : `called again, ${later.status}`;
}
