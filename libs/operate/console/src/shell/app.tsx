/** Owns the frame around every page: the navigation, its keys, light and dark, and the signed-in user. */

import { QueryClientProvider } from '@tanstack/react-query';
import { Component, lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { Failure, Loading } from '../parts/answers.tsx';
import { Key } from '../parts/words.tsx';
import { plain, short } from '../text/format.ts';
import { hasKey, queries, signOut, useLost, useSignedOut } from './client.ts';
import { INBOX_COUNTED_MAX, useInboxCount } from './inbox-count.ts';
import { Link } from './link.tsx';
import { type Right, useMay } from './rights.ts';
import { go, usePlace } from './router.ts';
import { ShortcutHelp } from './shortcut-help.tsx';
import { useShortcuts } from './shortcuts.ts';
import { SignIn } from './sign-in.tsx';
import { chooseTheme, useOtherTheme } from './theme.ts';

/** Contains the failure of a page, so that the others keep working. */
class Guarded extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    return error === null ? (
      this.props.children
    ) : (
      <Failure error={error} again={() => this.setState({ error: null })} />
    );
  }
}

const Fleet = lazy(() => import('../pages/fleet.tsx').then(({ FleetPage }) => ({ default: FleetPage })));
const List = lazy(() => import('../pages/workflows.tsx').then(({ WorkflowsPage }) => ({ default: WorkflowsPage })));
const One = lazy(() => import('../workflow/page.tsx').then(({ WorkflowPage }) => ({ default: WorkflowPage })));
const Sessions = lazy(() => import('../pages/sessions.tsx').then(({ SessionsPage }) => ({ default: SessionsPage })));
const Rejected = lazy(() => import('../pages/rejected.tsx').then(({ RejectedPage }) => ({ default: RejectedPage })));
const Storage = lazy(() => import('../pages/storage.tsx').then(({ StoragePage }) => ({ default: StoragePage })));
const Schedules = lazy(() =>
  import('../pages/schedules.tsx').then(({ SchedulesPage }) => ({ default: SchedulesPage })),
);
const Jobs = lazy(() => import('../pages/jobs.tsx').then(({ JobsPage }) => ({ default: JobsPage })));
const Inbox = lazy(() => import('../pages/inbox.tsx').then(({ InboxPage }) => ({ default: InboxPage })));

const TITLE_MAX_CHARS = 80;

interface Destination {
  readonly part: string;
  readonly name: string;
  readonly key: string;
  readonly icon: string;
  /** Without it the page would be empty. */
  readonly right?: Right;
}

const DESTINATIONS: readonly Destination[] = [
  {
    part: '',
    name: 'Fleet',
    key: 'f',
    icon: 'M2 11c2-2.500 3.500-2.500 5.500 0s3.500 2.500 5.500 0M2 6c2-2.500 3.500-2.500 5.500 0S11 8.500 13 6',
  },
  { part: 'workflows', name: 'Workflows', key: 'w', icon: 'M2.500 4h10M2.500 7.500h10M2.500 11h6' },
  {
    part: 'inbox',
    name: 'Inbox',
    key: 'i',
    icon: 'M2 8.500 4 3h7l2 5.500v3.500H2zM2 8.500h3.500l1 1.500h2l1-1.500H13',
  },
  {
    part: 'schedules',
    name: 'Schedules',
    key: 'c',
    icon: 'M2 7.500a5.500 5.500 0 1 0 11 0 5.500 5.500 0 1 0-11 0M7.500 4v3.500l2.500 2',
  },
  {
    part: 'jobs',
    name: 'Jobs',
    key: 'j',
    icon: 'M2.500 3h7v7h-7zM5.500 12.500h7v-7',
  },
  {
    part: 'sessions',
    name: 'Sessions',
    key: 's',
    right: 'content',
    icon: 'M2 3.5h8v6H5.5L3.500 11.500v-2H2zM12 6h1v5h-1v1.500L10.500 11H8',
  },
  {
    part: 'rejected',
    name: 'Rejected',
    key: 'r',
    icon: 'M7.500 2v7M7.500 12.500v.1M2 7.500a5.500 5.500 0 1 0 11 0 5.500 5.500 0 1 0-11 0',
  },
  {
    part: 'storage',
    name: 'Storage',
    key: 't',
    right: 'administer',
    icon: 'M2 4c0-2.500 11-2.500 11 0v7c0 2.500-11 2.500-11 0zM2 4c0 2.500 11 2.500 11 0M2 7.500c0 2.500 11 2.500 11 0',
  },
];

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <Frame />
    </QueryClientProvider>
  );
}

