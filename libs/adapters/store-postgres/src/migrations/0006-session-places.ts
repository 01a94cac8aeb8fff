/** Owns what the sixth version adds: a placement holds its session, so that placing decides between two starts of one session. */

export const name = '0006-session-places';

export const sql = `
alter table placements add column session text collate "C";
update placements l set session = s.session from sessions s where s.workflow = l.workflow and l.live;
create index placements_session on placements (tenant, hashtextextended(session, 0)) where live and session is not null;
`;
