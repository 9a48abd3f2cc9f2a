-- name: moves
-- A commit has the seq of its last move, so the commits to read are found by their key.
select at, part, (move ->> 0)::integer, (move ->> 1)::integer, move ->> 2, move ->> 3, (move ->> 4)::integer, move ->> 5
from history_commit, json_array_elements(moves::json) as move
where run_id = :id and seq >= :seq
    and ((move ->> 0)::integer > :seq or ((move ->> 0)::integer = :seq and part > :part))
order by 3, part
limit :limit

-- name: run_changes
-- The transactions below the horizon have ended, so no row appears behind a position that was read. Moves of the run
-- itself have position -1; a text that looks like one is a change too many, which does no harm.
select xact, run_id
from history_commit
where xact > :after and xact < pg_snapshot_xmin(pg_current_snapshot())::text::bigint and moves like '%,-1,%'
order by xact
fetch first (:limit) rows with ties

-- name: change_span
select 0, pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1
