/** Owns short texts that look alike everywhere: states, times, workers, money. All of them are text and nothing else. */

import { useSyncExternalStore } from 'react';
import { ago, holderName, moment, plain, words } from '../text/format.ts';

/** Period at which relative times are updated, in milliseconds. */
const NOW_PERIOD_MS = 1_000;

let now = Date.now();
const heard = new Set<() => void>();
let timer: number | undefined;

/** One timer for all of them, and none while none is shown. */
function hearNow(hear: () => void): () => void {
  heard.add(hear);
  timer ??= window.setInterval(() => {
    if (document.hidden) return;
    now = Date.now();
    for (const each of heard) each();
  }, NOW_PERIOD_MS);
  return () => {
    heard.delete(hear);
    if (heard.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

export const useNow = (): number => useSyncExternalStore(hearNow, () => now);

export function Ago({ at }: { readonly at: string }) {
  const nowMs = useNow();
  const atMs = Date.parse(at);
  return (
    <time dateTime={at} title={moment(atMs, 0)}>
      {ago(atMs, nowMs)}
    </time>
  );
}

/** Words of the server, whose instants are shown as how far they are: `at` doesn't go with that. */
export function Words({ of }: { readonly of: string }) {
  return plain(of)
    .split(/(?:\bat )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/)
    .map((part, index) => (index % 2 === 0 ? part : <Ago key={index} at={part} />));
}

const SAID: Readonly<Record<string, string>> = {
  running: 'Running',
  ready: 'Ready',
  waiting: 'Waiting',
  parked: 'Needs a person',
  open: 'Open',
  compensating: 'Compensating',
  compensated: 'Compensated',
  completed: 'Completed',
  failed: 'Failed',
};

export function State(props: {
  readonly of: string;
  readonly reason?: string | null | undefined;
  /** Replaces its usual word. */
  readonly says?: string;
}) {
  const { of, reason, says = SAID[of] ?? plain(of) } = props;
  return (
    <span className="state" data-state={of}>
      <i aria-hidden="true" />
      {says}
      {reason == null || reason === '' ? null : <small title={plain(words(reason))}>{plain(words(reason))}</small>}
    </span>
  );
}

/** Names from people and programs: text, in its own direction, cut where it is too long. */
export function Name({ of, mono = true }: { readonly of: string; readonly mono?: boolean }) {
  return (
    <bdi className={mono ? 'name mono' : 'name'} title={plain(of)}>
      {plain(of)}
    </bdi>
  );
}

export function Worker({ holder, lane }: { readonly holder: string | null; readonly lane?: number | undefined }) {
  if (holder === null) return <span className="dim">–</span>;
  return (
    <span className="worker" title={plain(holder)} data-lane={lane === undefined ? undefined : lane % 6}>
      {lane === undefined ? null : <i aria-hidden="true" />}
      {plain(holderName(holder))}
    </span>
  );
}

/** A word or two that stand out. */
export const Chip = ({
  tone,
  children,
}: {
  readonly tone?: string | undefined;
  readonly children: React.ReactNode;
}) => (
  <span className="chip" data-tone={tone}>
    {children}
  </span>
);

export function Key({ children }: { readonly children: string }) {
  return <kbd>{children}</kbd>;
}

export function Fact({
  name,
  children,
  tone,
}: {
  readonly name: string;
  readonly children: React.ReactNode;
  readonly tone?: string | undefined;
}) {
  return (
    <div className="fact" data-tone={tone}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
