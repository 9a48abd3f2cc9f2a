-- The transaction that inserted a run, and that of each commit, as the position of the change among those of all runs.
-- Positions below the oldest transaction that still writes are complete. Rows from before have none. A block range index
-- keeps the range of pages of rows that were added together: a commit pays next to nothing for it.
alter table run add column xact bigint;
alter table run alter column xact set default pg_current_xact_id()::text::bigint;
create index run_xact on run using brin (xact) with (autosummarize = on);
alter table history_commit add column xact bigint;
alter table history_commit alter column xact set default pg_current_xact_id()::text::bigint;
create index history_commit_xact on history_commit using brin (xact) with (autosummarize = on);
