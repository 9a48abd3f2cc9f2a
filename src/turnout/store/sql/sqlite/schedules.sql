-- name: add_schedules
insert into schedule
    (workflow, name, spec, paused, removed, decided_until, next_at, changed_at, changed_by, revision)
select new.value ->> 'workflow', new.value ->> 'name', new.value ->> 'spec', 0, 0, new.value ->> 'decided_until', new.value ->> 'next_at',
    :now, :actor, :revision
from json_each(:rows) as new where true
on conflict (workflow, name) do nothing

-- name: restart_schedules
-- Those that have other times, or were removed, begin anew.
update schedule set spec = new.value ->> 'spec', removed = 0,
    decided_until = max(schedule.decided_until, new.value ->> 'decided_until'),
    next_at = case when schedule.paused = 1 then null else new.value ->> 'next_at' end,
    changed_at = :now, changed_by = :actor, revision = :revision
from json_each(:rows) as new
where schedule.workflow = new.value ->> 'workflow' and schedule.name = new.value ->> 'name'
    and (schedule.removed = 1 or (new.value ->> 'anew' = 1 and schedule.spec <> new.value ->> 'spec'))

-- name: change_schedules
update schedule set spec = new.value ->> 'spec', changed_at = :now, changed_by = :actor, revision = :revision
from json_each(:rows) as new
where schedule.workflow = new.value ->> 'workflow' and schedule.name = new.value ->> 'name' and schedule.spec <> new.value ->> 'spec'

-- name: advance_schedules
update schedule set decided_until = new.value ->> 'decided_until', next_at = new.value ->> 'next_at'
from json_each(:rows) as new
where schedule.id = new.value ->> 'id' and schedule.decided_until = new.value ->> 'expected'
    and schedule.paused = 0 and schedule.removed = 0
returning id

-- name: lock_due
select id from schedule where id in {ids}

-- name: add_decisions
insert into schedule_decision (schedule_id, kind, due_at, last_due_at, due_times, outcome, reason, run_id, cancels,
    waits_for, params, state, decided_at, actor)
select value ->> 'schedule_id', value ->> 'kind', value ->> 'due_at', value ->> 'last_due_at', value ->> 'due_times',
    value ->> 'outcome', value ->> 'reason', value ->> 'run_id', value ->> 'cancels', value ->> 'waits_for',
    value ->> 'params', value ->> 'state', :now, value ->> 'actor'
from json_each(:rows) where true
on conflict (schedule_id, kind, due_at) do nothing
returning id, schedule_id, due_at
