-- part: task_columns
-- Those of task_row, in their order.
run_id, pos, state, name, priority, attempt, failures, crashes, losses, reason, retry_at - :now,
    executor, decision, labels, poll_key, holder,
    null, error, dispatched_at, started_at, finished_at, seq, memo, item_of, item_index, resources

-- part: chosen
run_id = :id and (cast(:item_of as integer) < 0 or item_of = :item_of) and (:top_level = 0 or item_of is null)

-- part: oldest_open
-- By the indexes that know the runs that have not ended.
select found from (
    select id as found from run /*sqlite indexed by run_owner */ where owner is not null
    union all
    select id from run /*sqlite indexed by run_unowned */
    where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
) as unfinished
order by found
limit :runs

-- name: tasks_page
select <task_columns>
from task
where <chosen> and pos > :after and (:any_state = 1 or state in {states})
order by pos
limit :limit

-- name: tasks_by_state
select state, count(*) from task where <chosen> group by state

-- name: item_groups
select item_of, state, count(*), min(started_at), max(finished_at)
from task where run_id = :id and item_of is not null
group by item_of, state

-- name: commits
-- Whole commits: to take moves apart costs less in Python. ``mark`` is a text that the wanted moves have.
select at, part, moves
from history_commit
where run_id = :id and (:mark = '' or moves like :mark)
order by seq, part

-- name: task_named
select <task_columns>
from task where run_id = :id and name = :name
limit 1

-- name: output_sizes
select pos, /*pg octet_length(output) */ /*sqlite length(cast(output as blob)) */
from task where run_id = :id and pos in {positions int} and output is not null

-- name: graph_tasks_of
-- The tasks of the graphs of these runs, without their items, which come behind them.
select run_id, pos, state, name, attempt, reason, dispatched_at, started_at, finished_at
from task where run_id in {ids uuid} and pos < :most and item_of is null
order by run_id, pos

-- name: item_counts_of
select run_id, item_of, state, count(*)
from task where run_id in {ids uuid} and item_of is not null
group by run_id, item_of, state

-- name: first_waiting_tasks
-- Of each of these runs the first task that waits, and how many do. Tasks behind the bound are not looked at: no index
-- has the state of tasks.
select task.run_id, task.name, task.reason, waits.number
from (
    select run_id, min(pos) as pos, count(*) as number
    from task where run_id in {ids uuid} and pos < :most and state = 'ready'
    group by run_id
) as waits join task on task.run_id = waits.run_id and task.pos = waits.pos

-- name: open_tasks
-- The commit that holds the newest move of a task is the first whose last seq is not below it.
select task.run_id, run.workflow, run.state, run.version, task.pos, task.name, task.state, task.attempt, task.priority,
    task.executor, task.labels, task.reason, task.retry_at - :now, task.holder, task.item_of, task.dispatched_at,
    task.started_at, (select moved.at from history_commit as moved
        where moved.run_id = task.run_id and moved.seq >= task.seq order by moved.seq limit 1)
from (<oldest_open>) as oldest cross join task cross join run
where task.run_id = found and run.id = found and task.state in {states}
    and (:executor = '' or task.executor = :executor) and (:holder = '' or task.holder = :holder)
    and (:reason = '' or task.reason like :reason escape '\')
order by found, task.pos
limit :limit
