-- name: lock_limits
-- SQLite has one writer at a time.
select id from limit_admission where id = 1 /*pg for update */

-- name: waiting_limits
-- The names of limits that something waits for, by one look into the index for each.
with recursive waiting(name) as (
    select (select min(name) from limit_slot /*sqlite indexed by limit_slot_waiting */ where granted_at is null)
    union all
    select (select min(limit_slot.name) from limit_slot /*sqlite indexed by limit_slot_waiting */
        where limit_slot.granted_at is null and limit_slot.name > waiting.name)
    from waiting where waiting.name is not null
)
select name from waiting where name is not null limit :limit

-- name: drop_ended_slots
-- Slots whose holder has ended: a slot of a run ends with the run, one of a task with the attempt. A task that waits for its next
-- attempt holds a slot only for that one.
delete from limit_slot where (run_id, pos, name) in (
    select run_id, pos, name from limit_slot where name in {names} and granted_at is not null and not exists (
        select 1 from run where run.id = limit_slot.run_id
            and run.state in ('pending', 'running', 'paused', 'cancelling')
            and (limit_slot.pos = -1 or exists (select 1 from task
                where task.run_id = limit_slot.run_id and task.pos = limit_slot.pos
                    and (task.state = 'running' and task.attempt = limit_slot.attempt
                        or task.state in ('pending', 'ready') and task.attempt = limit_slot.attempt - 1))))
    /*pg for update skip locked */)

-- name: drop_ended_waiters
-- The same of waiters, among the first of these limits: later ones are found when they have come to the front.
delete from limit_slot where (run_id, pos, name) in (
    select run_id, pos, name from (
        select run_id, pos, name, attempt from limit_slot /*sqlite indexed by limit_slot_waiting */
        where name in {names} and granted_at is null order by name, rank limit :limit) as first
    where not exists (select 1 from run where run.id = first.run_id
        and run.state in ('pending', 'running', 'paused', 'cancelling')
        and (first.pos = -1 or exists (select 1 from task where task.run_id = first.run_id and task.pos = first.pos
            and task.state in ('pending', 'ready') and task.attempt = first.attempt - 1))))

-- name: slots_of_waiters
select run_id, pos, name, declared, at_most, rate, per
from limit_slot where /*pg (run_id, pos) in (select (pair ->> 0)::uuid, (pair ->> 1)::integer
    from json_array_elements(:waiters::json) pair) */
    /*sqlite (run_id, pos) in (select value ->> 0, value ->> 1 from json_each(:waiters)) */

-- part: counts
-- A slot that is shared counts once: by the run that it was given to, or by what still uses it when that run has ended.
shared_with is null or not exists (select 1 from limit_slot as given where given.run_id = limit_slot.shared_with
    and given.pos = -1 and given.name = limit_slot.name and given.granted_at is not null)

-- name: held_slots
-- The slots of these limits that are held, by the sizes that the holders declare.
select name, declared, at_most, rate, per, sum(case when <counts> then 1 else 0 end)
from limit_slot where name in {names} and granted_at is not null
group by name, declared, at_most, rate, per

-- name: nested_slots
-- What waits below runs that may hold slots, with all that it waits for.
select run_id, pos, name, declared, at_most, rate, per from limit_slot
where granted_at is null and nested /*sqlite = 1 */ and exists (select 1 from run where run.id = limit_slot.run_id
    and run.state in ('pending', 'running', 'cancelling'))
order by rank
limit :limit

-- name: slots_of_runs
-- The slots of these limits that runs hold, with what uses each.
select name, coalesce(shared_with, run_id), run_id from limit_slot
where name in {names} and granted_at is not null and pos = -1 and exists (select 1 from run where run.id = limit_slot.run_id
    and run.state in ('pending', 'running', 'paused', 'cancelling'))

-- name: slots_above
-- The slots that these runs and their ancestors hold, by the run that each was given to.
with recursive above(id, member) as (
    select run.id, run.id from run where run.id in {ids uuid}
    union all
    select above.id, run.parent_run from above join run on run.id = above.member where run.parent_run is not null
)
select above.id, above.member, limit_slot.name, coalesce(limit_slot.shared_with, above.member)
from above join limit_slot on limit_slot.run_id = above.member
where limit_slot.pos = -1 and limit_slot.granted_at is not null

