-- name: moves
-- A commit has the seq of its last move, so the commits to read are found by their key.
select at, part, move.value ->> 0, move.value ->> 1, move.value ->> 2, move.value ->> 3, move.value ->> 4,
    move.value ->> 5
from history_commit, json_each(moves) as move
where run_id = :id and history_commit.seq >= :seq
    and (move.value ->> 0 > :seq or (move.value ->> 0 = :seq and part > :part))
order by move.value ->> 0, part
limit :limit

-- name: run_changes
select position, run from run_change where position > :after order by position limit :limit

-- name: change_span
select coalesce((select min(position) from run_change), 1) - 1, coalesce((select max(position) from run_change), 0)
