-- Workflow definitions. Each change of one has the next revision: the row of the counter is locked first, so changes commit
-- in the order of their numbers, and a reader that asks for all above the last one that it knows misses none.
create table definition (
    full_name text primary key,
    kind text not null check (kind in ('yaml', 'python')),
    origin text not null check (origin in ('file', 'api')),
    file text,
    version integer not null,
    findings text,
    updated_at double precision not null,
    updated_by text not null,
    removed boolean not null,
    revision bigint not null unique
);

create table definition_version (
    full_name text not null,
    version integer not null,
    digest text not null,
    text text not null,
    base text,
    spec_version text not null,
    remote_only boolean not null,
    created_at double precision not null,
    actor text not null,
    primary key (full_name, version)
);
create index definition_version_spec on definition_version (spec_version);

create table definition_revision (
    id integer primary key check (id = 1),
    revision bigint not null
);
insert into definition_revision (id, revision) values (1, 0);
