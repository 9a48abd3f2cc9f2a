-- name: add_schedules
insert into schedule
    (workflow, name, spec, paused, removed, decided_until, next_at, changed_at, changed_by, revision)
select new.workflow, new.name, new.spec, false, false, new.decided_until, new.next_at,
    :now, :actor, :revision
from json_to_recordset(:rows::json)
    as new(workflow text, name text, spec text, anew boolean, decided_until double precision, next_at double precision)
on conflict (workflow, name) do nothing

-- name: restart_schedules
-- Those that have other times, or were removed, begin anew.
update schedule set spec = new.spec, removed = false,
    decided_until = greatest(schedule.decided_until, new.decided_until),
    next_at = case when schedule.paused then null else new.next_at end,
    changed_at = :now, changed_by = :actor, revision = :revision
from json_to_recordset(:rows::json)
    as new(workflow text, name text, spec text, anew boolean, decided_until double precision, next_at double precision)
where schedule.workflow = new.workflow and schedule.name = new.name
    and (schedule.removed or (new.anew and schedule.spec <> new.spec))

-- name: change_schedules
update schedule set spec = new.spec, changed_at = :now, changed_by = :actor, revision = :revision
from json_to_recordset(:rows::json)
    as new(workflow text, name text, spec text, anew boolean, decided_until double precision, next_at double precision)
where schedule.workflow = new.workflow and schedule.name = new.name and schedule.spec <> new.spec

-- name: advance_schedules
update schedule set decided_until = new.decided_until, next_at = new.next_at
from json_to_recordset(:rows::json)
    as new(id bigint, expected double precision, decided_until double precision, next_at double precision)
where schedule.id = new.id and schedule.decided_until = new.expected and not schedule.paused and not schedule.removed
returning schedule.id

-- name: lock_due
select id from schedule where id in {ids bigint} order by id for update

-- name: add_decisions
insert into schedule_decision (schedule_id, kind, due_at, last_due_at, due_times, outcome, reason, run_id, cancels,
    waits_for, params, state, decided_at, actor)
select new.schedule_id, new.kind, new.due_at, new.last_due_at, new.due_times, new.outcome, new.reason, new.run_id,
    new.cancels, new.waits_for, new.params, new.state, :now, new.actor
from json_to_recordset(:rows::json) as new(schedule_id bigint, kind text, due_at double precision,
    last_due_at double precision, due_times integer, outcome text, reason text, run_id uuid, cancels text,
    waits_for text, params text, state text, actor text)
on conflict (schedule_id, kind, due_at) do nothing
returning id, schedule_id, due_at