-- name: users_of_slots
-- What shares the slots that were given to these runs.
select name, shared_with, run_id, pos from limit_slot where shared_with in {ids uuid} and granted_at is not null

-- name: limit_sizes
select declared, at_most, rate, per from limit_size

-- name: declared_sizes
-- The sizes of these limits by their origins: 0 is the configuration, 1 a declaration, 2 one of an uploaded definition.
select declared, 0, at_most, rate, per from limit_size where declared in {names}
union all
select declared, case when uploaded then 2 else 1 end, at_most, rate, per from limit_declaration
where declared in {names}

-- name: any_limit_declarations
select 1 from limit_declaration limit 1

-- name: limit_declarations
select workflow, declared, place, uploaded, at_most, rate, per from limit_declaration
where cast(:name as text) = '' or declared = :name
order by declared, workflow, place

-- name: drop_limit_declarations
-- Those of definitions that were removed while no orchestrator was there end as well.
delete from limit_declaration where workflow in {workflows} or confirmed_at < :now - :age
    or workflow in (select full_name from definition where removed)

-- name: add_limit_declarations
insert into limit_declaration (workflow, declared, place, uploaded, at_most, rate, per, confirmed_at)
select new.workflow, new.declared, new.place, new.uploaded, new.at_most, new.rate, new.per, :now
from /*pg json_to_recordset(:rows::json) as new(workflow text, declared text, place text, uploaded boolean,
        at_most integer, rate integer, per double precision) */
    /*sqlite (select value ->> 'workflow' as workflow, value ->> 'declared' as declared, value ->> 'place' as place,
        value ->> 'uploaded' as uploaded, value ->> 'at_most' as at_most, value ->> 'rate' as rate,
        value ->> 'per' as per from json_each(:rows)) as new */

-- name: begun_slots
select count(*), min(at) from limit_start where name = :name and at > :now - :period

-- name: rate_starts
-- Those within the period, and the one that has to leave it before the next begins: null if one may begin now.
select count(*), (select at from limit_start where name = :name and at > :now - :period
    order by at desc limit 1 offset :rate - 1)
from limit_start where name = :name and at > :now - :period

-- name: forget_starts
delete from limit_start where name = :name and at <= :now - :period

-- name: grant_slots
update limit_slot set granted_at = :now
where granted_at is null and /*pg (run_id, pos) in (select (pair ->> 0)::uuid, (pair ->> 1)::integer
    from json_array_elements(:granted::json) pair) */
    /*sqlite (run_id, pos) in (select value ->> 0, value ->> 1 from json_each(:granted)) */

-- name: share_slots
update limit_slot set shared_with = share.shared_with
from /*pg (select (item ->> 0)::uuid as run_id, (item ->> 1)::integer as pos, item ->> 2 as name,
        (item ->> 3)::uuid as shared_with from json_array_elements(:shared::json) item) as share */
    /*sqlite (select value ->> 0 as run_id, value ->> 1 as pos, value ->> 2 as name, value ->> 3 as shared_with
        from json_each(:shared)) as share */
where limit_slot.run_id = share.run_id and limit_slot.pos = share.pos and limit_slot.name = share.name

-- name: record_slot
insert into limit_start (name, at) values (:name, :now)

-- name: admit_runs
update run set reason = null where id in {ids uuid} and state = 'pending' and reason = 'limit'

-- name: request_slot
-- A task's earlier attempt may have left a row; a request that is made twice keeps its place.
insert into limit_slot (run_id, pos, name, attempt, declared, at_most, rate, per, priority, rank, since, nested)
values (/*pg :run_id::uuid */ /*sqlite :run_id */, :pos, :name, :attempt, :declared, :at_most, :rate, :per, :priority, :now - :handicap, :now,
    exists (select 1 from run where run.id = /*pg :run_id::uuid */ /*sqlite :run_id */ and run.parent_run is not null)
    or exists (select 1 from limit_slot as own where own.run_id = /*pg :run_id::uuid */ /*sqlite :run_id */
        and own.pos = -1 and own.granted_at is not null))
on conflict (run_id, pos, name) do update set attempt = excluded.attempt, rank = excluded.rank, since = excluded.since,
    nested = excluded.nested, shared_with = null, granted_at = null
where limit_slot.attempt <> excluded.attempt

-- name: return_slots
delete from limit_slot where run_id = /*pg :run_id::uuid */ /*sqlite :run_id */ and pos = :pos and attempt = :attempt

