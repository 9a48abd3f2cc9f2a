-- An attempt that finds the preconditions of its task unmet skips the task.
drop trigger task_move on task;
create trigger task_move after update of state on task for each row when (
    new.attempt < old.attempt or not case old.state
        when 'pending' then new.state in ('pending', 'ready', 'running', 'skipped', 'cancelled')
            or (new.state in ('completed', 'failed') and new.attempt > old.attempt)
        when 'ready' then new.state in ('running', 'cancelled') or (new.state = 'ready' and new.attempt = old.attempt)
        when 'running' then new.state in ('completed', 'failed', 'ready', 'skipped', 'cancelled')
            or (new.state = 'running' and new.attempt > old.attempt)
        else false end
) execute function refuse_move();
