-- The bounds are those of turnout.model.run_figures.BUCKETS.

-- name: ended_runs
select workflow, state, count(*), sum(finished_at - submitted_at),
    sum(case when finished_at - submitted_at <= 0.005 then 1 else 0 end), sum(case when finished_at - submitted_at <= 0.01 then 1 else 0 end),
    sum(case when finished_at - submitted_at <= 0.025 then 1 else 0 end), sum(case when finished_at - submitted_at <= 0.05 then 1 else 0 end),
    sum(case when finished_at - submitted_at <= 0.1 then 1 else 0 end), sum(case when finished_at - submitted_at <= 0.25 then 1 else 0 end),
    sum(case when finished_at - submitted_at <= 0.5 then 1 else 0 end), sum(case when finished_at - submitted_at <= 1 then 1 else 0 end),
    sum(case when finished_at - submitted_at <= 2.5 then 1 else 0 end), sum(case when finished_at - submitted_at <= 5 then 1 else 0 end),
    sum(case when finished_at - submitted_at <= 10 then 1 else 0 end), sum(case when finished_at - submitted_at <= 30 then 1 else 0 end),
    sum(case when finished_at - submitted_at <= 60 then 1 else 0 end), sum(case when finished_at - submitted_at <= 300 then 1 else 0 end),
    sum(case when finished_at - submitted_at <= 1800 then 1 else 0 end), sum(case when finished_at - submitted_at <= 7200 then 1 else 0 end)
from run /*sqlite indexed by run_ended */
where finished_at > :after and finished_at <= :until
group by workflow, state
order by workflow, state

-- name: ended_tasks
select run.workflow, coalesce(task.executor, ''), task.state, sum(task.attempt), count(task.finished_at - task.started_at), coalesce(sum(task.finished_at - task.started_at), 0),
    sum(case when task.finished_at - task.started_at <= 0.005 then 1 else 0 end), sum(case when task.finished_at - task.started_at <= 0.01 then 1 else 0 end),
    sum(case when task.finished_at - task.started_at <= 0.025 then 1 else 0 end), sum(case when task.finished_at - task.started_at <= 0.05 then 1 else 0 end),
    sum(case when task.finished_at - task.started_at <= 0.1 then 1 else 0 end), sum(case when task.finished_at - task.started_at <= 0.25 then 1 else 0 end),
    sum(case when task.finished_at - task.started_at <= 0.5 then 1 else 0 end), sum(case when task.finished_at - task.started_at <= 1 then 1 else 0 end),
    sum(case when task.finished_at - task.started_at <= 2.5 then 1 else 0 end), sum(case when task.finished_at - task.started_at <= 5 then 1 else 0 end),
    sum(case when task.finished_at - task.started_at <= 10 then 1 else 0 end), sum(case when task.finished_at - task.started_at <= 30 then 1 else 0 end),
    sum(case when task.finished_at - task.started_at <= 60 then 1 else 0 end), sum(case when task.finished_at - task.started_at <= 300 then 1 else 0 end),
    sum(case when task.finished_at - task.started_at <= 1800 then 1 else 0 end), sum(case when task.finished_at - task.started_at <= 7200 then 1 else 0 end),
    coalesce(sum(task.started_at - task.dispatched_at), 0),
    sum(case when task.started_at - task.dispatched_at <= 0.005 then 1 else 0 end), sum(case when task.started_at - task.dispatched_at <= 0.01 then 1 else 0 end),
    sum(case when task.started_at - task.dispatched_at <= 0.025 then 1 else 0 end), sum(case when task.started_at - task.dispatched_at <= 0.05 then 1 else 0 end),
    sum(case when task.started_at - task.dispatched_at <= 0.1 then 1 else 0 end), sum(case when task.started_at - task.dispatched_at <= 0.25 then 1 else 0 end),
    sum(case when task.started_at - task.dispatched_at <= 0.5 then 1 else 0 end), sum(case when task.started_at - task.dispatched_at <= 1 then 1 else 0 end),
    sum(case when task.started_at - task.dispatched_at <= 2.5 then 1 else 0 end), sum(case when task.started_at - task.dispatched_at <= 5 then 1 else 0 end),
    sum(case when task.started_at - task.dispatched_at <= 10 then 1 else 0 end), sum(case when task.started_at - task.dispatched_at <= 30 then 1 else 0 end),
    sum(case when task.started_at - task.dispatched_at <= 60 then 1 else 0 end), sum(case when task.started_at - task.dispatched_at <= 300 then 1 else 0 end),
    sum(case when task.started_at - task.dispatched_at <= 1800 then 1 else 0 end), sum(case when task.started_at - task.dispatched_at <= 7200 then 1 else 0 end)
from run /*sqlite indexed by run_ended */ join task on task.run_id = run.id
where run.finished_at > :after and run.finished_at <= :until and task.attempt > 0
group by run.workflow, coalesce(task.executor, ''), task.state
order by run.workflow, coalesce(task.executor, ''), task.state