function Frame() {
  const place = usePlace();
  const isSignedOut = useSignedOut();
  const isLost = useLost();
  const [isHelp, setHelp] = useState(false);
  const may = useMay();
  const destinations = DESTINATIONS.filter(({ right }) => right === undefined || may(right));
  useShortcuts('Go to', [
    ...destinations.map(({ part, name, key }) => ({ keys: `g ${key}`, what: name, run: () => go(`/${part}`) })),
    { keys: '?', what: 'All keys', run: () => setHelp(true) },
  ]);
  const [first = '', second] = place.parts;
  const title = second ?? DESTINATIONS.find(({ part }) => part === first)?.name ?? 'Tidemark';
  useEffect(() => {
    document.title = `${plain(title).slice(0, TITLE_MAX_CHARS)} · Tidemark`;
  }, [title]);
  if (isSignedOut) return <SignIn />;
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="side">
        <Link to="/" className="brand" label="Tidemark, fleet">
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M2 8.500c2.600-3 4.600-3 7 0s4.600 3 7 0 4.200-2.900 6-1" />
            <path d="M2 15.500c2.600-3 4.600-3 7 0s4.600 3 7 0 4.200-2.900 6-1" opacity=".5" />
          </svg>
          <span>Tidemark</span>
        </Link>
        <nav aria-label="Pages">
          {destinations.map(({ part, name, key, icon }) => (
            <Link key={part} to={`/${part}`} current={part === first} title={`g ${key}`}>
              <svg viewBox="0 0 15 15" aria-hidden="true">
                <path d={icon} />
              </svg>
              <span>{name}</span>
              {part === 'inbox' ? <InboxCount /> : null}
            </Link>
          ))}
        </nav>
        <Foot onHelp={() => setHelp(true)} />
      </header>
      <main id="main" tabIndex={-1}>
        {isLost ? (
          <p className="lost" role="status">
            The server does not answer. What you see may be out of date; the page keeps trying.
          </p>
        ) : null}
        <Guarded key={first}>
          <Suspense fallback={<Loading />}>
            <Page parts={place.parts} query={place.query} />
          </Suspense>
        </Guarded>
      </main>
      {isHelp ? <ShortcutHelp onClose={() => setHelp(false)} /> : null}
    </div>
  );
}

function Page({ parts, query }: { readonly parts: readonly string[]; readonly query: URLSearchParams }) {
  const [first, second] = parts;
  if (first === undefined) return <Fleet />;
  if (first === 'workflows' && second === undefined) return <List query={query} />;
  if (first === 'workflows') return <One key={second} workflow={second!} query={query} />;
  if (first === 'inbox') return <Inbox query={query} />;
  if (first === 'schedules') return <Schedules schedule={second} />;
  if (first === 'jobs') return <Jobs job={second} tenant={query.get('tenant') ?? undefined} />;
  if (first === 'sessions') return <Sessions session={second} />;
  if (first === 'rejected') return <Rejected />;
  if (first === 'storage') return <Storage />;
  return (
    <div className="empty">
      <strong>There is no such page.</strong>
      <Link to="/">To the fleet</Link>
    </div>
  );
}

function InboxCount() {
  const { parked = 0, approvals = 0 } = useInboxCount() ?? {};
  const waiting = parked + approvals;
  if (waiting === 0) return null;
  const said = waiting >= INBOX_COUNTED_MAX ? `${INBOX_COUNTED_MAX}+` : short(waiting);
  return (
    <b className="count" title={`${said} wait for a person`}>
      {said}
    </b>
  );
}

function Foot({ onHelp }: { readonly onHelp: () => void }) {
  const next = useOtherTheme();
  return (
    <div className="foot">
      <button type="button" className="quiet" onClick={() => chooseTheme(next)} aria-label={`Use the ${next} theme`}>
        <svg viewBox="0 0 15 15" aria-hidden="true">
          <path
            d={
              next === 'dark'
                ? 'M12.500 9A5.500 5.500 0 0 1 6 2.500 5.500 5.500 0 1 0 12.500 9Z'
                : 'M7.500 4.500a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM7.500 1v1.500M7.500 12.500V14M1 7.500h1.500M12.500 7.500H14M3 3l1 1M11 11l1 1M3 12l1-1M11 4l1-1'
            }
          />
        </svg>
      </button>
      <button type="button" className="quiet" onClick={onHelp} aria-label="Keyboard shortcuts">
        <Key>?</Key>
      </button>
      {hasKey() ? (
        <button type="button" className="quiet" onClick={signOut}>
          Sign out
        </button>
      ) : null}
    </div>
  );
}
