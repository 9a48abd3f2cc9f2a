-- The same legal moves as one condition: SQLite ends it at the first comparison that decides, where the branches of a case
-- compare the new state with every state in their list. The moves that nearly every row makes are first.
drop trigger task_move;
create trigger task_move after update of state on task for each row when
    new.attempt < old.attempt or not (
        old.state = 'running' and (new.state = 'completed' or new.state = 'failed' or new.state = 'ready'
            or new.state = 'cancelled' or new.state = 'skipped' or (new.state = 'running' and new.attempt > old.attempt))
        or old.state = 'pending' and (new.state = 'running' or new.state = 'ready' or new.state = 'skipped'
            or new.state = 'cancelled' or new.state = 'pending'
            or ((new.state = 'completed' or new.state = 'failed') and new.attempt > old.attempt))
        or old.state = 'ready' and (new.state = 'running' or new.state = 'cancelled'
            or (new.state = 'ready' and new.attempt = old.attempt)))
begin
    select raise(abort, 'illegal move of a task');
end;

drop trigger run_move;
create trigger run_move after update of state on run for each row when
    not (
        old.state = 'running' and (new.state = 'completed' or new.state = 'failed' or new.state = 'running'
            or new.state = 'paused' or new.state = 'cancelling' or new.state = 'cancelled')
        or old.state = 'pending' and (new.state = 'running' or new.state = 'pending' or new.state = 'paused'
            or new.state = 'cancelling' or new.state = 'cancelled' or new.state = 'failed' or new.state = 'completed')
        or old.state = 'paused' and (new.state = 'paused' or new.state = 'running' or new.state = 'cancelling'
            or new.state = 'cancelled' or new.state = 'failed' or new.state = 'completed')
        or old.state = 'cancelling' and (new.state = 'cancelling' or new.state = 'cancelled' or new.state = 'failed'))
begin
    select raise(abort, 'illegal move of a run');
end;
