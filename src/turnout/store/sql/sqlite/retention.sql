-- Each deletes some rows of runs, by their number: a key in its place takes longer, and so does a row for each that is gone.

-- name: delete_from_log
delete from log where rowid in (select rowid from log where run_id in {ids} limit :limit)

-- name: delete_from_history_commit
delete from history_commit where rowid in (select rowid from history_commit where run_id in {ids} limit :limit)

-- name: delete_from_inbox
delete from inbox where rowid in (select rowid from inbox where run_id in {ids} limit :limit)

-- name: delete_from_command
delete from command where rowid in (select rowid from command where run_id in {ids} limit :limit)

-- name: delete_from_run_number
delete from run_number where rowid in (select rowid from run_number where run_id in {ids} limit :limit)

-- name: delete_from_task
delete from task where rowid in (select rowid from task where run_id in {ids} limit :limit)

-- name: delete_from_limit_slot
delete from limit_slot where rowid in (select rowid from limit_slot where run_id in {ids} limit :limit)

-- name: changed_rows
-- Rows that the statement before has deleted.
select changes()
