-- name: offered_tasks
-- The run row is locked too, so that a pause or a cancellation and a claim exclude one another. What is ready in a run
-- that is being cancelled are its hooks.
select task.run_id, task.pos, task.attempt + 1, run.workflow, run.version, task.item_of, task.failures
from task join run on run.id = task.run_id
where task.poll_key in {keys} and task.state = 'ready'
    and (task.retry_at is null or task.retry_at <= :now) and run.state in ('running', 'cancelling')
order by task.priority desc, task.run_id, task.pos
limit :limit
/*pg for update of task skip locked for share of run skip locked */

-- name: inbox_for
select inbox.id, inbox.run_id, inbox.pos, inbox.attempt, inbox.holder, inbox.result
from inbox join run on run.id = inbox.run_id
where run.owner = :session
order by inbox.id
limit :limit
