-- part: run_columns
-- Those of stored_run, in their order.
id, workflow, version, input, created_at, key, input_digest, priority, timeout, rerun_of, parent_run, parent_pos,
    parent_attempt, depth, origin,
    state, reason, error, started_at, finished_at,
    owner, epoch, seq, (select max(seq) from history_commit where run_id = run.id), :now - submitted_at

-- part: submitted
created_at >= :created_from and created_at < :created_before and (:top_level = 0 or parent_run is null)

-- part: unfinished
-- By the three indexes that know the runs that have not ended.
select id as found from run /*sqlite indexed by run_owner */ where owner is not null
    union all
    select id from run /*sqlite indexed by run_unowned */
    where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
    union all
    select id from run /*sqlite indexed by run_queued */
    where owner is null and state = 'pending' and reason = 'limit'

-- name: run
select <run_columns>
from run where id = :id

-- name: runs
select <run_columns>
from run
where id < :before
order by id desc
limit :limit

-- name: runs_in_states
select <run_columns>
from run
where id < :before and id >= :first and state in {states}
    and <submitted>
order by id desc
limit :limit

-- name: runs_of_workflow
-- PostgreSQL takes a workflow for frequent, and would rather go through all runs: so it gets the ids first, which only the
-- index of workflows has without the rows. SQLite compares both columns, for the same reason.
select <run_columns>
from /*sqlite run */ /*pg (
    select id as found from run where workflow = :workflow and id < :before and id >= :first order by id desc offset 0
) as mine cross join run */
where /*sqlite (workflow, id) < (:workflow, :before) and (workflow, id) >= (:workflow, :first) */ /*pg run.id = found */
    and state in {states} and <submitted>
order by /*sqlite workflow desc, id desc */ /*pg found desc */
limit :limit

-- name: runs_in_state
-- By the index of runs that neither run nor have completed: few of many. SQLite would rather go through all runs.
select <run_columns>
from run /*sqlite indexed by run_in_state */
where state = :state and state in ('pending', 'paused', 'cancelling', 'failed', 'cancelled')
    and id < :before and id >= :first
    and (:any_workflow = 1 or workflow in {workflows})
    and <submitted>
order by id desc
limit :limit

-- name: running_runs
-- By the two indexes that know the runs that have not ended.
select <run_columns>
from (
    select id as found from run /*sqlite indexed by run_owner */ where owner is not null and state = 'running'
    union all
    select id from run /*sqlite indexed by run_unowned */
    where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
        and state = 'running'
) as unfinished cross join run
where run.id = found and id < :before and (:any_workflow = 1 or workflow in {workflows})
    and <submitted>
order by id desc
limit :limit

-- name: late_runs
-- Runs whose ids are older than their submission: child runs have the time of their parents. What was submitted since a
-- time has not ended, or has ended since. PostgreSQL sorts them afterwards: for the order it would go through all runs.
select * from (
    select <run_columns>
    from (
        select id as found from run /*sqlite indexed by run_ended */ where finished_at >= :created_from and id < :first
        union all
        <unfinished>
    ) as since cross join run
    where run.id = found and state in {states} and (:any_workflow = 1 or workflow in {workflows})
        and <submitted>
    /*pg offset 0 */
) as late
where id < :before and id < :first
order by id desc
limit :limit

-- name: runs_with_key
select <run_columns>
from run
where workflow in {workflows} and key = :key and key is not null
    and id < :before and state in {states}
    and <submitted>
order by id desc
limit :limit

-- name: runs_of_parent
select <run_columns>
from run
where parent_run = :parent and id < :before and state in {states} and workflow in {workflows}
    and (cast(:key as text) = '' or key = :key)
    and <submitted>
order by id desc
limit :limit

-- name: failed_since
select <run_columns>
from run /*sqlite indexed by run_failed */
where state = 'failed' and finished_at > :since and parent_run is null
order by finished_at desc, id desc
limit :limit

-- name: count_failed
select count(*) from (
    select 1 from run /*sqlite indexed by run_failed */
    where state = 'failed' and finished_at > :since and parent_run is null
    limit :limit
) as failed

-- name: undriven_runs
select <run_columns>
from (
    select id as found from run /*sqlite indexed by run_unowned */
    where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
        and submitted_at < :before
    union all
    select id from run /*sqlite indexed by run_queued */
    where owner is null and state = 'pending' and reason = 'limit' and submitted_at < :before
) as undriven cross join run
where run.id = found
order by id
limit :limit

