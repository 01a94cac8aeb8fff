/** Owns the inbox: approvals of tasks, and workflows that need a person; the question of each, and answering it here. */

import { type InfiniteData, useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query';
import '../styles/inbox.css';
import { type Approval, ApprovalCard, askApprovals } from '../form/approval.tsx';
import { Answer, Empty, Failure, Loading } from '../parts/answers.tsx';
import { More, useWalk } from '../parts/table.tsx';
import { Ago, Name } from '../parts/words.tsx';
import { api, LIST_PERIOD_MS } from '../shell/client.ts';
import { Link, WorkflowLink } from '../shell/link.tsx';
import { addressOf, go } from '../shell/router.ts';
import { counted, plain, words } from '../text/format.ts';
import { QuestionCard } from '../workflow/question.tsx';
import { useFleetChanges } from './fleet-changes.ts';

/** Entries of one read; further ones on request. */
const PAGE_COUNT = 50;

interface Entry {
  readonly workflow: string;
  /** Of an approval; null: the workflow itself asks. */
  readonly task: string | null;
  readonly title: string;
  readonly definition: string;
  readonly at: string;
  readonly assignee: string | null;
  readonly approval: Approval | null;
  /** The question is loaded as well. */
  readonly isReported: boolean;
}

const ofApproval = (approval: Approval): Omit<Entry, 'isReported'> => ({
  ...{ workflow: approval.workflow, task: approval.task, definition: approval.definition, at: approval.asked_at },
  ...{ title: approval.title ?? words(approval.name), assignee: approval.assignee, approval },
});

const placeOf = ({ workflow, task }: Pick<Entry, 'workflow' | 'task'>): string =>
  addressOf(['inbox'], { workflow, task: task ?? undefined });

const pageOf = (cursor: unknown) => ({ limit: PAGE_COUNT, ...(cursor !== '' && { cursor: String(cursor) }) });

type Page = Awaited<ReturnType<typeof askApprovals>>;

/** Questions are read page by page, once and when the page's entries change. */
function useReported(polled: InfiniteData<Page> | undefined): readonly Entry[] {
  const reported = useQueries({
    queries: (polled?.pages ?? []).map((page, index) => {
      const cursor = polled!.pageParams[index];
      return {
        queryKey: ['content', 'approvals', cursor, page.approvals.map(keyOf)],
        queryFn: ({ signal }: { readonly signal: AbortSignal }) => askApprovals(pageOf(cursor), signal),
        staleTime: Number.POSITIVE_INFINITY,
        placeholderData: (before: Page | undefined) => before,
      };
    }),
  });
  const known = new Map(reported.flatMap(({ data }) => data?.approvals ?? []).map((one) => [keyOf(one), one]));
  const all = (polled?.pages ?? []).flatMap(({ approvals }) => approvals);
  return all.map((one) => ({ ...ofApproval(known.get(keyOf(one)) ?? one), isReported: known.has(keyOf(one)) }));
}

const keyOf = ({ workflow, task }: Pick<Approval, 'workflow' | 'task'>): string => `${workflow} ${task}`;

function useEntries() {
  const common = { initialPageParam: '', placeholderData: <T,>(before: T): T => before };
  const cursorOf = (page: { readonly next_cursor: string | null }): string | undefined => page.next_cursor ?? undefined;
  const approvals = useInfiniteQuery({
    queryKey: ['approvals'],
    queryFn: ({ pageParam, signal }) => askApprovals({ ...pageOf(pageParam), content: 'false' }, signal),
    ...common,
    getNextPageParam: cursorOf,
    refetchInterval: LIST_PERIOD_MS,
  });
  const parked = useInfiniteQuery({
    queryKey: ['inbox'],
    queryFn: ({ pageParam, signal }) =>
      api.ask(
        'GET /v1/workflows',
        { query: { status: 'parked', limit: PAGE_COUNT, ...(pageParam !== '' && { cursor: pageParam }) } },
        { signal },
      ),
    ...common,
    getNextPageParam: cursorOf,
    refetchInterval: LIST_PERIOD_MS,
  });
  const asked = useReported(approvals.data);
  const stuck =
    parked.data?.pages.flatMap((page) =>
      page.workflows.map(
        ({ workflow, definition, reason, updated_at: at }): Entry => ({
          ...{ workflow, task: null, definition, at, assignee: null, approval: null, isReported: true },
          title: words(reason ?? 'a question'),
        }),
      ),
    ) ?? [];
  return { approvals, parked, asked, stuck };
}

export function InboxPage({ query }: { readonly query: URLSearchParams }) {
  const { approvals, parked, asked, stuck } = useEntries();
  useFleetChanges();
  const entries = [...asked, ...stuck];
  const [workflow, task] = [query.get('workflow'), query.get('task')];
  const found = entries.findIndex((each) => each.workflow === workflow && each.task === task);
  const at = workflow === null ? 0 : found;
  const pick = (index: number): void => go(placeOf(entries[index]!), { replaces: true });
  useWalk('Inbox', entries.length, at, pick);
  const error = approvals.error ?? parked.error;
  const isPending = approvals.isPending || parked.isPending;
  const hasMore = approvals.hasNextPage || parked.hasNextPage;
  const group = (title: string, list: readonly Entry[], from: number) =>
    list.length === 0 ? null : (
      <section aria-label={title}>
        <h3>
          {title} <span className="dim">{list.length}</span>
        </h3>
        <ul>
          {list.map((entry, index) => (
            <EntryLine key={`${entry.workflow} ${entry.task}`} entry={entry} isPicked={from + index === at} />
          ))}
        </ul>
      </section>
    );
  return (
    <div className="page whole inbox">
      <header>
        <h1>Inbox</h1>
        {isPending ? null : (
          <span className="dim">
            {counted(asked.length, 'approval')} and {counted(stuck.length, 'question')}
            {hasMore ? ', and more' : ''}
          </span>
        )}
      </header>
      {error !== null && entries.length === 0 ? (
        <Failure error={error} again={() => void Promise.all([approvals.refetch(), parked.refetch()])} />
      ) : isPending ? (
        <Loading />
      ) : entries.length === 0 ? (
        <Empty title="Nothing needs a person.">Approvals and questions of workflows appear here.</Empty>
      ) : (
        <div className="inbox-split" data-picked={workflow !== null}>
          <div className="inbox-list">
            {group('Approvals', asked, 0)}
            <More of={approvals} what="approvals" />
            {group('Questions', stuck, asked.length)}
            <More of={parked} what="questions" />
          </div>
          <Asked
            key={`${at === -1 ? workflow : entries[at]!.workflow} ${at === -1 ? task : entries[at]!.task}`}
            workflow={at === -1 ? workflow! : entries[at]!.workflow}
            approval={at === -1 ? null : entries[at]!.approval}
            isReported={at === -1 || entries[at]!.isReported}
          />
        </div>
      )}
    </div>
  );
}

function EntryLine({ entry, isPicked }: { readonly entry: Entry; readonly isPicked: boolean }) {
  const { workflow, title, definition, at, assignee } = entry;
  return (
    <li>
      <Link to={placeOf(entry)} current={isPicked} className="entry">
        <b>{plain(title)}</b>
        <span className="dim">
          <Ago at={at} />
        </span>
        <Name of={workflow} />
        <span className="dim cut">{plain(assignee ?? definition)}</span>
      </Link>
    </li>
  );
}

function Asked(props: { readonly workflow: string; readonly approval: Approval | null; readonly isReported: boolean }) {
  const { workflow, approval, isReported } = props;
  return (
    <section className="asked">
      <header>
        <Link to="/inbox" className="body-link back">
          All
        </Link>
        <h2>
          <WorkflowLink of={workflow} className="body-link" />
        </h2>
      </header>
      {approval === null ? (
        <Stuck workflow={workflow} />
      ) : !isReported ? (
        <Loading />
      ) : (
        <ApprovalCard approval={approval} onDone={() => go('/inbox', { replaces: true })} />
      )}
    </section>
  );
}

function Stuck({ workflow }: { readonly workflow: string }) {
  const view = useQuery({
    queryKey: ['workflow', workflow, 'question'],
    queryFn: ({ signal }) => api.run(workflow).get({ signal }),
  });
  return (
    <Answer query={view}>
      {({ question, last_action }) => (
        <>
          {last_action === '' ? null : (
            <p className="dim">
              Last action: <bdi>{plain(last_action)}</bdi>
            </p>
          )}
          {question === null ? (
            <p className="dim">It has no open question any more.</p>
          ) : (
            <QuestionCard {...{ workflow, question }} />
          )}
        </>
      )}
    </Answer>
  );
}
