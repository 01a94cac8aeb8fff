/** Owns the search of the list as text and as filters. Pure. */

export const STATUSES = ['open', 'parked', 'compensating', 'completed', 'failed', 'compensated'] as const;
export type Status = (typeof STATUSES)[number];
/** Statuses of closed workflows. */
export const OVER: readonly Status[] = ['completed', 'failed', 'compensated'];

const NAMES = ['text', 'definition', 'reason', 'error', 'tenant', 'session', 'user', 'tag'] as const;
export type Named = (typeof NAMES)[number];

export type Filter = { readonly [N in Named]?: string } & {
  readonly status?: Status;
  /** Also those that others have started. */
  readonly children?: 'true';
};

export function filterOf(query: URLSearchParams): Filter {
  const status = STATUSES.find((each) => each === query.get('status'));
  const named = NAMES.flatMap((name) => {
    const value = query.get(name)?.trim() ?? '';
    return value === '' ? [] : [[name, value] as const];
  });
  const children = query.get('children') === 'true' && { children: 'true' as const };
  return { ...Object.fromEntries(named), ...(status !== undefined && { status }), ...children };
}

/** As the list asks: without what others have started, unless that is asked for. */
export const searchOf = ({ children, ...filter }: Filter) => ({
  ...filter,
  ...(children === undefined && { roots: 'true' as const }),
});

/** `billing user:ana tag:q3`: words, and filters by name. */
export function parsedSearch(given: string): Readonly<Partial<Record<Named, string>>> {
  const found: Partial<Record<Named, string>> = {};
  const rest = given.replaceAll(/(?<=^|\s)(\w+):(\S+)/g, (whole, name: string, value: string) => {
    const known = NAMES.find((each) => each === name && each !== 'text');
    if (known === undefined) return whole;
    found[known] = value;
    return '';
  });
  const text = rest.trim().replaceAll(/\s+/g, ' ');
  return text === '' ? found : { ...found, text };
}

/** The text from which `parsedSearch` makes the same filters. */
export const searchText = (filter: Filter): string =>
  NAMES.flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [name === 'text' ? value : `${name}:${value}`];
  }).join(' ');
