-- The changes of the states of all runs, in the order of their commits: there is one writer. The last 100,000 are kept; the
-- newest never goes, so a position is never given again.
create table run_change (
    position integer primary key,
    run text not null
) strict;
create trigger run_change_inserted after insert on run for each row
begin
    insert into run_change (run) values (new.id);
end;
create trigger run_change_moved after update of state on run for each row when new.state <> old.state
begin
    insert into run_change (run) values (new.id);
end;
create trigger run_change_bound after insert on run_change for each row when new.position % 1000 = 0
begin
    delete from run_change where position <= new.position - 100000;
end;
