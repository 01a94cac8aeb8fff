/**
 * Finds rows in use that differ from what the log gives, by comparing each table with the rebuilt one, row by row. It leaves out what
 * compactors do in their own time: rows of history that were deleted or restored, and the records of that. Inputs: the schemas. Locks:
 * none. Cost: 2 s for a million rows.
 */

import type { ClosedTexts, RowComparison, RowDifference } from '@tidemark/ports';
import { nullableText, numberAt, type Row, textAt } from '../../sql-client.ts';
import { SPEND_COLUMNS } from '../spend-columns.ts';
import { inSchemas, type Schemas } from './switch-tables.ts';

interface Compared {
  readonly table: string;
  readonly key: readonly string[];
  /** Columns that may differ. */
  readonly ignored?: readonly string[];
  /** Columns whose text may be sealed. */
  readonly texts?: readonly string[];
  /** Columns that name records. */
  readonly places?: readonly string[];
  /** Condition on the rows `r` of either schema (`HERE`) that are compared; all by default. */
  readonly where?: string;
  /** Replaces the table of either schema (`HERE`) where rows of several tables make one. */
  readonly from?: string;
  /** The same for the new rows, where it differs. */
  readonly fresh?: string;
}

/**
 * The workflows that live in a partition by what was folded: from the rows in use without those whose opening is on its way, from the new
 * ones without those that were placed before their opening was found.
 */
const LIVING = (live: string, tenant: string, isFolded: string): string => `
  select p.partition, p.next, p.generation, ${live} as live, ${tenant} as tenant
  from HERE.partitions p left join (
    select partition, count(*) filter (where ${isFolded}) as folded, count(*) filter (where not ${isFolded}) as others,
      min(tenant) filter (where ${isFolded}) as tenant
    from HERE.placements l where live group by partition
  ) c on c.partition = p.partition`;

/** Excludes new rows that were only seeded. */
const FOLDED = 'exists (select from HERE.workflows w where w.workflow = l.workflow)';

const PLACEMENT = 'workflow, tenant, partition, generation, appended, live, session';

/**
 * Each sealing of one text gives other bytes, so the comparison takes whether there is one. A text whose key was destroyed also reads as `{}`. A caller with keys compares what such texts say.
 */
const masked = (column: string): string =>
  `case when r.${column} like 'sealed:%' or r.${column} = '{}' then 'sealed' else r.${column} end`;

/** A record is shorter once its key was destroyed. */
const withoutSize = (column: string): string => `regexp_replace(r.${column}, ':[0-9]+$', '')`;

const isUnopened = (column: string): string => `r.${column} like 'sealed:%'`;

/** Compares history where both have it. */
const HAS_ROWS = `exists (
  select from LIVE.workflows w join FRESH.workflows v on v.workflow = w.workflow
  where w.workflow = r.workflow and w.has_rows and v.has_rows)`;

/** Compares segments that both know; a compactor may record another at any time. */
const IN_BOTH = (starts: string): string => `exists (
  select from LIVE.segments a join FRESH.segments b on b.partition = a.partition and b.starts = a.starts
  where a.partition = r.partition and a.starts = r.${starts})`;

const history = (
  table: string,
  key: readonly string[],
  columns: Pick<Compared, 'places' | 'texts'> = {},
): Compared => ({
  ...columns,
  table,
  key,
  where: HAS_ROWS,
});

const COMPARED: readonly Compared[] = [
  {
    table: 'partitions',
    key: ['partition'],
    // The row's own columns, by which placing decides.
    from: LIVING(
      'p.live - coalesce(c.others, 0)',
      'case when p.live > coalesce(c.others, 0) then p.tenant end',
      'l.appended',
    ),
    fresh: LIVING('coalesce(c.folded, 0)', 'c.tenant', FOLDED),
  },
  {
    table: 'placements',
    key: ['workflow'],
    from: `select ${PLACEMENT} from HERE.placements l where appended`,
    fresh: `select ${PLACEMENT} from HERE.placements l where ${FOLDED}`,
  },
  {
    table: 'workflows',
    key: ['workflow'],
    ignored: ['has_rows', 'restored_at_ms', 'state', 'failure', 'words', 'is_continued'],
    texts: ['result'],
  },
  {
    table: 'workflows',
    key: ['workflow'],
    from: `select workflow, state from HERE.workflows`,
    where: `${HAS_ROWS} and r.state <> ''`,
  },
  { table: 'tasks', key: ['workflow', 'rank'] },
  history('checkpoints', ['workflow', 'sequence'], { places: ['payload'] }),
  history('effects', ['workflow', 'task_rank', 'key'], { places: ['payload', 'request'] }),
  history('events', ['workflow', 'position'], { places: ['payload'] }),
  history('fragments', ['workflow', 'sequence', 'index']),
  history('texts', ['workflow', 'digest'], { texts: ['text'] }),
  history('scopes', ['workflow', 'sequence'], { texts: ['change'] }),
  { table: 'timers', key: ['workflow', 'timer'] },
  {
    table: 'rejected',
    key: ['partition', 'offset'],
    where: `not exists (
      select from LIVE.segments s where s.partition = r.partition and s.ends > r."offset")`,
  },
  {
    table: 'memories',
    key: ['tenant', 'subject', 'kind', 'key'],
    ignored: ['id', 'mark', 'words_vector'],
    texts: ['value'],
  },
  { table: 'spends', key: ['workflow', 'key'] },
  {
    table: 'spend_hours',
    key: ['tenant', 'user_key', 'hour'],
    from: `select tenant, user_key, hour, ${SPEND_COLUMNS.map((name) => `round(sum(${name})::numeric, 3) as ${name}`).join(', ')}
      from HERE.spend_hours group by tenant, user_key, hour`,
  },
  { table: 'sessions', key: ['workflow'] },
  { table: 'segments', key: ['partition', 'starts'], ignored: ['tier', 'rows_dropped'], where: IN_BOTH('starts') },
  { table: 'segment_workflows', key: ['workflow', 'partition', 'starts'], where: IN_BOTH('starts') },
];

