-- Times are seconds since the epoch, leases by the boot-time clock. The lists of moves mirror turnout.model.states.

create table workflow (
    version text primary key,
    full_name text not null,
    number integer not null,
    spec text not null,
    created_at real not null,
    unique (full_name, number)
) strict;

create table run (
    id text primary key,
    workflow text not null,
    version text not null,
    state text not null check (state in
        ('pending', 'running', 'paused', 'cancelling', 'completed', 'failed', 'cancelled')),
    owner text,
    epoch integer not null,
    seq integer not null,
    input text not null,
    input_digest text not null,
    key text,
    priority integer not null,
    timeout real,
    reason text,
    error text,
    rerun_of text,
    parent_run text,
    parent_pos integer,
    created_at real not null,
    submitted_at real not null,
    started_at real,
    finished_at real
) strict;
create unique index run_key on run (workflow, key) where key is not null;
create index run_owner on run (owner) where owner is not null;
create index run_unowned on run (priority desc, submitted_at, id, workflow)
    where owner is null and state in ('pending', 'running', 'paused', 'cancelling');
create index run_of_workflow on run (workflow, id);
create index run_parent on run (parent_run) where parent_run is not null;

create table task (
    run_id text not null,
    pos integer not null,
    name text not null,
    state text not null,
    epoch integer not null,
    seq integer not null,
    priority integer not null,
    attempt integer not null,
    failures integer not null,
    crashes integer not null,
    losses integer not null,
    reason text,
    retry_at real,
    executor text,
    decision text,
    labels text,
    poll_key text,
    holder text,
    lease_until real,
    lease_boot text,
    output text,
    error text,
    dispatched_at real,
    started_at real,
    finished_at real,
    primary key (run_id, pos)
) strict;
create index task_offered on task (poll_key, priority desc, run_id, pos) where poll_key is not null;
create index task_leased on task (lease_until, run_id) where lease_until is not null;

create table history (
    run_id text not null,
    seq integer not null,
    part integer not null default 0,
    at real not null,
    pos integer not null,
    old text,
    new text not null,
    attempt integer not null,
    detail text,
    primary key (run_id, seq, part)
) strict, without rowid;

create table session (
    id text primary key,
    kind text not null,
    host text not null,
    boot_id text not null,
    pid_namespace text not null,
    pid integer not null,
    process_started text not null,
    workflows text not null,
    health text,
    lease real not null,
    lease_until real not null,
    lease_boot text not null,
    started_at real not null,
    ended_at real
) strict;

create table command (
    id integer primary key autoincrement,
    run_id text not null,
    kind text not null,
    reason text,
    created_at real not null,
    done_at real
) strict;
create index command_open on command (run_id) where done_at is null;

create table inbox (
    id integer primary key autoincrement,
    run_id text not null,
    pos integer not null,
    attempt integer not null,
    holder text not null,
    result text not null,
    created_at real not null,
    unique (run_id, pos, attempt)
) strict;

create table routing (
    number integer primary key autoincrement,
    session text not null,
    config text not null,
    created_at real not null
) strict;

-- A row that keeps its state and attempt makes no move: its reason may change, unless it is running or terminal.
-- The states are compared one by one, because a list would become a temporary index for every row.
create trigger task_move before update of state on task for each row when
    new.attempt < old.attempt or not case old.state
        when 'running' then new.state = 'completed' or new.state = 'failed' or new.state = 'ready'
            or new.state = 'cancelled' or (new.state = 'running' and new.attempt > old.attempt)
        when 'pending' then new.state = 'running' or new.state = 'ready' or new.state = 'skipped'
            or new.state = 'cancelled' or new.state = 'pending'
        when 'ready' then new.state = 'running' or new.state = 'cancelled'
            or (new.state = 'ready' and new.attempt = old.attempt)
        else false end
begin
    select raise(abort, 'illegal move of a task');
end;

create trigger run_move before update of state on run for each row when
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
