-- name: put_trigger
insert into event_trigger (name, workflow, every, next_poll, revision, polls, runs, failures)
values (:name, :workflow, :every, :now, 0, 0, 0, 0)
on conflict (name) do update set workflow = excluded.workflow, every = excluded.every
where event_trigger.workflow <> excluded.workflow or event_trigger.every <> excluded.every

-- name: put_unknown_trigger
-- One that was polled belongs to a server that has its workflow.
insert into event_trigger (name, workflow, every, next_poll, revision, polls, runs, failures, error)
values (:name, :workflow, :every, :now, 0, 0, 0, 0, :error)
on conflict (name) do update set error = excluded.error where event_trigger.polls = 0

-- name: trigger_delays
-- The seconds until each may be polled: a poll that is under way has its lease first, unless its session has ended.
select name, case when poll_until is not null and poll_until > next_poll
        and exists (select 1 from session where session.id = holder and session.ended_at is null)
    then poll_until else next_poll end - :now
from event_trigger where name in {names} and paused_by is null

-- name: claim_poll
update event_trigger set holder = :holder, poll_until = :now + :lease, revision = revision + 1
where name = :name and paused_by is null and next_poll <= :now and (poll_until is null or poll_until <= :now
    or not exists (select 1 from session where session.id = event_trigger.holder and session.ended_at is null))
returning state, revision, failures

-- name: finish_poll
update event_trigger set holder = null, poll_until = null, next_poll = :now + :delay, polled_at = :now,
    polls = polls + 1, runs = runs + :runs, failures = 0, error = null, state = :state
where name = :name and revision = :revision
returning name

-- name: fail_poll
update event_trigger set holder = null, poll_until = null, next_poll = :now + :delay, polled_at = :now,
    polls = polls + 1, runs = runs + :runs, failures = failures + 1, error = :error
where name = :name and revision = :revision
returning name

-- name: release_polls
update event_trigger set holder = null, poll_until = null where holder = :holder

-- name: triggers
select name, workflow, every, next_poll, poll_until is not null and poll_until > :now, paused_by, state, polled_at, polls,
    runs, failures, error
from event_trigger order by name

-- name: pause_trigger
update event_trigger set paused_by = :actor where name = :name returning name

-- name: resume_trigger
update event_trigger set paused_by = null where name = :name returning name

-- name: poll_trigger
update event_trigger set next_poll = :now, failures = 0 where name = :name and paused_by is null returning name
