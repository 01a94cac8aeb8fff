/** What is known of tokens and money: which were estimated, which have no price, and what calls without an answer may have cost. */
import { SPEND_COLUMNS } from '../sql/spend-columns.ts';

export const name = '0003-spends';

const parts = SPEND_COLUMNS.slice(2).map((column) => `add column ${column} double precision not null default 0`);

export const sql = `
alter table spends ${parts.join(', ')};
alter table spend_hours ${parts.join(', ')};
-- As JSON, and null for most: nothing adds them up here.
alter table workflows add column spend_parts text;
alter table checkpoints add column spend_parts text;
`;
