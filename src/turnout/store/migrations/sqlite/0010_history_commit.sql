-- History has one row per run and commit: its moves as JSON, [[seq, pos, old, new, attempt, detail], …], under the last
-- seq among them. ``part`` is 1 for the claim of a poller, which shares its seq with the move before it, else 0.
create table history_commit (
    run_id text not null,
    seq integer not null,
    part integer not null default 0,
    at real not null,
    moves text not null,
    primary key (run_id, seq, part)
) strict, without rowid;
insert into history_commit (run_id, seq, part, at, moves)
select run_id, max(seq), part, at, json_group_array(json_array(seq, pos, old, new, attempt, detail))
from (select * from history order by run_id, part, at, seq)
group by run_id, part, at;
drop table history;

-- One row per move; the order is (run_id, seq, part).
create view history as
select run_id, move.value ->> 0 as seq, part, at, move.value ->> 1 as pos, move.value ->> 2 as old,
    move.value ->> 3 as new, move.value ->> 4 as attempt, move.value ->> 5 as detail
from history_commit, json_each(moves) as move;

-- A check after an update costs less than one before it, and refuses the whole statement as well.
drop trigger task_move;
create trigger task_move after update of state on task for each row when
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

drop trigger run_move;
create trigger run_move after update of state on run for each row when
    not case old.state
        when 'running' then new.state = 'running' or new.state = 'completed' or new.state = 'failed'
            or new.state = 'paused' or new.state = 'cancelling' or new.state = 'cancelled'
        when 'pending' then new.state = 'pending' or new.state = 'running' or new.state = 'paused'
            or new.state = 'cancelling' or new.state = 'cancelled' or new.state = 'failed' or new.state = 'completed'
        when 'paused' then new.state = 'paused' or new.state = 'running' or new.state = 'cancelling'
            or new.state = 'cancelled' or new.state = 'failed' or new.state = 'completed'
        when 'cancelling' then new.state = 'cancelling' or new.state = 'cancelled' or new.state = 'failed'
        else false end
begin
    select raise(abort, 'illegal move of a run');
end;
