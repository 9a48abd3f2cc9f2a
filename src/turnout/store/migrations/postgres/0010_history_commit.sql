-- History has one row per run and commit: its moves as JSON, [[seq, pos, old, new, attempt, detail], …], under the last
-- seq among them. ``part`` is 1 for the claim of a poller, which shares its seq with the move before it, else 0.
create table history_commit (
    run_id uuid not null,
    seq integer not null,
    part smallint not null default 0,
    at double precision not null,
    moves text not null
);
insert into history_commit (run_id, seq, part, at, moves)
select run_id, max(seq), part, at, json_agg(json_build_array(seq, pos, old, new, attempt, detail) order by seq)::text
from history
group by run_id, part, at;
alter table history_commit add primary key (run_id, seq, part);
drop table history;

-- One row per move; the order is (run_id, seq, part).
create view history as
select run_id, (move ->> 0)::integer as seq, part, at, (move ->> 1)::integer as pos, move ->> 2 as old,
    move ->> 3 as new, (move ->> 4)::integer as attempt, move ->> 5 as detail
from history_commit, json_array_elements(moves::json) as move;

-- A check before an update locks each row first, with a record of its own in the log; a check after it does not. Both
-- refuse the whole statement.
drop trigger task_move on task;
create trigger task_move after update of state on task for each row when (
    new.attempt < old.attempt or not case old.state
        when 'pending' then new.state in ('pending', 'ready', 'running', 'skipped', 'cancelled')
            or (new.state in ('completed', 'failed') and new.attempt > old.attempt)
        when 'ready' then new.state in ('running', 'cancelled') or (new.state = 'ready' and new.attempt = old.attempt)
        when 'running' then new.state in ('completed', 'failed', 'ready', 'cancelled')
            or (new.state = 'running' and new.attempt > old.attempt)
        else false end
) execute function refuse_move();

drop trigger run_move on run;
create trigger run_move after update of state on run for each row when (
    not case old.state
        when 'pending' then new.state in
            ('pending', 'running', 'paused', 'cancelling', 'cancelled', 'failed', 'completed')
        when 'running' then new.state in ('running', 'completed', 'failed', 'paused', 'cancelling', 'cancelled')
        when 'paused' then new.state in ('paused', 'running', 'cancelling', 'cancelled', 'failed', 'completed')
        when 'cancelling' then new.state in ('cancelling', 'cancelled', 'failed')
        else false end
) execute function refuse_move();

-- A row that starts, and one that completes, is longer than before: with half of each page free, one update in ten found no
-- room beside the old version, and had to go to another page and into the index.
alter table task set (fillfactor = 40);
