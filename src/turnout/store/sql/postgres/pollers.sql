-- name: record_polled
insert into history_commit (run_id, seq, part, at, moves)
select task.run_id, task.seq, 1, :now, json_build_array(json_build_array(task.seq, task.pos, 'ready', 'running',
    task.attempt + 1, json_build_object('poller', :poller::text)::text))::text
from json_to_recordset(:attempts::json) as c(run_id uuid, pos integer)
    join task on task.run_id = c.run_id and task.pos = c.pos

-- name: take_polled
update task set state = 'running', attempt = task.attempt + 1, holder = :poller, lease_until = :now + :lease,
    dispatched_at = :now, started_at = null, finished_at = null, poll_key = null, reason = null, retry_at = null
from json_to_recordset(:attempts::json) as c(run_id uuid, pos integer)
where task.run_id = c.run_id and task.pos = c.pos

-- name: renew_attempts
update task set lease_until = :now + :lease
from json_to_recordset(:attempts::json) as c(run_id uuid, pos integer, attempt integer)
where task.run_id = c.run_id and task.pos = c.pos
    and task.attempt = c.attempt and task.state = 'running' and task.holder = :poller
returning task.run_id, task.pos, task.attempt

-- name: post_results
-- The task row is locked, so a result either arrives before its attempt is given up, or is dropped here.
with held as (
    select c.run_id, c.pos, c.attempt, c.result
    from json_to_recordset(:results::json) as c(run_id uuid, pos integer, attempt integer, result text)
        join task on task.run_id = c.run_id and task.pos = c.pos
    where task.attempt = c.attempt and task.state = 'running' and task.holder = :poller
    order by c.run_id, c.pos
    for share of task
)
insert into inbox (run_id, pos, attempt, holder, result, created_at)
select run_id, pos, attempt, :poller, result, :now from held
on conflict (run_id, pos, attempt) do nothing

-- name: lapsed_attempts
select task.run_id, task.pos, task.attempt, coalesce(task.holder, '')
from task join run on run.id = task.run_id
where task.lease_until is not null and (task.lease_until < :now or exists (select 1 from session
        where session.id = task.holder and session.ended_at is not null))
    and task.state = 'running' and run.owner = :session
    and not exists (select 1 from inbox
        where inbox.run_id = task.run_id and inbox.pos = task.pos and inbox.attempt = task.attempt)
order by task.run_id, task.pos

-- name: notify
select pg_notify('turnout', :topic)
