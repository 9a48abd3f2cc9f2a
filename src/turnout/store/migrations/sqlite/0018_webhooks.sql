-- Webhooks: addresses that start runs. The table has the digest of the secret part of an address only.
create table webhook (
    id text primary key,
    name text not null unique,
    workflow text not null,
    digest text not null unique,
    mapping text not null,
    signature text,
    delivery_headers text not null,
    created_at real not null,
    created_by text not null,
    rotated_at real
) strict;

-- Event triggers. A poll is claimed by compare-and-swap of the revision, so of all servers one polls at a time; what it kept
-- is stored under the same revision once its runs are.
create table event_trigger (
    name text primary key,
    workflow text not null,
    every real not null,
    next_poll real not null,
    poll_until real,
    holder text,
    revision integer not null,
    paused_by text,
    state text,
    polled_at real,
    polls integer not null,
    runs integer not null,
    failures integer not null,
    error text
) strict;
create index event_trigger_due on event_trigger (next_poll) where paused_by is null;
