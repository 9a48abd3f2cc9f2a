-- name: moves
-- A commit has the seq of its last move, so the commits to read are found by their key.
select at, part, (move ->> 0)::integer, (move ->> 1)::integer, move ->> 2, move ->> 3, (move ->> 4)::integer, move ->> 5
from history_commit, json_array_elements(moves::json) as move
where run_id = :id and seq >= :seq
    and ((move ->> 0)::integer > :seq or ((move ->> 0)::integer = :seq and part > :part))
order by 3, part
limit :limit

-- name: run_changes
-- The transactions below the horizon have ended, so no row appears behind a position that was read. A new run need not
-- have a move. Moves of the run itself have position -1, with a space before it or not; a text that looks like one is a
-- change too many, which does no harm.
with horizon as materialized (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xact)
select xact, id
from (
    select run.xact, run.id from run, horizon where run.xact > :after and run.xact < horizon.xact
    union
    select history_commit.xact, history_commit.run_id from history_commit, horizon
    where history_commit.xact > :after and history_commit.xact < horizon.xact and moves like '%-1,%'
) as change
order by xact
fetch first (:limit) rows with ties

-- name: change_span
select 0, pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1
