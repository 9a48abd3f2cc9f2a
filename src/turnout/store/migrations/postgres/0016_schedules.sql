-- Schedules. The times of a schedule are decided in order, each once: decided_until is the last that was, and moves by
-- compare-and-swap in the transaction that inserts the decisions. Changes by authors and operators have the next revision, as
-- those of definitions.
create table schedule (
    id bigint primary key generated always as identity,
    workflow text not null,
    name text not null,
    spec text not null,
    paused boolean not null,
    removed boolean not null,
    decided_until double precision not null,
    next_at double precision,
    changed_at double precision not null,
    changed_by text not null,
    revision bigint not null,
    unique (workflow, name)
);
create index schedule_next on schedule (next_at, id) where next_at is not null;
create index schedule_revised on schedule (revision);

create table schedule_revision (
    id integer primary key check (id = 1),
    revision bigint not null
);
insert into schedule_revision (id, revision) values (1, 0);

-- One row for each due time that fired, and one for all that were skipped in a row for one reason. A pending one has an effect
-- that is still to be had: any orchestrator finishes it. An open one has a run that is not known to have ended.
create table schedule_decision (
    id bigint primary key generated always as identity,
    schedule_id bigint not null references schedule (id),
    kind text not null check (kind in ('due', 'manual', 'backfill')),
    due_at double precision not null,
    last_due_at double precision not null,
    due_times integer not null,
    outcome text not null check (outcome in ('fired', 'skipped')),
    reason text not null,
    run_id uuid,
    cancels text not null,
    waits_for text not null,
    state text not null check (state in ('pending', 'open', 'closed')),
    decided_at double precision not null,
    actor text,
    unique (schedule_id, kind, due_at)
);
create index schedule_decision_pending on schedule_decision (id) where state = 'pending';
create index schedule_decision_open on schedule_decision (schedule_id, id) where state <> 'closed';
create index schedule_decision_run on schedule_decision (run_id) where state = 'pending';
create index schedule_decision_of on schedule_decision (schedule_id, id);
create index schedule_decision_age on schedule_decision (decided_at);