-- name: queued_versions
select distinct version from run /*sqlite indexed by run_queued */
where owner is null and state = 'pending' and reason = 'limit' and workflow not in {workflows}

-- name: runs_without_slots
select distinct run_id from limit_slot where run_id in {ids uuid} and pos = -1 and granted_at is null

-- name: granted_tasks
-- Tasks whose slots are all granted, and for how many seconds the newest of these is.
select run_id, pos, attempt, :now - max(granted_at)
from limit_slot
where run_id in {ids uuid} and pos <> -1
group by run_id, pos, attempt
having count(*) = count(granted_at)

-- name: put_limit_size
insert into limit_size (declared, at_most, rate, per, updated_at) values (:declared, :at_most, :rate, :per, :now)
on conflict (declared) do update set at_most = excluded.at_most, rate = excluded.rate, per = excluded.per,
    updated_at = excluded.updated_at

-- name: drop_limit_sizes
delete from limit_size where declared in {names}

-- name: limits_in_use
select name, declared, at_most, rate, per, sum(case when granted_at is not null and (<counts>) then 1 else 0 end),
    count(*) - count(granted_at)
from limit_slot
where exists (select 1 from run where run.id = limit_slot.run_id
    and run.state in ('pending', 'running', 'paused', 'cancelling'))
    and (cast(:name as text) = '' or name = :name)
group by name, declared, at_most, rate, per
order by name

-- name: limit_holders
select limit_slot.run_id, run.workflow, task.name, limit_slot.priority, granted_at, shared_with
from limit_slot join run on run.id = limit_slot.run_id
    left join task on task.run_id = limit_slot.run_id and task.pos = limit_slot.pos
where limit_slot.name = :name and granted_at is not null
    and run.state in ('pending', 'running', 'paused', 'cancelling')
    and (limit_slot.pos = -1 or task.state = 'running' and task.attempt = limit_slot.attempt
        or task.state in ('pending', 'ready') and task.attempt = limit_slot.attempt - 1)
order by granted_at, limit_slot.run_id, limit_slot.pos
limit :limit

-- name: limit_waiters
select limit_slot.run_id, run.workflow, task.name, limit_slot.priority, since, null
from limit_slot join run on run.id = limit_slot.run_id
    left join task on task.run_id = limit_slot.run_id and task.pos = limit_slot.pos
where limit_slot.name = :name and granted_at is null
    and run.state in ('pending', 'running', 'paused', 'cancelling')
order by rank, limit_slot.run_id, limit_slot.pos
limit :limit

-- name: limits_of_run
select limit_slot.name, task.name, granted_at is not null, coalesce(granted_at, since),
    case when granted_at is null then 1 + (select count(*) from limit_slot as other
        where other.name = limit_slot.name and other.granted_at is null
            and (other.rank, other.run_id, other.pos) < (limit_slot.rank, limit_slot.run_id, limit_slot.pos)) end,
    shared_with
from limit_slot left join task on task.run_id = limit_slot.run_id and task.pos = limit_slot.pos
where limit_slot.run_id = /*pg :run_id::uuid */ /*sqlite :run_id */
    and (limit_slot.pos = -1 or task.state = 'running' and task.attempt = limit_slot.attempt
        or task.state in ('pending', 'ready') and task.attempt = limit_slot.attempt - 1)
order by limit_slot.pos, limit_slot.name

-- name: queue_runs
-- With the insert of runs that wait for limits. One that was inserted before keeps its slots, whatever they are.
insert into limit_slot (run_id, pos, name, attempt, declared, at_most, rate, per, priority, rank, since, nested)
select run.id, -1, slot.name, 0, slot.declared, slot.at_most, slot.rate, slot.per, run.priority,
    :now - slot.handicap, :now, run.parent_run is not null
from /*pg json_to_recordset(:slots::json) as slot(run_id uuid, name text, declared text, at_most integer, rate integer,
        per double precision, handicap double precision) */
    /*sqlite (select value ->> 'run_id' as run_id, value ->> 'name' as name, value ->> 'declared' as declared,
        value ->> 'at_most' as at_most, value ->> 'rate' as rate, value ->> 'per' as per,
        value ->> 'handicap' as handicap from json_each(:slots)) as slot */
    join run on run.id = slot.run_id
where run.state = 'pending' and run.reason = 'limit' and run.owner is null
on conflict (run_id, pos, name) do nothing
