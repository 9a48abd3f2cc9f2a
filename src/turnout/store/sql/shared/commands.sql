-- name: add_command
-- One for a run that has ended is closed from the start: nobody will carry it out.
insert into command (run_id, kind, reason, created_at, done_at)
select run.id, :kind, :reason, :now, case when run.state in ('completed', 'failed', 'cancelled') then :now end
from run where run.id = :id
returning id

-- name: commands_for
select command.id, command.run_id, command.kind, command.reason
from command join run on run.id = command.run_id
where run.owner = :session and command.done_at is null
order by command.id

-- name: command_refusal
select refusal from command where id = :id

-- name: refuse_commands
update command set done_at = :now, refusal = :why where done_at is null and id in {ids int}

-- name: close_commands
update command set done_at = :now
where done_at is null and exists (select 1 from run
    where run.id = command.run_id and run.state in ('completed', 'failed', 'cancelled'))

-- name: command_done
-- Nobody answers a command to a run that is over: it counts as done.
select command.done_at is not null or run.state in ('completed', 'failed', 'cancelled')
from command join run on run.id = command.run_id
where command.id = :id
