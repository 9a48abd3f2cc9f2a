-- name: last_line
select coalesce(max(id), 0) from log where run_id = :id

-- name: progress
-- The last that attempts which run now have said of how far they are.
select task.name, log.text
from log join task on task.run_id = log.run_id and task.pos = log.pos
where log.run_id = :id and log.id in (
    select max(log.id) from log join task on task.run_id = log.run_id and task.pos = log.pos
    where log.run_id = :id and log.stream = 'progress' and task.state = 'running' and log.attempt = task.attempt
    group by log.pos
)

-- name: logs
select log.id, task.name, log.attempt, log.stream, log.at, log.text
from log join task on task.run_id = log.run_id and task.pos = log.pos
where log.run_id = :id and log.id > :after
    and (cast(:task as text) = '' or task.name = :task or substr(task.name, 1, length(:task) + 1) = :task || '[')
    and (cast(:attempt as integer) = 0 or log.attempt = :attempt)
order by log.id
limit :limit
