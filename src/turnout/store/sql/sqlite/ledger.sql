-- Each block takes many rows in one statement: "rows" becomes as many tuples of parameters, padded with rows of '', so that
-- one call (and one release of the interpreter's lock) writes them all.

-- name: insert_runs
insert into run (id, workflow, version, state, owner, epoch, seq, input, input_digest, key, priority, timeout, reason,
    error, rerun_of, parent_run, parent_pos, created_at, submitted_at, started_at, finished_at)
select n.column1, n.column2, n.column3, n.column4, n.column5, n.column6, n.column7, n.column8, n.column9, n.column10,
    n.column11, n.column12, n.column13, n.column14, n.column15, n.column16, n.column17, n.column18, n.column19,
    n.column20, n.column21
from (values /*rows*/) as n where n.column1 <> ''
on conflict do nothing

-- name: insert_tasks
-- Columns are a TaskRow's fields in their order, behind the run's id and epoch; the same in update_tasks.
insert into task (run_id, epoch, pos, state, name, priority, attempt, failures, crashes, losses, reason, retry_at,
    executor, decision, labels, poll_key, holder, output, error, dispatched_at, started_at, finished_at, seq,
    item_of, item_index)
select n.column1, n.column2, n.column3, n.column4, n.column7, n.column8, n.column9, n.column10, n.column11, n.column12,
    nullif(n.column13, ''), nullif(n.column14, ''), nullif(n.column15, ''), nullif(n.column16, ''),
    nullif(n.column17, ''), nullif(n.column18, ''), nullif(n.column19, ''), nullif(n.column20, ''),
    nullif(n.column21, ''), nullif(n.column22, ''), nullif(n.column23, ''), nullif(n.column24, ''), n.column25,
    nullif(n.column26, ''), nullif(n.column27, '')
from (values /*rows*/) as n where n.column1 <> ''

-- name: update_runs
update run set
    state = n.column4, reason = n.column5, error = n.column6, started_at = n.column7, finished_at = n.column8,
    seq = max(run.seq, n.column9),
    owner = case when n.column4 in ('completed', 'failed', 'cancelled') then null else run.owner end
from (values /*rows*/) as n
where run.id = n.column1 and run.epoch = n.column2 and run.state = n.column3

-- name: update_tasks
update task set
    state = n.column4, attempt = n.column9, failures = n.column10, crashes = n.column11, losses = n.column12,
    reason = nullif(n.column13, ''), retry_at = nullif(n.column14, ''), executor = nullif(n.column15, ''),
    decision = nullif(n.column16, ''), labels = nullif(n.column17, ''), poll_key = nullif(n.column18, ''),
    holder = nullif(n.column19, ''), output = nullif(n.column20, ''), error = nullif(n.column21, ''),
    dispatched_at = nullif(n.column22, ''), started_at = nullif(n.column23, ''), finished_at = nullif(n.column24, ''),
    seq = n.column25, lease_until = null, lease_boot = null
from (values /*rows*/) as n
where task.run_id = n.column1 and task.pos = n.column3 and task.epoch = n.column2
    and task.state = n.column5 and task.attempt = n.column6

-- name: insert_history
insert into history (run_id, at, seq, pos, old, new, attempt, detail)
select n.column1, n.column2, n.column3, n.column4, nullif(n.column5, ''), n.column6, n.column7, nullif(n.column8, '')
from (values /*rows*/) as n where n.column1 <> ''

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
