-- A run shares its slots with its tasks and child runs, with one of each limit at a time. shared_with is the run that the slot was
-- given to; null: the slot is its own. nested: it belongs to a run that holds slots itself, or to a child run.
alter table limit_slot add column shared_with text;
alter table limit_slot add column nested integer not null default 0;
create index limit_slot_nested on limit_slot (name, rank, run_id, pos) where granted_at is null and nested = 1;
create index limit_slot_shared on limit_slot (shared_with) where shared_with is not null;

update limit_slot set nested = 1 where granted_at is null and (
    exists (select 1 from run where run.id = limit_slot.run_id and run.parent_run is not null)
    or pos <> -1 and exists (select 1 from limit_slot as own
        where own.run_id = limit_slot.run_id and own.pos = -1 and own.granted_at is not null));
