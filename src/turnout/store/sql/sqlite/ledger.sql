-- Each block takes many rows in one statement: "rows" becomes as many tuples of parameters, padded with rows of '', so that
-- one call (and one release of the interpreter's lock) writes them all. Where null is common, '' stands for it.

-- name: insert_runs
insert into run (id, workflow, version, state, epoch, seq, input, input_digest, priority, created_at, submitted_at,
    parent_attempt, depth, owner, key, timeout, reason, error, rerun_of, parent_run, parent_pos, started_at, finished_at,
    origin)
select n.column1, n.column2, n.column3, n.column4, n.column5, n.column6, n.column7, n.column8, n.column9, n.column10,
    n.column11, n.column12, n.column13, nullif(n.column14, ''), nullif(n.column15, ''), nullif(n.column16, ''),
    nullif(n.column17, ''), nullif(n.column18, ''), nullif(n.column19, ''), nullif(n.column20, ''),
    nullif(n.column21, ''), nullif(n.column22, ''), nullif(n.column23, ''), nullif(n.column24, '')
from (values /*rows*/) as n
where n.column1 <> '' and (n.column20 = '' or exists (select 1 from task where task.run_id = n.column20
    and task.pos = n.column21 and task.attempt = n.column12 and task.state = 'running'))
on conflict do nothing

-- name: insert_waiting
-- Tasks to which nothing has happened yet: most tasks of a new run.
insert into task (run_id, epoch, pos, name, priority, state, seq, attempt, failures, crashes, losses)
select n.column1, n.column2, n.column3, n.column4, n.column5, 'pending', 0, 0, 0, 0, 0
from (values /*rows*/) as n where n.column1 <> ''

-- name: insert_begun
-- Tasks that become ready or start in the commit that inserts them.
insert into task (run_id, epoch, pos, name, priority, state, attempt, failures, crashes, losses, reason, executor,
    decision, holder, dispatched_at, seq)
select n.column1, n.column2, n.column3, n.column4, n.column5, n.column6, n.column7, 0, 0, 0, nullif(n.column8, ''),
    nullif(n.column9, ''), nullif(n.column10, ''), nullif(n.column11, ''), nullif(n.column12, ''), n.column13
from (values /*rows*/) as n where n.column1 <> ''

-- name: insert_tasks
-- Columns are a TaskRow's fields in their order, behind the run's id and epoch; the same in update_tasks.
insert into task (run_id, epoch, pos, state, name, priority, attempt, failures, crashes, losses, reason, retry_at,
    executor, decision, labels, poll_key, holder, output, error, dispatched_at, started_at, finished_at, seq, memo,
    item_of, item_index, resources)
select n.column1, n.column2, n.column3, n.column4, n.column7, n.column8, n.column9, n.column10, n.column11, n.column12,
    nullif(n.column13, ''), nullif(n.column14, ''), nullif(n.column15, ''), nullif(n.column16, ''),
    nullif(n.column17, ''), nullif(n.column18, ''), nullif(n.column19, ''), nullif(n.column20, ''),
    nullif(n.column21, ''), nullif(n.column22, ''), nullif(n.column23, ''), nullif(n.column24, ''), n.column25,
    nullif(n.column26, ''), nullif(n.column27, ''), nullif(n.column28, ''), nullif(n.column29, '')
from (values /*rows*/) as n where n.column1 <> ''

-- name: update_runs
update run set
    state = n.column4, reason = nullif(n.column5, ''), error = nullif(n.column6, ''),
    started_at = nullif(n.column7, ''), finished_at = nullif(n.column8, ''), seq = max(run.seq, n.column9),
    owner = case when n.column4 in ('completed', 'failed', 'cancelled') then null else run.owner end
from (values /*rows*/) as n
where run.id = n.column1 and run.epoch = n.column2 and run.state = n.column3

-- name: start_tasks
-- The next attempt of a task that waited; a row that waits has no output, start or end.
update task set
    state = 'running', attempt = n.column5 + 1, executor = n.column6, decision = n.column7, holder = n.column8,
    dispatched_at = n.column9, seq = n.column10, reason = null, retry_at = null, poll_key = null, labels = null,
    resources = null
from (values /*rows*/) as n
where task.run_id = n.column1 and task.pos = n.column3 and task.epoch = n.column2
    and task.state = n.column4 and task.attempt = n.column5

-- name: complete_tasks
-- The end of an attempt that keeps what it was started with; what else it may have had is gone.
update task set
    state = 'completed', output = n.column5, started_at = n.column6, finished_at = n.column7, seq = n.column8,
    reason = null, retry_at = null, poll_key = null, error = null, memo = null, lease_until = null, lease_boot = null
from (values /*rows*/) as n
where task.run_id = n.column1 and task.pos = n.column3 and task.epoch = n.column2
    and task.state = 'running' and task.attempt = n.column4

-- name: update_tasks
update task set
    state = n.column4, attempt = n.column9, failures = n.column10, crashes = n.column11, losses = n.column12,
    reason = nullif(n.column13, ''), retry_at = nullif(n.column14, ''), executor = nullif(n.column15, ''),
    decision = nullif(n.column16, ''), labels = nullif(n.column17, ''), poll_key = nullif(n.column18, ''),
    holder = nullif(n.column19, ''), output = nullif(n.column20, ''), error = nullif(n.column21, ''),
    dispatched_at = nullif(n.column22, ''), started_at = nullif(n.column23, ''), finished_at = nullif(n.column24, ''),
    seq = n.column25, memo = nullif(n.column26, ''), resources = nullif(n.column29, ''), lease_until = null, lease_boot = null
from (values /*rows*/) as n
where task.run_id = n.column1 and task.pos = n.column3 and task.epoch = n.column2
    and task.state = n.column5 and task.attempt = n.column6

-- name: insert_history
insert into history_commit (run_id, at, seq, moves)
select n.column1, ?1, n.column2, n.column3
from (values /*rows*/) as n where n.column1 <> ''

-- name: tell_parents
insert into inbox (run_id, pos, attempt, holder, result, created_at)
select n.column1, n.column2, n.column3, n.column4, n.column5, n.column6
from (values /*rows*/) as n
    join task on task.run_id = n.column1 and task.pos = n.column2
where n.column1 <> '' and task.attempt = n.column3 and task.state = 'running'
on conflict (run_id, pos, attempt) do nothing

-- name: inbox_done
delete from inbox where id in {ids}

-- name: inbox_of_finished
delete from inbox where run_id in {ids}

-- name: commands_done
update command set done_at = :now where done_at is null and id in {ids}

-- name: current_runs
select id, epoch, state from run where id in {ids}

-- name: current_tasks
select run_id, pos, epoch, state, attempt from task where run_id in {ids}

-- name: taken_keys
select run.id, run.workflow, run.key, run.input_digest
from json_each(:keys) as wanted
    join run on run.workflow = wanted.value ->> 0 and run.key = wanted.value ->> 1

-- name: known_runs
select id, input_digest from run where id in {ids}
