-- The bounds are those of turnout.model.run_figures.BUCKETS.

-- part: took_buckets
sum(case when took <= 0.005 then 1 else 0 end), sum(case when took <= 0.01 then 1 else 0 end),
    sum(case when took <= 0.025 then 1 else 0 end), sum(case when took <= 0.05 then 1 else 0 end),
    sum(case when took <= 0.1 then 1 else 0 end), sum(case when took <= 0.25 then 1 else 0 end),
    sum(case when took <= 0.5 then 1 else 0 end), sum(case when took <= 1 then 1 else 0 end),
    sum(case when took <= 2.5 then 1 else 0 end), sum(case when took <= 5 then 1 else 0 end),
    sum(case when took <= 10 then 1 else 0 end), sum(case when took <= 30 then 1 else 0 end),
    sum(case when took <= 60 then 1 else 0 end), sum(case when took <= 300 then 1 else 0 end),
    sum(case when took <= 1800 then 1 else 0 end), sum(case when took <= 7200 then 1 else 0 end)

-- name: ended_runs
select workflow, state, count(*), sum(took),
    <took_buckets>
from (select workflow, state, finished_at - submitted_at as took
    from run /*sqlite indexed by run_ended */
    where finished_at > :after and finished_at <= :until) as ended
group by workflow, state
order by workflow, state

-- name: ended_tasks
-- An attempt may begin once its task is ready: when history has made it so, after the delay of a retry; else when it was
-- started, since a task that becomes ready and starts in one commit makes one move.
with ready as (
    select run_id, pos, attempt, max(due) as due
    from (
        select history.run_id, /*pg (move ->> 1)::integer */ /*sqlite move.value ->> 1 */ as pos,
            /*pg (move ->> 4)::integer */ /*sqlite move.value ->> 4 */ as attempt,
            history.at + coalesce(/*pg ((move ->> 5)::json ->> 'retry_in')::double precision */
                /*sqlite (move.value ->> 5) ->> 'retry_in' */, 0) as due
        from run /*sqlite indexed by run_ended */ join history_commit as history on history.run_id = run.id,
            /*pg json_array_elements(moves::json) */ /*sqlite json_each(moves) */ as move
        where run.finished_at > :after and run.finished_at <= :until and moves like '%"ready"%'
            and /*pg move ->> 3 */ /*sqlite move.value ->> 3 */ = 'ready'
    ) as moved
    group by run_id, pos, attempt
)
select workflow, executor, state, sum(attempt), count(took), coalesce(sum(took), 0),
    <took_buckets>,
    coalesce(sum(waited), 0),
    sum(case when waited <= 0.005 then 1 else 0 end), sum(case when waited <= 0.01 then 1 else 0 end),
    sum(case when waited <= 0.025 then 1 else 0 end), sum(case when waited <= 0.05 then 1 else 0 end),
    sum(case when waited <= 0.1 then 1 else 0 end), sum(case when waited <= 0.25 then 1 else 0 end),
    sum(case when waited <= 0.5 then 1 else 0 end), sum(case when waited <= 1 then 1 else 0 end),
    sum(case when waited <= 2.5 then 1 else 0 end), sum(case when waited <= 5 then 1 else 0 end),
    sum(case when waited <= 10 then 1 else 0 end), sum(case when waited <= 30 then 1 else 0 end),
    sum(case when waited <= 60 then 1 else 0 end), sum(case when waited <= 300 then 1 else 0 end),
    sum(case when waited <= 1800 then 1 else 0 end), sum(case when waited <= 7200 then 1 else 0 end)
from (
    select workflow, executor, state, attempt, finished_at - started_at as took,
        case when started_at < due then 0 else started_at - due end as waited
    from (
        select run.workflow, coalesce(task.executor, '') as executor, task.state, task.attempt, task.started_at,
            task.finished_at, coalesce(ready.due, task.dispatched_at) as due
        from run /*sqlite indexed by run_ended */ join task on task.run_id = run.id
            left join ready on ready.run_id = task.run_id and ready.pos = task.pos and ready.attempt = task.attempt - 1
        where run.finished_at > :after and run.finished_at <= :until and task.attempt > 0
    ) as made
) as ended
group by workflow, executor, state
order by workflow, executor, state

-- part: step
/*pg floor(finished_at / :step)::bigint */ /*sqlite cast(finished_at / :step as integer) */

-- part: ended
from run /*sqlite indexed by run_ended */
where finished_at >= :after and finished_at < :until and (:workflow = '' or workflow = :workflow)

-- name: run_counts
select <step> as step, state, count(*)
<ended>
group by 1, 2

-- name: task_counts_by_step
select step, task.state, count(*)
from (select id, <step> as step <ended>) as done cross join task
where task.run_id = done.id
group by 1, 2

-- name: ended_sample
select id from (
    select id, finished_at
    <ended>
    order by finished_at desc
    limit :limit
) as newest
