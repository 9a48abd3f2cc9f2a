-- Tokens of the server: the digest of the secret only. A row with a parent is a browser that signed in with that token.
create table access_token (
    id text primary key,
    name text not null,
    role text not null check (role in ('viewer', 'operator', 'author', 'admin')),
    digest text not null unique,
    created_at double precision not null,
    created_by text not null,
    expires_at double precision,
    last_used_at double precision,
    revoked_at double precision,
    parent text references access_token (id) on delete cascade
);
create index access_token_parent on access_token (parent) where parent is not null;

-- One row once any token was stored: the first one is made once, whatever became of it.
create table access_begun (
    id integer primary key check (id = 1),
    at double precision not null
);

-- Every request that changed something, or tried to.
create table audit (
    id bigint generated always as identity primary key,
    at double precision not null,
    actor text not null,
    actor_name text not null,
    method text not null,
    target text not null,
    status integer not null,
    code text not null,
    request_id text not null,
    address text not null
);
create index audit_at on audit (at);
create index audit_actor on audit (actor, id);
