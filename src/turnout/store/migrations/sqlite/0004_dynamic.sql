-- Items of mapped tasks are rows of their own: whose items they are, and which. Mapped tasks without items, or with
-- lists that do not fit, end in the commit that makes them ready: they have passed the door into running all the same.

alter table task add column item_of integer;
alter table task add column item_index integer;

drop trigger task_move;
create trigger task_move before update of state on task for each row when
    new.attempt < old.attempt or not case old.state
        when 'running' then new.state = 'completed' or new.state = 'failed' or new.state = 'ready'
            or new.state = 'cancelled' or (new.state = 'running' and new.attempt > old.attempt)
        when 'pending' then new.state = 'running' or new.state = 'ready' or new.state = 'skipped'
            or new.state = 'cancelled' or new.state = 'pending'
            or ((new.state = 'completed' or new.state = 'failed') and new.attempt > old.attempt)
        when 'ready' then new.state = 'running' or new.state = 'cancelled'
            or (new.state = 'ready' and new.attempt = old.attempt)
        else false end
begin
    select raise(abort, 'illegal move of a task');
end;
