-- Each deletes some rows of runs, and returns how many. By their place in the table: to find a row a second time, by its key,
-- and to send one row for each that is gone, cost as much as the deletion.

-- name: delete_from_log
with gone as (
    delete from log
    where ctid = any(array(select ctid from log where run_id in {ids uuid} limit :limit))
    returning 1
)
select count(*) from gone

-- name: delete_from_history_commit
with gone as (
    delete from history_commit
    where ctid = any(array(select ctid from history_commit where run_id in {ids uuid} limit :limit))
    returning 1
)
select count(*) from gone

-- name: delete_from_inbox
with gone as (
    delete from inbox
    where ctid = any(array(select ctid from inbox where run_id in {ids uuid} limit :limit))
    returning 1
)
select count(*) from gone

-- name: delete_from_command
with gone as (
    delete from command
    where ctid = any(array(select ctid from command where run_id in {ids uuid} limit :limit))
    returning 1
)
select count(*) from gone

-- name: delete_from_run_number
with gone as (
    delete from run_number
    where ctid = any(array(select ctid from run_number where run_id in {ids uuid} limit :limit))
    returning 1
)
select count(*) from gone

-- name: delete_from_task
with gone as (
    delete from task
    where ctid = any(array(select ctid from task where run_id in {ids uuid} limit :limit))
    returning 1
)
select count(*) from gone

-- name: delete_from_limit_slot
with gone as (
    delete from limit_slot
    where ctid = any(array(select ctid from limit_slot where run_id in {ids uuid} limit :limit))
    returning 1
)
select count(*) from gone
