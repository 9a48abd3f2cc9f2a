-- Items of mapped tasks are rows of their own: whose items they are, and which. Mapped tasks without items, or with
-- lists that do not fit, end in the commit that makes them ready: they have passed the door into running all the same.

alter table task add column item_of integer;
alter table task add column item_index integer;

drop trigger task_move on task;
create trigger task_move before update of state on task for each row when (
    new.attempt < old.attempt or not case old.state
        when 'pending' then new.state in ('pending', 'ready', 'running', 'skipped', 'cancelled')
            or (new.state in ('completed', 'failed') and new.attempt > old.attempt)
        when 'ready' then new.state in ('running', 'cancelled') or (new.state = 'ready' and new.attempt = old.attempt)
        when 'running' then new.state in ('completed', 'failed', 'ready', 'cancelled')
            or (new.state = 'running' and new.attempt > old.attempt)
        else false end
) execute function refuse_move();