-- name: open_runs
-- By the three indexes that know the runs that have not ended.
select <run_columns>
from (
    <unfinished>
) as unfinished cross join run
where run.id = found
order by id desc
limit :limit

-- name: unowned_runs
select id, version, :now - submitted_at from run /*sqlite indexed by run_unowned */
where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
    and state in ('pending', 'running') and workflow in {workflows} and id > :after
union all
select id, version, :now - submitted_at from run /*sqlite indexed by run_queued */
where owner is null and state = 'pending' and reason = 'limit' and workflow in {workflows} and id > :after
order by 1
limit :limit

-- name: runs_by_id
select <run_columns>
from run where id in {ids uuid}

-- name: children
select <run_columns>
from run where parent_run = :id
order by parent_pos, parent_attempt

-- name: orphans
-- Children of this session that no attempt waits for: it is over, or another one runs.
select run.id
from run left join task on task.run_id = run.parent_run and task.pos = run.parent_pos
where run.owner = :session and run.parent_run is not null and run.state in ('pending', 'running', 'paused')
    and not coalesce(task.state = 'running' and task.attempt = run.parent_attempt, false)

-- name: workflow_names
select distinct full_name from workflow

-- name: tasks
select run_id, pos, state, name, priority, attempt, failures, crashes, losses, reason, retry_at - :now,
    executor, decision, labels, poll_key, holder,
    case when :outputs = 1 then output end, error, dispatched_at, started_at, finished_at, seq, memo,
    item_of, item_index, resources
from task where run_id = :id
order by pos

-- name: task_counts
select run_id, state, count(*), min(reason)
from task where run_id in {ids uuid}
group by run_id, state

-- name: tasks_at
select run_id, pos, state, name, priority, attempt, failures, crashes, losses, reason, retry_at - :now,
    executor, decision, labels, poll_key, holder,
    null, error, dispatched_at, started_at, finished_at, seq, memo, item_of, item_index, resources
from task where run_id = :id and pos in {positions int}
order by pos

-- name: items
-- The items of a mapped task were added together, so their positions follow one another.
select item_of, min(pos), max(pos) from task where run_id = :id and item_of is not null group by item_of

-- name: owned_runs
select id from run where owner = :session and state in ('pending', 'running', 'paused', 'cancelling')

-- name: running_tasks
with mine as materialized (select id from run where owner = :session)
select task.run_id, task.pos, task.attempt
from mine join task on task.run_id = mine.id
where task.state = 'running' and task.holder = :session
order by task.run_id, task.pos

-- name: outputs
select pos, output from task where run_id = :id and pos in {positions int} and output is not null

-- name: history
select at, seq, pos, old, new, attempt, detail from history where run_id = :id order by seq, part

-- name: decisions
-- Of the newest runs, since a run has at least one task.
select run.id, run.version, coalesce(task.item_of, task.pos), task.executor, task.decision, task.labels,
    task.resources
from (select id, version from run order by id desc limit :limit) as run join task on task.run_id = run.id
where task.executor is not null
order by run.id desc, task.pos
limit :limit

-- name: workflow
select spec from workflow where version = :version

-- name: workflow_versions
select version, number, created_at, used_at from workflow where full_name = :full_name
order by number desc
limit :limit

-- name: put_workflow
insert into workflow (version, full_name, number, spec, created_at, used_at)
select :version, :full_name,
    1 + coalesce((select max(number) from workflow where full_name = :full_name), 0), :spec, :now, :now
where true
on conflict do nothing
returning version

-- name: use_workflow
update workflow set used_at = :now where version = :version returning version

-- name: waiting
-- By the three indexes that know the runs that have not ended.
select state, owner, queued, count(*)
from (
    select state, owner, 0 as queued from run /*sqlite indexed by run_owner */ where owner is not null
    union all
    select state, null, 0 from run /*sqlite indexed by run_unowned */
    where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
    union all
    select state, null, 1 from run /*sqlite indexed by run_queued */
    where owner is null and state = 'pending' and reason = 'limit'
) as unfinished
group by 1, 2, 3

-- name: about
select /*pg current_setting('server_version') */ /*sqlite sqlite_version() */, :now,
    (select max(number) from migration)
