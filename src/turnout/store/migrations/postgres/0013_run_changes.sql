-- The transaction of each commit, as the position of its moves among those of all runs. Positions below the oldest
-- transaction that still writes are complete. Rows from before have none. A block range index keeps the ranges of
-- pages of rows that were added together: a commit pays next to nothing for it.
alter table history_commit add column xact bigint;
alter table history_commit alter column xact set default pg_current_xact_id()::text::bigint;
create index history_commit_xact on history_commit using brin (xact) with (autosummarize = on);
