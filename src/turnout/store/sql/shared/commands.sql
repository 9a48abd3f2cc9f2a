-- name: add_command
insert into command (run_id, kind, reason, created_at)
select run.id, :kind, :reason, :now from run where run.id = :id
returning id

-- name: commands_for
select command.id, command.run_id, command.kind, command.reason
from command join run on run.id = command.run_id
where run.owner = :session and command.done_at is null
order by command.id

-- name: command_done
-- Nobody answers a command to a run that is over: it counts as done.
select command.done_at is not null or run.state in ('completed', 'failed', 'cancelled')
from command join run on run.id = command.run_id
where command.id = :id
