-- An attempt that finds the preconditions of its task unmet skips the task.
drop trigger task_move;
create trigger task_move after update of state on task for each row when
    new.attempt < old.attempt or not case old.state
        when 'running' then new.state = 'completed' or new.state = 'failed' or new.state = 'ready'
            or new.state = 'cancelled' or new.state = 'skipped' or (new.state = 'running' and new.attempt > old.attempt)
        when 'pending' then new.state = 'running' or new.state = 'ready' or new.state = 'skipped'
            or new.state = 'cancelled' or new.state = 'pending'
            or ((new.state = 'completed' or new.state = 'failed') and new.attempt > old.attempt)
        when 'ready' then new.state = 'running' or new.state = 'cancelled'
            or (new.state = 'ready' and new.attempt = old.attempt)
        else false end
begin
    select raise(abort, 'illegal move of a task');
end;
