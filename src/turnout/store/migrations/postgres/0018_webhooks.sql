-- Webhooks: addresses that start runs. The table has the digest of the secret part of an address only.
create table webhook (
    id text primary key,
    name text not null unique,
    workflow text not null,
    digest text not null unique,
    mapping text not null,
    signature text,
    delivery_headers text not null,
    created_at double precision not null,
    created_by text not null,
    rotated_at double precision
);

-- Event triggers. A poll is claimed by compare-and-swap of the revision, so of all servers one polls at a time; what it kept
-- is stored under the same revision once its runs are.
create table event_trigger (
    name text primary key,
    workflow text not null,
    every double precision not null,
    next_poll double precision not null,
    poll_until double precision,
    holder text,
    revision bigint not null,
    paused_by text,
    state text,
    polled_at double precision,
    polls bigint not null,
    runs bigint not null,
    failures integer not null,
    error text
);
create index event_trigger_due on event_trigger (next_poll) where paused_by is null;