export interface Comparing {
  readonly table: string;
  readonly key: readonly string[];
  /** Counts differences, rows in use, and texts of theirs that were not opened. */
  readonly count: string;
  /** All differences, by key. */
  readonly find: string;
  /** Rows that agree but for their closed texts, by key: its columns, then the texts of either side. */
  readonly findClosed: string | undefined;
  readonly texts: readonly string[];
}

export function comparisons(schemas: Schemas): readonly Comparing[] {
  return COMPARED.map((compared) => {
    const { table, key, texts = [] } = compared;
    const joined = `(${rowsOf(compared, 'LIVE')}) a full join (${rowsOf(compared, 'FRESH')}) b on ${key.map((_, at) => `a.k${at} = b.k${at}`).join(' and ')}`;
    const keys = key.map((_, at) => `coalesce(a.k${at}, b.k${at})`);
    const changed = `(select string_agg(name, ',' order by name) from jsonb_object_keys(a.whole) name where a.whole -> name is distinct from b.whole -> name)`;
    const sides = ['a', 'b'].map((side) => texts.map((_, at) => `${side}.t${at}`));
    const closed = [...keys.map((each) => `${each}::text`), ...sides.flat()].join(', ');
    const isOther = texts.map((_, at) => `a.t${at} is distinct from b.t${at}`).join(' or ');
    return {
      table,
      key,
      texts,
      findClosed:
        texts.length === 0
          ? undefined
          : inSchemas(
              `select ${closed} from ${joined} where a.whole = b.whole and (${isOther}) order by ${keys.join(', ')}`,
              schemas,
            ),
      count: inSchemas(
        `select count(*) filter (where a.whole is distinct from b.whole), count(a.whole), coalesce(sum(a.unopened), 0) from ${joined}`,
        schemas,
      ),
      find: inSchemas(
        `select case when b.whole is null then 'extra' when a.whole is null then 'missing' else 'different' end, ${changed}, ${keys.map((each) => `${each}::text`).join(', ')}
from ${joined} where a.whole is distinct from b.whole order by ${keys.join(', ')}`,
        schemas,
      ),
    };
  });
}

/** Rows of one side: key columns, and all compared columns. */
function rowsOf(compared: Compared, schema: 'LIVE' | 'FRESH'): string {
  const { table, key, ignored = [], texts = [], places = [], where = 'true', from, fresh = from } = compared;
  const made = schema === 'LIVE' ? from : fresh;
  const rows = made === undefined ? `${schema}.${table}` : `(${made.replaceAll('HERE', schema)})`;
  const columns = key.map((column, at) => `r."${column}" as k${at}`).join(', ');
  const without = ignored.map((column) => ` - '${column}'`).join('');
  const masks = [
    ...texts.map((column) => `'${column}', ${masked(column)}`),
    ...places.map((column) => `'${column}', ${withoutSize(column)}`),
  ].join(', ');
  const whole = `to_jsonb(r)${without}${masks === '' ? '' : ` || jsonb_build_object(${masks})`}`;
  const unopened = texts.map((column) => `(${isUnopened(column)} is true)::int`).join(' + ') || '0';
  const raw = texts.map((column, at) => `, r."${column}" as t${at}`).join('');
  return `select ${columns}, ${whole} as whole, ${unopened} as unopened${raw} from ${rows} r where ${where}`;
}

export const countsOf = (row: Row): Omit<RowComparison, 'differences'> => ({
  differenceCount: numberAt(row, 0),
  rowCount: numberAt(row, 1),
  unopenedCount: numberAt(row, 2),
});

export const differenceOf = ({ table, key }: Pick<Comparing, 'table' | 'key'>, row: Row): RowDifference => {
  const what = textAt(row, 0) as RowDifference['what'];
  return {
    table,
    key: Object.fromEntries(key.map((column, at) => [column, textAt(row, at + 2)])),
    what,
    columns: what === 'different' ? textAt(row, 1).split(',') : [],
  };
};

export const closedOf = ({ table, key, texts }: Comparing, row: Row): ClosedTexts => {
  const side = (from: number) => Object.fromEntries(texts.map((column, at) => [column, nullableText(row, from + at)]));
  return {
    table,
    key: Object.fromEntries(key.map((column, at) => [column, textAt(row, at)])),
    inUse: side(key.length),
    made: side(key.length + texts.length),
  };
};
