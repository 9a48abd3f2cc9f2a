-- name: record_polled
-- The operator makes text of the detail: a JSON value would be stored as an object in the array.
insert into history_commit (run_id, seq, part, at, moves)
select task.run_id, task.seq, 1, :now, json_array(json_array(task.seq, task.pos, 'ready', 'running', task.attempt + 1,
    json_object('poller', :poller) || ''))
from json_each(:attempts) as c
    join task on task.run_id = c.value ->> 'run_id' and task.pos = c.value ->> 'pos'

-- name: take_polled
update task set state = 'running', attempt = task.attempt + 1, holder = :poller,
    lease_until = :lease_now + :lease, lease_boot = :boot,
    dispatched_at = :now, started_at = null, finished_at = null, poll_key = null, reason = null, retry_at = null
from json_each(:attempts) as c
where task.run_id = c.value ->> 'run_id' and task.pos = c.value ->> 'pos'

-- name: renew_attempts
update task set lease_until = :lease_now + :lease, lease_boot = :boot
from json_each(:attempts) as c
where task.run_id = c.value ->> 'run_id' and task.pos = c.value ->> 'pos'
    and task.attempt = c.value ->> 'attempt' and task.state = 'running' and task.holder = :poller
returning run_id, pos, attempt

-- name: post_results
insert into inbox (run_id, pos, attempt, holder, result, created_at)
select task.run_id, task.pos, task.attempt, :poller, c.value ->> 'result', :now
from json_each(:results) as c
    join task on task.run_id = c.value ->> 'run_id' and task.pos = c.value ->> 'pos'
where task.attempt = c.value ->> 'attempt' and task.state = 'running' and task.holder = :poller
on conflict (run_id, pos, attempt) do nothing

-- name: lapsed_attempts
select task.run_id, task.pos, task.attempt, coalesce(task.holder, '')
from task join run on run.id = task.run_id
where task.lease_until is not null and (task.lease_until < :lease_now or task.lease_boot <> :boot or exists (select 1 from session
        where session.id = task.holder and session.ended_at is not null))
    and task.state = 'running' and run.owner = :session
    and not exists (select 1 from inbox
        where inbox.run_id = task.run_id and inbox.pos = task.pos and inbox.attempt = task.attempt)
order by task.run_id, task.pos
