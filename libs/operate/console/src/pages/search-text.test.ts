import { describe, expect, it } from 'vitest';
import { parsedSearch, searchText } from './search-text.ts';

describe('the search of the list', () => {
  it('tells words from filters by name, and gives them back as they were', () => {
    const found = parsedSearch('  refund  8821 user:ana tag:q3 ');
    expect(found).toEqual({ text: 'refund 8821', user: 'ana', tag: 'q3' });
    expect(parsedSearch(searchText(found))).toEqual(found);
  });

  it('takes names that are no filters as words, and never a filter from within a word', () => {
    expect(parsedSearch('http://x text:y re:tag:z')).toEqual({ text: 'http://x text:y re:tag:z' });
  });
});
