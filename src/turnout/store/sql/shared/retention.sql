-- name: clock
select :now

-- name: expired_runs
-- A child run stays as long as its parent may still ask for it.
select run.id from run
where run.finished_at < :before and run.state in {states} and run.workflow not in {other_than}
    and not exists (select 1 from run as parent
        where parent.id = run.parent_run and parent.state in ('pending', 'running', 'paused', 'cancelling'))
order by run.finished_at, run.id
limit :limit

-- name: expired_runs_of
select run.id from run
where run.workflow = :workflow and run.finished_at < :before and run.state in ('completed', 'failed', 'cancelled')
    and not exists (select 1 from run as parent
        where parent.id = run.parent_run and parent.state in ('pending', 'running', 'paused', 'cancelling'))
order by run.id
limit :limit

-- name: runs_behind
select run.id from (
    select id, parent_run from run
    where workflow = :workflow and state in ('completed', 'failed', 'cancelled')
    order by id desc
    limit :limit offset :newest
) as run
where not exists (select 1 from run as parent
    where parent.id = run.parent_run and parent.state in ('pending', 'running', 'paused', 'cancelling'))
order by run.id

-- name: family
with recursive family(id) as (
    select id from run where id = :id
    union
    select run.id from run join family on run.parent_run = family.id
)
select run.id, run.state from family join run on run.id = family.id order by run.id

-- name: lock_ended_runs
select id from run where id in {ids uuid} and state in ('completed', 'failed', 'cancelled') order by id
/*pg for update */

-- name: delete_from_run
delete from run where id in {ids uuid} returning 1

-- name: prune_workflows
-- A session says which versions it has when it first uses them, and may submit runs of them for as long as it lives.
delete from workflow
where coalesce(used_at, created_at) < :now - :age
    and coalesce(used_at, created_at) < coalesce((select min(started_at) from session where ended_at is null), :now)
    and not exists (select 1 from run where run.workflow = workflow.full_name and run.version = workflow.version)
    and not exists (select 1 from definition_version where definition_version.spec_version = workflow.version)
returning 1

-- name: prune_sessions
delete from session where ended_at < :now - :age returning 1

-- name: prune_routing
delete from routing
where created_at < :now - :age and number < (select max(number) from routing)
    and not exists (select 1 from session where session.id = routing.session and session.ended_at is null)
returning 1

-- name: take_duty
insert into duty (name, session, begun_at) values (:name, :session, :now)
on conflict (name) do update set session = excluded.session, begun_at = excluded.begun_at
where duty.begun_at <= excluded.begun_at - :every
returning name
