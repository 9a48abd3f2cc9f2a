-- Limits. A slot row is a run (pos -1) or an attempt of a task that waits for a slot of a limit, or holds one since granted_at.
-- It counts only while its run, or its task in that attempt, is open: a crash can neither lose nor double a slot. Slots are
-- given by one transaction at a time, which locks the row of limit_admission.
create table limit_slot (
    run_id text not null,
    pos integer not null,
    name text not null,
    attempt integer not null,
    declared text not null,
    at_most integer,
    rate integer,
    per real not null,
    priority integer not null,
    rank real not null,
    since real not null,
    granted_at real,
    primary key (run_id, pos, name)
) strict;
create index limit_slot_waiting on limit_slot (name, rank, run_id, pos) where granted_at is null;
create index limit_slot_held on limit_slot (name, run_id) where granted_at is not null;

-- When slots of limits with a rate were given.
create table limit_start (
    name text not null,
    at real not null
) strict;
create index limit_start_of on limit_start (name, at);

-- Sizes of the configuration, which win over those that workflows declare.
create table limit_size (
    declared text primary key,
    at_most integer,
    rate integer,
    per real not null,
    updated_at real not null
) strict;

create table limit_admission (
    id integer primary key check (id = 1)
) strict;
insert into limit_admission (id) values (1);

-- A run that waits for its limits is pending with the reason 'limit', and is not to be claimed.
drop index run_unowned;
create index run_unowned on run (priority desc, submitted_at, id, workflow)
    where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit');
create index run_queued on run (id) where owner is null and state = 'pending' and reason = 'limit';
