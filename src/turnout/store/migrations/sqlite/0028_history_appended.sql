-- Rows of history are appended, and found by an index on their key. Stored by their key, a commit of many runs wrote a page
-- of moves for each run or two; now it writes few pages of moves, and those of an index that is a quarter as large.
drop view history;
alter table history_commit rename to history_by_key;
create table history_commit (
    run_id text not null,
    seq integer not null,
    part integer not null default 0,
    at real not null,
    moves text not null,
    primary key (run_id, seq, part)
) strict;
insert into history_commit (run_id, seq, part, at, moves)
select run_id, seq, part, at, moves from history_by_key;
drop table history_by_key;

create view history as
select run_id, move.value ->> 0 as seq, part, at, move.value ->> 1 as pos, move.value ->> 2 as old,
    move.value ->> 3 as new, move.value ->> 4 as attempt, move.value ->> 5 as detail
from history_commit, json_each(moves) as move;
