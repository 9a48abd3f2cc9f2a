-- name: lock_schedules
-- SQLite has one writer at a time.
select revision from schedule_revision where id = 1 /*pg for update */

-- name: next_schedule_revision
update schedule_revision set revision = revision + 1 where id = 1 returning revision

-- name: schedules_since
select id, workflow, name, spec, paused, removed, decided_until, next_at, changed_at, changed_by, revision
from schedule where revision > :revision
order by revision, id

-- name: schedules_page
select id, workflow, name, spec, paused, removed, decided_until, next_at, changed_at, changed_by, revision
from schedule
where id > :after and (:workflow = '' or workflow = :workflow or workflow like :suffix escape '\')
    and (:name = '' or name = :name) and not removed
order by id
limit :limit

-- name: schedules_by_id
select id, workflow, name, spec, paused, removed, decided_until, next_at, changed_at, changed_by, revision
from schedule where id in {ids bigint}
order by id

-- name: upcoming_schedules
select id, workflow, name, spec, paused, removed, decided_until, next_at, changed_at, changed_by, revision
from schedule where next_at is not null and next_at >= :since
order by next_at, id
limit :limit

-- name: schedule_activity
-- The runs of these schedules that have not ended: those that have not begun, and those that are open.
select decision.schedule_id, decision.run_id, decision.waits_for <> '[]' and decision.state = 'pending'
from schedule_decision as decision
where decision.schedule_id in {ids bigint} and decision.state <> 'closed' and decision.run_id is not null
    and (decision.state = 'pending' or exists (select 1 from run
        where run.id = decision.run_id and run.state in ('pending', 'running', 'paused', 'cancelling')))
order by decision.id

-- name: close_ended_decisions
update schedule_decision set state = 'closed'
where schedule_id in {ids bigint} and state = 'open' and not exists (select 1 from run
    where run.id = schedule_decision.run_id and run.state in ('pending', 'running', 'paused', 'cancelling'))

-- name: supersede_decisions
update schedule_decision set outcome = 'skipped', reason = :reason, state = 'closed', run_id = null
where run_id in {runs uuid} and state = 'pending'

-- name: last_success
-- Ids of runs ascend with the time of their creation, so older ones are not read.
select max(run.created_at) from run
where run.workflow = :workflow and run.id >= :lowest and run.state = 'completed' and run.created_at >= :since
    and run.parent_run is null
    and not exists (select 1 from schedule_decision as decision
        where decision.schedule_id = :schedule and decision.run_id = run.id and decision.kind = 'due')

-- name: pending_decisions
-- blocked: a run that this one waits for has not ended, or has not begun.
select decision.id, decision.schedule_id, decision.kind, decision.due_at, decision.run_id, decision.cancels,
    schedule.workflow, schedule.spec, decision.params, :now - decision.decided_at,
    exists (select 1 from /*pg json_array_elements_text(decision.waits_for::json) as awaited(value) */
        /*sqlite json_each(decision.waits_for) as awaited */
        where exists (select 1 from run where run.id = awaited.value/*pg ::uuid */
                and run.state in ('pending', 'running', 'paused', 'cancelling'))
            or exists (select 1 from schedule_decision as other
                where other.run_id = awaited.value/*pg ::uuid */ and other.state = 'pending')),
    exists (select 1 from run where run.id = decision.run_id)
from schedule_decision as decision join schedule on schedule.id = decision.schedule_id
where decision.state = 'pending' and decision.id > :after
order by decision.id
limit :limit

-- name: settle_decisions
update schedule_decision set state = :state where id in {ids bigint} and state = 'pending'

-- name: refuse_decision
update schedule_decision set outcome = 'skipped', reason = :reason, state = 'closed', run_id = null
where id = :id and state = 'pending'
returning id

-- name: extend_skips
-- A skip for the same reason as the newest decision of its schedule is counted there.
update schedule_decision set last_due_at = new.last_due_at, due_times = schedule_decision.due_times + new.due_times, decided_at = :now
from /*pg json_to_recordset(:rows::json) as new(schedule_id bigint, reason text, last_due_at double precision, due_times integer) */
    /*sqlite (select value ->> 'schedule_id' as schedule_id, value ->> 'reason' as reason,
        value ->> 'last_due_at' as last_due_at, value ->> 'due_times' as due_times from json_each(:rows)) as new */
where schedule_decision.id = (select max(id) from schedule_decision as newest where newest.schedule_id = new.schedule_id)
    and schedule_decision.kind = 'due' and schedule_decision.outcome = 'skipped' and schedule_decision.state = 'closed'
    and schedule_decision.reason = new.reason and schedule_decision.last_due_at < new.last_due_at
returning schedule_decision.schedule_id

-- name: merge_refused
-- The same of a decision that was refused: it is counted by the one before it, if that was a skip for the same reason.
update schedule_decision set last_due_at = refused.last_due_at, due_times = schedule_decision.due_times + refused.due_times,
    decided_at = :now
from schedule_decision as refused
where refused.id = :id and refused.kind = 'due' and refused.outcome = 'skipped' and schedule_decision.id = (
        select max(id) from schedule_decision as newest where newest.schedule_id = refused.schedule_id and newest.id < :id)
    and schedule_decision.kind = 'due' and schedule_decision.outcome = 'skipped' and schedule_decision.state = 'closed'
    and schedule_decision.reason = refused.reason and schedule_decision.last_due_at < refused.due_at
returning schedule_decision.id

-- name: drop_decision
delete from schedule_decision where id = :id

-- name: refuse_pending
update schedule_decision set outcome = 'skipped', reason = :reason, state = 'closed', run_id = null
where schedule_id in {ids bigint} and state = 'pending'
    and not exists (select 1 from run where run.id = schedule_decision.run_id)

-- name: pause_schedule
update schedule set paused = /*pg true */ /*sqlite 1 */, next_at = null, changed_at = :now, changed_by = :actor,
    revision = :revision
where id = :id and not removed and not paused
returning id

-- name: resume_schedule
update schedule set paused = /*pg false */ /*sqlite 0 */, decided_until = :decided_until, next_at = :next_at,
    changed_at = :now, changed_by = :actor, revision = :revision
where id = :id and paused and decided_until = :expected
returning id

-- name: remove_schedules
update schedule set removed = /*pg true */ /*sqlite 1 */, next_at = null, changed_at = :now, changed_by = :actor,
    revision = :revision
where id in {ids bigint} and not removed

-- name: schedule_decisions
select id, schedule_id, kind, due_at, last_due_at, due_times, outcome, reason, run_id, state, decided_at, actor
from schedule_decision
where schedule_id = :schedule and id < :before and (:outcome = '' or outcome = :outcome)
order by id desc
limit :limit

-- name: decisions_of_all
select id, schedule_id, kind, due_at, last_due_at, due_times, outcome, reason, run_id, state, decided_at, actor
from schedule_decision
where id < :before and (:outcome = '' or outcome = :outcome)
order by id desc
limit :limit

-- name: scheduled_runs
select decision.run_id, decision.schedule_id, schedule.name, decision.kind, decision.due_at, decision.actor
from schedule_decision as decision join schedule on schedule.id = decision.schedule_id
where decision.run_id in {runs uuid}

-- name: fired_due_times
select due_at from schedule_decision
where schedule_id = :schedule and kind <> 'manual' and outcome = 'fired' and due_at between :first and :last

-- name: prune_decisions
-- A decision stays as long as its run: it tells how that was started.
delete from schedule_decision where id in (
    select id from schedule_decision as old where old.decided_at < :now - :age and (old.state = 'closed'
        or old.state = 'open')
        and not exists (select 1 from run where run.id = old.run_id)
    limit :limit)
returning 1
