/**
 * Finds rows in use that are not as the log makes them: each table against the one that was rebuilt, row by row. What compactors do at
 * their own time is left out: rows of history that were dropped or put back, and what is said of that. Inputs: the schemas. Locks: none.
 * Cost: 2 s for a million rows.
 */

import type { ClosedTexts, RowComparison, RowDifference } from '@tidemark/ports';
import { nullableText, numberAt, type Row, textAt } from '../../sql-client.ts';
import { inSchemas, type Schemas } from './switch-tables.ts';

interface Compared {
  readonly table: string;
  readonly key: readonly string[];
  /** Columns that may differ. */
  readonly ignored?: readonly string[];
  /** Columns whose text may be sealed, or in a blob. */
  readonly texts?: readonly string[];
  /** Columns that name records. */
  readonly places?: readonly string[];
  /** Which rows `r` of either schema (`HERE`) are compared; all by default. */
  readonly where?: string;
  /** Stands for the table of either schema (`HERE`), where rows of several make one. */
  readonly from?: string;
  /** The same of the new rows, where that is another one. */
  readonly fresh?: string;
}

/**
 * The workflows that live in a partition by what was folded: of those in use without the ones whose opening is on its way, of the new ones
 * without those that were placed before their opening was found.
 */
const LIVING = (live: string, tenant: string, isFolded: string): string => `
  select p.partition, p.next, p.generation, ${live} as live, ${tenant} as tenant
  from HERE.partitions p left join (
    select partition, count(*) filter (where ${isFolded}) as folded, count(*) filter (where not ${isFolded}) as others,
      min(tenant) filter (where ${isFolded}) as tenant
    from HERE.placements l where live group by partition
  ) c on c.partition = p.partition`;

/** Of the new rows: not only seeded. */
const FOLDED = 'exists (select from HERE.workflows w where w.workflow = l.workflow)';

const PLACEMENT = 'workflow, tenant, partition, generation, appended, live, session';

/**
 * The same text is sealed otherwise each time: that it is there is compared, and of one in a blob how large it is. `{}` is also what a text
 * reads as whose key was destroyed. Whoever has keys compares what such texts say.
 */
const masked = (column: string): string => `case
    when r.${column} like 'sealed:%' or r.${column} = '{}' then 'sealed'
    else regexp_replace(r.${column}, '^blob:[0-9a-f]{64}:', 'blob:') end`;

/** What a record says is shorter once its key was destroyed. */
const withoutSize = (column: string): string => `regexp_replace(r.${column}, ':[0-9]+$', '')`;

const isUnopened = (column: string): string => `(r.${column} like 'sealed:%' or r.${column} like 'blob:%')`;

/** History is compared where both have it. */
const HAS_ROWS = `exists (
  select from LIVE.workflows w join FRESH.workflows v on v.workflow = w.workflow
  where w.workflow = r.workflow and w.has_rows and v.has_rows)`;

/** Segments that both know of; a compactor may record another at any time. */
const IN_BOTH = (starts: string): string => `exists (
  select from LIVE.segments a join FRESH.segments b on b.partition = a.partition and b.starts = a.starts
  where a.partition = r.partition and a.starts = r.${starts})`;

const history = (table: string, key: readonly string[], held: Pick<Compared, 'places' | 'texts'> = {}): Compared => ({
  ...held,
  table,
  key,
  where: HAS_ROWS,
});

const COMPARED: readonly Compared[] = [
  {
    table: 'partitions',
    key: ['partition'],
    // What the row itself says, which placing goes by.
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
    ignored: ['has_rows', 'restored_at_ms', 'state', 'words', 'is_continued'],
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
    from: `select tenant, user_key, hour, round(sum(tokens)::numeric, 3) as tokens, round(sum(cost_micros)::numeric, 3) as cost_micros
      from HERE.spend_hours group by tenant, user_key, hour`,
  },
  { table: 'sessions', key: ['workflow'] },
  { table: 'segments', key: ['partition', 'starts'], ignored: ['tier', 'rows_dropped'], where: IN_BOTH('starts') },
  { table: 'segment_workflows', key: ['workflow', 'partition', 'starts'], where: IN_BOTH('starts') },
];

export interface Comparing {
  readonly table: string;
  readonly key: readonly string[];
  /** The number of differences, of rows in use, and of their texts that were not opened. */
  readonly count: string;
  /** All differences, by key. */
  readonly find: string;
  /** Rows that agree but for what closed texts say, by key: its columns, then the texts of either side. */
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

/** Rows of one side: key columns, and all that is compared. */
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
